/* SPDX-License-Identifier: MIT */
/*
 * The host backend as a plugin, beside the reference one: AlexNet's own shapes, batches that need
 * several chunks, random numbers, threads, workspaces, allocators, skip mode. test_backends has the
 * odd shapes. Tolerance: relative L2 error below 1e-6 (float32 sums of up to 9,216 products).
 */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/backend/backend.h"
#include "tests/engine/hostcuda_test.h"

#define TOLERANCE 1e-6
#define WORKSPACE_BYTES (32 * MIB) /* what an operation may keep its scratch memory within */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct ag_backend *open_backend(const char *name, const struct ag_backend_config *config)
{
    struct ag_backend *backend = NULL;
    const char *error = NULL;
    char file[64];

    snprintf(file, sizeof(file), "ag_backend_%s.so", name);
    void *plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fail_msg("%s", dlerror());
    ag_backend_open_fn *open = (ag_backend_open_fn *)dlsym(plugin, "ag_backend_open");
    assert_non_null(open);
    if (open(config, &backend, &error))
        fail_msg("%s: %s", name, error);
    return backend;
}

static struct ag_backend *open_host(int threads)
{
    const struct ag_backend_config config = {.threads = threads};

    return open_backend("host", &config);
}

static struct ag_backend *open_reference(void)
{
    const struct ag_backend_config config = {0};

    return open_backend("reference", &config);
}

static void *device_bytes(struct ag_backend *backend, size_t size_bytes)
{
    void *address = NULL;

    assert_int_equal(backend->ops->allocate(backend, size_bytes, &address), AG_OK);
    return address;
}

static float *device_floats(struct ag_backend *backend, int64_t count)
{
    return device_bytes(backend, (size_t)count * sizeof(float));
}

/* Both backends' memory is the host's, so one tensor serves both. */
static float *device_random(struct ag_backend *backend, int64_t count, uint64_t seed)
{
    float *values = device_floats(backend, count);

    assert_int_equal(backend->ops->random_uniform(backend, values, count, -1.0f, 1.0f, seed, 0),
                     AG_OK);
    return values;
}

static double relative_error(const float *actual, const float *expected, int64_t count)
{
    double difference = 0, size = 0;

    for (int64_t i = 0; i < count; i++) {
        double d = (double)actual[i] - (double)expected[i];
        difference += d * d;
        size += (double)expected[i] * (double)expected[i];
    }
    return size > 0 ? sqrt(difference / size) : difference;
}

static void check_close(const float *actual, const float *expected, int64_t count, const char *what)
{
    double error = relative_error(actual, expected, count);

    if (!(error <= TOLERANCE))
        fail_msg("%s: relative L2 error %.3g, allowed %.3g", what, error, TOLERANCE);
}

static void conv_against_reference(struct ag_backend *host, const struct ag_conv2d *conv,
                                   bool with_bias, const char *what)
{
    struct ag_backend *reference = open_reference();
    int64_t out = conv->n * conv->c_out * conv->h_out * conv->w_out;
    float *input = device_random(host, conv->n * conv->c_in * conv->h_in * conv->w_in, 1);
    float *weight =
        device_random(host, conv->c_out * conv->c_in * conv->kernel_h * conv->kernel_w, 2);
    float *bias = device_random(host, conv->c_out, 3);
    float *y = device_floats(host, out), *expected = device_floats(reference, out);

    assert_int_equal(
        host->ops->conv2d_forward(host, conv, input, weight, with_bias ? bias : NULL, y), AG_OK);
    assert_int_equal(reference->ops->conv2d_forward(reference, conv, input, weight,
                                                    with_bias ? bias : NULL, expected),
                     AG_OK);
    check_close(y, expected, out, what);
    reference->ops->free(reference, expected);
    reference->ops->close(reference);
    float *const mine[] = {input, weight, bias, y};
    for (size_t i = 0; i < COUNT(mine); i++)
        host->ops->free(host, mine[i]);
}

static void alexnet_convolutions(void **state)
{
    static const struct ag_conv2d layers[] = {
        {1, 3, 224, 224, 64, 55, 55, 11, 11, 4, 4, 2, 2},
        {2, 64, 27, 27, 192, 27, 27, 5, 5, 1, 1, 2, 2},
        {1, 192, 13, 13, 384, 13, 13, 3, 3, 1, 1, 1, 1},
        {1, 384, 13, 13, 256, 13, 13, 3, 3, 1, 1, 1, 1},
        {1, 256, 13, 13, 256, 13, 13, 3, 3, 1, 1, 1, 1},
    };
    struct ag_backend *host = open_host(0);
    char what[64];

    (void)state;
    for (size_t i = 0; i < COUNT(layers); i++) {
        snprintf(what, sizeof(what), "AlexNet's convolution %zu", i);
        conv_against_reference(host, &layers[i], true, what);
    }
    host->ops->close(host);
}

/* 1.5 MiB an image: 10 images to a chunk, so that 23 are two chunks and a shorter one. */
static void batches_of_several_chunks(void **state)
{
    const struct ag_conv2d conv = {23, 1, 256, 256, 5, 256, 256, 1, 1, 1, 1, 0, 0};
    const struct ag_conv2d wide = {5, 1, 1024, 1024, 4, 1024, 1024, 1, 1, 1, 1, 0, 0};
    struct ag_backend *host = open_host(0);

    (void)state;
    conv_against_reference(host, &conv, true, "23 images");
    conv_against_reference(host, &conv, false, "23 images without bias");
    conv_against_reference(host, &wide, true, "images larger than a chunk");
    host->ops->close(host);
}

static void gemm_against_reference(struct ag_backend *host, const struct ag_gemm *gemm,
                                   bool with_bias)
{
    struct ag_backend *reference = open_reference();
    int64_t out = gemm->m * gemm->n;
    float *a = device_random(host, gemm->m * gemm->k, 4);
    float *b = device_random(host, gemm->k * gemm->n, 5);
    float *bias = device_random(host, gemm->n, 6);
    float *c = device_floats(host, out), *expected = device_floats(reference, out);
    char what[96];

    snprintf(what, sizeof(what), "%d x %d x %d, transposed %d %d, bias %d", (int)gemm->m,
             (int)gemm->n, (int)gemm->k, gemm->trans_a, gemm->trans_b, with_bias);
    assert_int_equal(host->ops->gemm(host, gemm, a, b, with_bias ? bias : NULL, c), AG_OK);
    assert_int_equal(reference->ops->gemm(reference, gemm, a, b, with_bias ? bias : NULL, expected),
                     AG_OK);
    check_close(c, expected, out, what);
    reference->ops->free(reference, expected);
    reference->ops->close(reference);
    float *const mine[] = {a, b, bias, c};
    for (size_t i = 0; i < COUNT(mine); i++)
        host->ops->free(host, mine[i]);
}

static void matrix_products(void **state)
{
    static const struct ag_gemm shapes[] = {
        {1, 1, 1, 0, 0},      {1, 17, 300, 0, 0},    {33, 1, 65, 0, 0},    {64, 48, 80, 0, 0},
        {3, 100, 9216, 0, 0}, {1, 1000, 4096, 0, 0}, {130, 67, 129, 0, 0},
    };
    struct ag_backend *host = open_host(0);

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int variant = 0; variant < 8; variant++) {
            struct ag_gemm gemm = shapes[i];
            gemm.trans_a = variant & 1;
            gemm.trans_b = variant >> 1 & 1;
            gemm_against_reference(host, &gemm, variant >> 2);
        }
    host->ops->close(host);
}

static void max_pool_rows_longer_than_a_tile(void **state)
{
    const struct ag_pool2d pool = {2, 3, 9, 333, 5, 167, 3, 3, 2, 2, 1, 1};
    struct ag_backend *host = open_host(0), *reference = open_reference();
    const int64_t out = pool.n * pool.c * pool.h_out * pool.w_out;
    float *input = device_random(host, pool.n * pool.c * pool.h_in * pool.w_in, 7);
    float *y = device_floats(host, out), *expected = device_floats(host, out);
    int64_t *at = device_bytes(host, (size_t)out * 8),
            *expected_at = device_bytes(host, (size_t)out * 8);

    (void)state;
    input[5] = NAN;
    input[6] = NAN;
    for (int i = 100; i < 140; i++)
        input[i] = -INFINITY; /* windows with nothing larger, and ties */
    assert_int_equal(host->ops->max_pool2d_forward(host, &pool, input, y, at), AG_OK);
    assert_int_equal(
        reference->ops->max_pool2d_forward(reference, &pool, input, expected, expected_at), AG_OK);
    assert_memory_equal(at, expected_at, (size_t)out * 8);
    assert_memory_equal(y, expected, (size_t)out * sizeof(float));
    void *const mine[] = {input, y, expected, at, expected_at};
    for (size_t i = 0; i < COUNT(mine); i++)
        host->ops->free(host, mine[i]);
    reference->ops->close(reference);
    host->ops->close(host);
}

/* Three draws of `count` elements: into y, and a mask. */
static void draw_all(struct ag_backend *backend, float *y, uint8_t *mask, int64_t count,
                     uint64_t offset)
{
    const struct ag_backend_ops *ops = backend->ops;

    assert_int_equal(ops->random_uniform(backend, y, count, -3.0f, 2.0f, 11, offset), AG_OK);
    assert_int_equal(ops->random_normal(backend, y + count, count, 11, offset), AG_OK);
    assert_int_equal(ops->dropout_forward(backend, y, y + 2 * count, mask, count, 0.3f, 12, offset),
                     AG_OK);
}

/* The same bits as the reference draws, with any number of threads and any offset. */
static void random_numbers_are_the_reference_s(void **state)
{
    const int64_t count = 100003;
    float *expected = malloc(3 * (size_t)count * sizeof(float));
    float *y = malloc(3 * (size_t)count * sizeof(float));
    uint8_t *expected_mask = malloc((size_t)count), *mask = malloc((size_t)count);
    struct ag_backend *reference = open_reference();

    (void)state;
    for (uint64_t offset = 0; offset < 4; offset++) {
        draw_all(reference, expected, expected_mask, count, offset);
        for (int threads = 1; threads <= 5; threads += 2) {
            struct ag_backend *host = open_host(threads);
            draw_all(host, y, mask, count, offset);
            assert_memory_equal(y, expected, 3 * (size_t)count * sizeof(float));
            assert_memory_equal(mask, expected_mask, (size_t)count);
            host->ops->close(host);
        }
    }
    reference->ops->close(reference);
    free(expected);
    free(y);
    free(expected_mask);
    free(mask);
}

static void normal_values_are_normal(void **state)
{
    const int64_t count = 1000000;
    struct ag_backend *host = open_host(0);
    float *y = device_floats(host, count);
    double mean = 0, variance = 0, tail = 0;

    (void)state;
    assert_int_equal(host->ops->random_normal(host, y, count, 3, 0), AG_OK);
    for (int64_t i = 0; i < count; i++) {
        mean += (double)y[i] / (double)count;
        variance += (double)y[i] * (double)y[i] / (double)count;
        tail += fabsf(y[i]) > 1.959964f;
    }
    /* Five standard deviations of each estimate. */
    assert_true(fabs(mean) < 0.005);
    assert_true(fabs(variance - 1) < 0.0071);
    assert_true(fabs(tail / (double)count - 0.05) < 0.0011);
    host->ops->free(host, y);
    host->ops->close(host);
}

/* The largest convolution's scratch memory: within the limit, and gone afterwards. The pool's cap is
 * the tensors plus that limit, so an operation that takes more fails. */
static void workspaces_are_small_and_temporary(void **state)
{
    const struct ag_conv2d conv = {64, 64, 27, 27, 192, 27, 27, 5, 5, 1, 1, 2, 2};
    const int64_t in = 64 * 64 * 27 * 27, weights = 192 * 64 * 25, out = 64 * 192 * 27 * 27;
    const size_t tensors = (size_t)(in + weights + 192 + out) * sizeof(float);
    const struct ag_backend_config config = {.memory_bytes = tensors + WORKSPACE_BYTES};
    struct ag_backend *host = open_backend("host", &config);
    float *input = device_random(host, in, 1), *weight = device_random(host, weights, 2);
    float *bias = device_random(host, 192, 3), *y = device_floats(host, out);

    (void)state;
    assert_int_equal(host->ops->conv2d_forward(host, &conv, input, weight, bias, y), AG_OK);
    assert_int_equal(used_bytes(), tensors);
    void *rest = device_bytes(host, WORKSPACE_BYTES - MIB); /* room for 1 MiB of workspace */
    assert_int_equal(host->ops->conv2d_forward(host, &conv, input, weight, bias, y),
                     AG_OUT_OF_MEMORY);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_int_equal(used_bytes(), tensors + WORKSPACE_BYTES - MIB);
    void *const mine[] = {input, weight, bias, y, rest};
    for (size_t i = 0; i < COUNT(mine); i++)
        host->ops->free(host, mine[i]);
    host->ops->close(host);
}

/* Pages of [address, address + size_bytes) that the host has backed with memory. */
static size_t resident_pages(void *address, size_t size_bytes)
{
    static unsigned char pages[64 * MIB / 4096];
    size_t count = 0;

    assert_int_equal(mincore(address, size_bytes, pages), 0);
    for (size_t i = 0; i < size_bytes / 4096; i++)
        count += pages[i] & 1;
    return count;
}

static void skip_mode_touches_nothing(void **state)
{
    const struct ag_backend_config config = {.compute = AG_COMPUTE_SKIP};
    const struct ag_conv2d conv = {4, 3, 224, 224, 64, 55, 55, 11, 11, 4, 4, 2, 2};
    const struct ag_pool2d pool = {4, 64, 55, 55, 27, 27, 3, 3, 2, 2, 0, 0};
    const struct ag_gemm gemm = {8, 8, 8, 0, 1};
    struct ag_backend *host = open_backend("host", &config);
    const struct ag_backend_ops *ops = host->ops;
    float *x = device_bytes(host, 64 * MIB), out[4] = {1, 2, 3, 4};

    (void)state;
    assert_int_equal(ops->copy_in(host, x, out, sizeof(out)), AG_OK);
    assert_int_equal(ops->fill(host, x, 1000, 1.0f), AG_OK);
    assert_int_equal(ops->random_uniform(host, x, 1000, 0, 1, 1, 0), AG_OK);
    assert_int_equal(ops->random_normal(host, x, 1000, 1, 0), AG_OK);
    assert_int_equal(ops->conv2d_forward(host, &conv, x, x, x, x), AG_OK);
    assert_int_equal(ops->gemm(host, &gemm, x, x, x, x), AG_OK);
    assert_int_equal(ops->relu_forward(host, x, x, 1000), AG_OK);
    assert_int_equal(ops->max_pool2d_forward(host, &pool, x, x, (int64_t *)x), AG_OK);
    assert_int_equal(ops->adaptive_avg_pool2d_forward(host, &pool, x, x), AG_OK);
    assert_int_equal(ops->dropout_forward(host, x, x, (uint8_t *)x, 1000, 0.5f, 1, 0), AG_OK);
    assert_int_equal(ops->add(host, x, 1000, x, 1, x, 1000, 1, 1), AG_OK);
    assert_int_equal(resident_pages(x, 64 * MIB), 0);
    assert_int_equal(ops->copy_out(host, out, x, sizeof(out)), AG_OK);
    for (size_t i = 0; i < COUNT(out); i++)
        assert_true(out[i] == 0.0f);
    ops->free(host, x);
    ops->close(host);
}

static void broadcast_scalars_may_be_the_result(void **state)
{
    struct ag_backend *host = open_host(0);
    const int64_t count = 50000;
    float *a = device_floats(host, count), *y = device_floats(host, count);

    (void)state;
    assert_int_equal(host->ops->fill(host, a, count, 2.0f), AG_OK);
    assert_int_equal(host->ops->fill(host, y, count, 5.0f), AG_OK);
    /* y[0] is the scalar, and written over. */
    assert_int_equal(host->ops->add(host, a, count, y, 1, y, count, 3.0f, 0.5f), AG_OK);
    for (int64_t i = 0; i < count; i++)
        assert_true(y[i] == 8.5f);
    assert_int_equal(host->ops->add(host, y, 1, a, count, a, count, 1.0f, -1.0f), AG_OK);
    for (int64_t i = 0; i < count; i++)
        assert_true(a[i] == 6.5f);
    host->ops->free(host, a);
    host->ops->free(host, y);
    host->ops->close(host);
}

static void allocators_are_capped_as_promised(void **state)
{
    struct ag_backend_config config = {.memory_bytes = MIB};
    struct ag_backend *host = open_backend("host", &config);
    void *p = NULL;

    (void)state;
    assert_int_equal(host->ops->allocate(host, MIB + 1, &p), AG_OUT_OF_MEMORY);
    assert_null(p);
    assert_int_equal(host->ops->allocate(host, MIB, &p), AG_OK);
    host->ops->free(host, p);
    host->ops->close(host);

    config.allocator = AG_ALLOCATOR_MALLOC; /* the engine's own check, not the backend's */
    host = open_backend("host", &config);
    assert_int_equal(host->ops->allocate(host, MIB + 1, &p), AG_OK);
    host->ops->free(host, p);
    host->ops->close(host);
}

static void asking_for_more_than_the_device_has_grows_it(void **state)
{
    const struct ag_backend_config config = {.memory_bytes = 20 * GIB};
    struct ag_backend *host = open_backend("host", &config);

    (void)state;
    void *p = device_bytes(host, 20 * GIB);
    host->ops->free(host, p);
    host->ops->close(host);
    assert_int_equal(hostcudaSetMemory(0, 8 * GIB), 0);
}

static void it_says_what_it_is(void **state)
{
    struct ag_backend *host = open_host(3);
    const char *text = host->ops->describe(host);

    (void)state;
    assert_string_equal(host->ops->name, "host");
    assert_non_null(strstr(text, "host stand-in, no GPU: oneDNN 2."));
    assert_non_null(strstr(text, "3 threads"));
    host->ops->close(host);
}

static void no_such_device(void **state)
{
    const struct ag_backend_config config = {.device = 1};
    struct ag_backend *host = NULL;
    const char *error = NULL;
    void *plugin = dlopen("ag_backend_host.so", RTLD_NOW | RTLD_LOCAL);

    (void)state;
    assert_non_null(plugin);
    ag_backend_open_fn *open = (ag_backend_open_fn *)dlsym(plugin, "ag_backend_open");
    assert_int_equal(open(&config, &host, &error), AG_UNAVAILABLE);
    assert_null(host);
    assert_non_null(strstr(error, "HOSTCUDA_DEVICES"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(alexnet_convolutions, nothing_left),
        cmocka_unit_test_teardown(batches_of_several_chunks, nothing_left),
        cmocka_unit_test_teardown(matrix_products, nothing_left),
        cmocka_unit_test_teardown(max_pool_rows_longer_than_a_tile, nothing_left),
        cmocka_unit_test_teardown(random_numbers_are_the_reference_s, nothing_left),
        cmocka_unit_test_teardown(normal_values_are_normal, nothing_left),
        cmocka_unit_test_teardown(workspaces_are_small_and_temporary, nothing_left),
        cmocka_unit_test_teardown(skip_mode_touches_nothing, nothing_left),
        cmocka_unit_test_teardown(broadcast_scalars_may_be_the_result, nothing_left),
        cmocka_unit_test_teardown(allocators_are_capped_as_promised, nothing_left),
        cmocka_unit_test_teardown(asking_for_more_than_the_device_has_grows_it, nothing_left),
        cmocka_unit_test_teardown(it_says_what_it_is, nothing_left),
        cmocka_unit_test_teardown(no_such_device, nothing_left),
    };

    unsetenv("HOSTCUDA_DEVICES");
    unsetenv("HOSTCUDA_MEMORY");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
