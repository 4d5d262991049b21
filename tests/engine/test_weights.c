/* SPDX-License-Identifier: MIT */
/* Weight files: what is saved is loaded, and a wrong file changes nothing and is told. */
#include "tests/engine/engine_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/nn/alexnet.h"

/* header, 16 descriptions, the data: (8 + 4) + names, lengths and shapes + 244,403,360 */
#define FIRST_TENSOR 12
#define FILE_BYTES (244403360 + FIRST_TENSOR + 16 * 8 + 270 + 8 * (5 * 4 + 3 * 2 + 8))

static char path[] = "/tmp/ag_weights_XXXXXX";
static ag_context *context;
static ag_alexnet *saved, *other;

static void fingerprint(const ag_alexnet *net, float ret_first[AG_ALEXNET_PARAMETERS])
{
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++) {
        const ag_tensor *tensor = net->parameters[i];
        float *values = malloc((size_t)ag_count(tensor) * sizeof(float));

        assert_non_null(values);
        assert_int_equal(ag_to_floats(tensor, values), AG_OK);
        ret_first[i] = values[ag_count(tensor) - 1];
        free(values);
    }
}

static int setup(void **state)
{
    int file = mkstemp(path);

    if (file < 0)
        return -1;
    close(file);
    context = open_context("reference", "real", 0);
    saved = ag_alexnet_create(context);
    other = ag_alexnet_create(context);
    assert_fine(context);
    return ag_alexnet_save(saved, path) == AG_OK ? 0 : -1;
}

static int teardown(void **state)
{
    unlink(path);
    ag_alexnet_destroy(saved);
    ag_alexnet_destroy(other);
    close_context(context);
    return 0;
}

static void overwrite(long at, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "r+b");

    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void expect_refused(const char *part)
{
    float before[AG_ALEXNET_PARAMETERS], after[AG_ALEXNET_PARAMETERS];

    fingerprint(other, before);
    assert_int_equal(ag_alexnet_load(other, path), AG_INVALID_ARGUMENT);
    assert_refused(context, NULL, part);
    fingerprint(other, after);
    assert_memory_equal(before, after, sizeof(before));
}

static void wrong_files_change_nothing(void **state)
{
    const char good_magic = 'A', good_name = 'f';
    const uint64_t good_size = 64, bad_size = 65;
    const uint32_t huge = 0xffffffff, name_length = 17, tensors = 16;
    struct stat file;

    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_size, FILE_BYTES);
    overwrite(0, "B", 1);
    expect_refused("the header is not as expected");
    overwrite(0, &good_magic, 1);
    overwrite(8, &huge, sizeof(huge));
    expect_refused("the header");
    overwrite(8, &tensors, sizeof(tensors));
    overwrite(FIRST_TENSOR, &huge, sizeof(huge));
    expect_refused("features.0.weight is not as expected");
    overwrite(FIRST_TENSOR, &name_length, sizeof(name_length));
    overwrite(FIRST_TENSOR + 4, "g", 1);
    expect_refused("features.0.weight");
    overwrite(FIRST_TENSOR + 4, &good_name, 1);
    overwrite(FIRST_TENSOR + 4 + 17 + 4, &bad_size, sizeof(bad_size));
    expect_refused("features.0.weight");
    overwrite(FIRST_TENSOR + 4 + 17 + 4, &good_size, sizeof(good_size));
    overwrite(FILE_BYTES, "x", 1);
    expect_refused("the end is not as expected");
    assert_int_equal(truncate(path, FILE_BYTES - 1), 0);
    expect_refused("classifier.6.bias is not as expected");
    assert_int_equal(truncate(path, 0), 0);
    expect_refused("the header");
    assert_int_equal(ag_alexnet_load(other, "/nonexistent/file"), AG_INVALID_ARGUMENT);
    assert_refused(context, NULL, "/nonexistent/file: No such file");
    assert_int_equal(ag_alexnet_save(other, "/nonexistent/file"), AG_INVALID_ARGUMENT);
    assert_refused(context, NULL, "/nonexistent/file: No such file");
}

static void what_is_saved_is_loaded(void **state)
{
    float expected[AG_ALEXNET_PARAMETERS], actual[AG_ALEXNET_PARAMETERS];

    fingerprint(saved, expected);
    fingerprint(other, actual);
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++)
        assert_true(expected[i] != actual[i]);
    assert_int_equal(ag_alexnet_load(other, path), AG_OK);
    fingerprint(other, actual);
    assert_memory_equal(expected, actual, sizeof(expected));
}

static void no_weights_without_arithmetic(void **state)
{
    ag_context *skipping = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(skipping);

    assert_int_equal(ag_alexnet_save(net, path), AG_INVALID_ARGUMENT);
    assert_refused(skipping, NULL, "skipped");
    assert_int_equal(ag_alexnet_load(net, path), AG_INVALID_ARGUMENT);
    assert_refused(skipping, NULL, "skipped");
    ag_alexnet_destroy(net);
    close_context(skipping);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(no_weights_without_arithmetic),
        cmocka_unit_test(wrong_files_change_nothing),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
