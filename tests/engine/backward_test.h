/* SPDX-License-Identifier: MIT */
/* What the tests of backward share: an operation as a function of leaves, and its gradients. */
#ifndef BACKWARD_TEST_H
#define BACKWARD_TEST_H

#include "tests/engine/engine_test.h"

#include <math.h>

#include "engine/core/backward.h"

#define MAX_LEAVES 3

/* An operation under test: makes its output from `leaves`. */
struct operation {
    const char *name;
    int leaves;
    struct {
        int dims;
        int64_t shape[AG_MAX_DIMS];
        bool data; /* requires no gradient */
    } leaf[MAX_LEAVES];
    int64_t stride, padding, kernel; /* as it needs them */
    bool distinct;                   /* no two elements of a leaf are close, none is near 0 */
    ag_tensor *(*run)(const struct operation *operation, ag_tensor *const *leaves);
};

/* xorshift64, one stream for each test program */
static uint64_t test_random = 88172645463325252ull;

static inline int64_t random_between(int64_t low, int64_t high)
{
    test_random ^= test_random << 13;
    test_random ^= test_random >> 7;
    test_random ^= test_random << 17;
    return low + (int64_t)(test_random % (uint64_t)(high - low + 1));
}

static inline int64_t count_of(int dims, const int64_t *shape)
{
    int64_t count = 1;

    for (int i = 0; i < dims; i++)
        count *= shape[i];
    return count;
}

static inline float *random_floats(int64_t count, bool distinct)
{
    float *values = malloc((size_t)count * sizeof(*values));

    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = distinct ? ((float)i + 0.25f - (float)count / 2) * 0.1f
                             : (float)random_between(-1000000, 1000000) * 1e-6f;
    for (int64_t i = count - 1; distinct && i > 0; i--) {
        int64_t j = random_between(0, i);
        float swap = values[i];

        values[i] = values[j];
        values[j] = swap;
    }
    return values;
}

static inline float *floats_of(const ag_tensor *tensor)
{
    float *values = malloc((size_t)ag_count(tensor) * sizeof(*values));

    assert_non_null(values);
    assert_int_equal(ag_to_floats(tensor, values), AG_OK);
    return values;
}

static inline ag_tensor *leaf_from(ag_context *context, const struct operation *operation, int i,
                                   const float *values)
{
    ag_tensor *leaf =
        ag_from_floats(context, operation->leaf[i].dims, operation->leaf[i].shape, values);

    assert_fine(context);
    ag_set_requires_grad(leaf, !operation->leaf[i].data);
    return leaf;
}

#endif
