/* SPDX-License-Identifier: MIT */
/*
 * What the engine tells a profiler. This program defines the annotation functions itself, keeps count
 * of what is alive by them, and writes what matters into a log.
 */
#include "tests/engine/engine_test.h"

#define GRADPROF_NO_MACROS
#include <gradprof/gradprof.h>

#include "tests/engine/alexnet_expected.h"

enum { KEYS = 1000, LOG_BYTES = 1 << 16, PATH_BYTES = 256 };

struct keys {
    const void *key[KEYS];
    int count;
};

static struct {
    struct keys nodes, handles;
    int saves, inputs, steps, depth, refusals;
    char path[8][64]; /* open scopes */
    char refused_path[PATH_BYTES];
    char log[LOG_BYTES];
    size_t log_bytes;
} heard;

static void forget(void)
{
    memset(&heard, 0, sizeof(heard));
}

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    heard.log_bytes += (size_t)vsnprintf(heard.log + heard.log_bytes, LOG_BYTES - heard.log_bytes,
                                         format, arguments);
    va_end(arguments);
    assert_true(heard.log_bytes < LOG_BYTES);
}

static int find(const struct keys *keys, const void *key)
{
    for (int i = 0; i < keys->count; i++)
        if (keys->key[i] == key)
            return i;
    return -1;
}

static void add(struct keys *keys, const void *key)
{
    assert_non_null(key);
    assert_int_equal(find(keys, key), -1);
    assert_true(keys->count < KEYS);
    keys->key[keys->count++] = key;
}

static void take(struct keys *keys, const void *key)
{
    int at = find(keys, key);

    assert_true(at >= 0);
    keys->key[at] = keys->key[--keys->count];
}

static void path_text(char *ret_text)
{
    ret_text[0] = '\0';
    for (int i = 0; i < heard.depth; i++) {
        strcat(ret_text, i ? " > " : "");
        strcat(ret_text, heard.path[i]);
    }
}

void gradprof_node_create(const void *node, const char *op)
{
    char path[PATH_BYTES];

    path_text(path);
    add(&heard.nodes, node);
    note("node %s in %s\n", op, path);
}

void gradprof_node_input(const void *node, uint32_t slot, const void *input_node)
{
    assert_true(find(&heard.nodes, node) >= 0 && find(&heard.nodes, input_node) >= 0);
    heard.inputs++;
}

void gradprof_node_backward(const void *node)
{
    fail_msg("no backward was asked for");
}

void gradprof_node_destroy(const void *node)
{
    take(&heard.nodes, node);
}

void gradprof_save(const void *node, const char *slot, const void *address, const void *source)
{
    assert_true(find(&heard.nodes, node) >= 0);
    assert_true(!source || find(&heard.nodes, source) >= 0);
    assert_non_null(address);
    heard.saves++;
    note("save %s%s\n", slot, source ? " with source" : "");
}

void gradprof_release(const void *node, const char *slot)
{
    fail_msg("slots close with their nodes");
}

void gradprof_handle_create(const void *handle, const char *name, const void *address,
                            const void *node)
{
    assert_null(name);
    assert_true(!node || find(&heard.nodes, node) >= 0);
    add(&heard.handles, handle);
}

void gradprof_handle_name(const void *handle, const char *name)
{
    assert_true(find(&heard.handles, handle) >= 0);
    note("handle %s\n", name);
}

void gradprof_handle_node(const void *handle, const void *node)
{
    assert_true(find(&heard.handles, handle) >= 0 && find(&heard.nodes, node) >= 0);
    note("handle's node changed\n");
}

void gradprof_handle_destroy(const void *handle)
{
    take(&heard.handles, handle);
}

void gradprof_storage_role(const void *address, enum gradprof_role role, const char *name)
{
    assert_non_null(address);
    note("role %d %s\n", (int)role, name);
}

void gradprof_refused(int device, size_t asked_bytes, const char *what)
{
    heard.refusals++;
    path_text(heard.refused_path);
    note("refused %zu by %s\n", asked_bytes, what);
}

void gradprof_scope_push(enum gradprof_scope_kind kind, const char *name)
{
    assert_true(heard.depth < (int)COUNT(heard.path));
    snprintf(heard.path[heard.depth++], sizeof(heard.path[0]), "%s", name);
}

void gradprof_scope_pop(void)
{
    assert_true(heard.depth-- > 0);
}

void gradprof_step_begin(const char *label)
{
    note("step %s\n", label);
    heard.steps++;
}

void gradprof_step_end(void)
{
    heard.steps--;
}

static int count_of(const char *line)
{
    int count = 0;

    for (const char *at = heard.log; (at = strstr(at, line)); at += strlen(line))
        count++;
    return count;
}

static void nothing_is_open(void)
{
    assert_int_equal(heard.nodes.count, 0);
    assert_int_equal(heard.handles.count, 0);
    assert_int_equal(heard.depth, 0);
    assert_int_equal(heard.steps, 0);
}

static void one_forward_is_told(void **state)
{
    ag_context *context;
    ag_alexnet *net;
    ag_tensor *x = NULL, *y = NULL;

    forget();
    context = open_context("reference", "skip", 0);
    net = ag_alexnet_create(context);
    assert_int_equal(heard.handles.count, 16);
    assert_int_equal(count_of("role 1 "), 16);
    assert_int_equal(count_of("role 1 features.0.weight\n"), 1);
    assert_int_equal(count_of("handle classifier.6.bias\n"), 1);
    ag_step_begin(context, "iteration 1");
    assert_int_equal(count_of("step iteration 1\n"), 1);
    ag_assign(x, ag_randn(context, SHAPE(2, 3, 224, 224)));
    ag_set_role_input(x, "x");
    assert_int_equal(count_of("role 4 x\n"), 1);
    assert_int_equal(heard.handles.count, 17);
    ag_assign(y, ag_alexnet_forward(net, x));
    assert_fine(context);
    assert_int_equal(heard.handles.count, 18); /* only y is held of all that the network made */
    assert_int_equal(count_of("handle y\n"), 1);
    assert_int_equal(heard.nodes.count, EXPECTED_NODES);
    assert_int_equal(heard.saves, 32);
    /* 5 convolutions with 3 inputs, the first with 2; 3 products with 3; 16 nodes with 1 */
    assert_int_equal(heard.inputs, 5 * 3 - 1 + 3 * 3 + 17);
    assert_int_equal(count_of("node ConvolutionBackward0 in features.3 > ConvolutionBackward0\n"),
                     1);
    assert_int_equal(count_of("node TBackward0 in classifier.1 > TBackward0\n"), 1);
    assert_int_equal(count_of("save input with source\n"), 4); /* not x */
    assert_int_equal(count_of("save input\n"), 1);
    assert_int_equal(count_of("save self with source\n"), 4);
    assert_int_equal(count_of("save result\n"), 7);
    assert_int_equal(count_of("handle's node changed\n"), 7);
    ag_step_end(context);
    ag_release(y);
    ag_release(x);
    ag_alexnet_destroy(net);
    close_context(context);
    nothing_is_open();
}

/* While a leaf has a handle, that is its holder; then its AccumulateGrad node is. */
static void an_orphaned_leaf_is_told(void **state)
{
    ag_context *context;
    ag_tensor *x, *w, *b, *y;

    forget();
    context = open_context("reference", "skip", 0);
    x = ag_zeros(context, SHAPE(1, 2));
    w = ag_zeros(context, SHAPE(1, 2));
    b = ag_zeros(context, SHAPE(1));
    ag_set_requires_grad(b, true);
    y = ag_linear(x, w, b);
    ag_release(x);
    ag_release(w);
    assert_int_equal(count_of("save variable\n"), 0);
    ag_release(b);
    assert_int_equal(count_of("save variable\n"), 1);
    ag_release(y);
    close_context(context);
    nothing_is_open();
}

static void a_refusal_is_told_with_its_place(void **state)
{
    struct ag_options options = {.device = "reference",
                                 .compute = "skip",
                                 .allocator = "malloc",
                                 .memory_bytes = (size_t)1 << 30};
    ag_context *context;
    ag_alexnet *net;
    ag_tensor *x, *y;

    forget();
    assert_int_equal(ag_context_create(&options, &context), AG_OK);
    net = ag_alexnet_create(context);
    x = ag_randn(context, SHAPE(EXPECTED_BATCH, 3, 224, 224));
    assert_fine(context);
    assert_int_equal(heard.refusals, 0);
    y = ag_alexnet_forward(net, x);
    assert_null(y);
    assert_int_equal(ag_error(context), AG_OUT_OF_MEMORY);
    assert_string_equal(ag_error_text(context),
                        "792,985,600 bytes for the output of ConvolutionBackward0 (features.0) "
                        "refused; 0.80 GB of 1.00 GB in use");
    assert_int_equal(heard.refusals, 1); /* and what follows is not tried */
    assert_string_equal(heard.refused_path, "features.0 > ConvolutionBackward0 > output");
    assert_int_equal(count_of("refused 792985600 by --memory 1.00 GB\n"), 1);
    assert_int_equal(heard.nodes.count, 0);
    ag_release(x);
    ag_alexnet_destroy(net);
    close_context(context);
    nothing_is_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_forward_is_told),
        cmocka_unit_test(an_orphaned_leaf_is_told),
        cmocka_unit_test(a_refusal_is_told_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
