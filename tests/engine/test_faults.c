/* SPDX-License-Identifier: MIT */
/*
 * The n-th device allocation fails, for every n of a forward and an addition: each time the failure is
 * told, nothing is left on the device or in the graph, and the context works on.
 *
 * The stand-in reads HOSTCUDA_FAIL once, so each n is a process of its own.
 */
#include "tests/engine/engine_test.h"

#include <sys/wait.h>
#include <unistd.h>

enum outcome { COMPLETED = 10, REFUSED = 11 };

/* A forward pass and its sum; returns how it ended. Exits 1 from inside when something is left. */
static enum outcome run(const char *allocator)
{
    struct ag_options options = {.device = "reference", .compute = "skip", .allocator = allocator};
    ag_context *context;
    ag_alexnet *net;
    ag_tensor *x, *y, *sum, *total, *again;
    enum ag_status error;

    if (ag_context_create(&options, &context) != AG_OK)
        _exit(1);
    net = ag_alexnet_create(context);
    x = net ? ag_randn(context, SHAPE(1, 3, 224, 224)) : NULL;
    y = ag_alexnet_forward(net, x);
    sum = ag_scalar(context, 0);
    total = ag_add(sum, y);
    error = ag_error(context);
    if ((total != NULL) != (error == AG_OK))
        _exit(1);
    ag_release(total);
    ag_release(sum);
    ag_release(y);
    ag_release(x);
    ag_alexnet_destroy(net);
    if (ag_live_bytes(context) || ag_live_nodes(context) || context->live_storages ||
        context->scope_depth ||
        (error == AG_OUT_OF_MEMORY && !strstr(ag_error_text(context), "refused")))
        _exit(1);
    ag_clear_error(context);
    again = ag_zeros(context, SHAPE(4)); /* one call failed, not the device */
    if (!again)
        _exit(1);
    ag_release(again);
    if (ag_context_destroy(context) != 0)
        _exit(1);
    if (error != AG_OK && error != AG_OUT_OF_MEMORY)
        _exit(1);
    return error == AG_OK ? COMPLETED : REFUSED;
}

static int run_with_fault(const char *function, int n, const char *allocator)
{
    char fault[64];
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        snprintf(fault, sizeof(fault), "%s:%d", function, n);
        setenv("HOSTCUDA_FAIL", fault, 1);
        exit(run(allocator)); /* so that a leak checker has its say */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("%s call %d: ended by signal %d", function, n, WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* 16 parameters, x, and in the forward: 5 convolutions, 3 pools and 2 dropouts with two tensors each,
 * 1 average pool, 3 products; and the sum */
enum { ALLOCATIONS = 16 + 1 + 5 + 3 * 2 + 2 * 2 + 1 + 3 + 1 };

static void every_allocation(const char *function, const char *allocator)
{
    for (int n = 1; n <= ALLOCATIONS; n++)
        if (run_with_fault(function, n, allocator) != REFUSED)
            fail_msg("%s call %d: the refusal was not handled", function, n);
    assert_int_equal(run_with_fault(function, ALLOCATIONS + 2, allocator), COMPLETED);
}

static void every_stream_ordered_allocation(void **state)
{
    every_allocation("cudaMallocFromPoolAsync", "async");
}

static void every_plain_allocation(void **state)
{
    every_allocation("cudaMalloc", "malloc");
}

static void an_opening_that_fails(void **state)
{
    /* run() exits 1 when there is no context: told, not crashed */
    assert_int_equal(run_with_fault("cudaSetDevice", 1, "async"), 1);
    assert_int_equal(run_with_fault("cudaStreamCreateWithFlags", 1, "async"), 1);
    assert_int_equal(run_with_fault("cudaMemPoolCreate", 1, "async"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stream_ordered_allocation),
        cmocka_unit_test(every_plain_allocation),
        cmocka_unit_test(an_opening_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
