/* SPDX-License-Identifier: MIT */
/* Memory pools and stream-ordered allocation. Two devices of 1 GiB. */
#include "tests/engine/hostcuda_test.h"

static const struct cudaMemPoolProps on_device_0 = {
    .allocType = cudaMemAllocationTypePinned,
    .location = {cudaMemLocationTypeDevice, 0},
};

static uint64_t attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr)
{
    uint64_t value = 0;

    assert_cuda_ok(cudaMemPoolGetAttribute(pool, attr, &value));
    return value;
}

static cudaMemPool_t pool_of(size_t max_bytes)
{
    struct cudaMemPoolProps props = on_device_0;
    cudaMemPool_t pool;

    props.maxSize = max_bytes;
    assert_cuda_ok(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static void a_pool_is_capped(void **state)
{
    cudaMemPool_t pool = pool_of(MIB);
    void *p, *q;

    (void)state;
    assert_cuda_ok(cudaMallocFromPoolAsync(&p, MIB - 10, pool, NULL));
    assert_cuda_error(cudaMallocFromPoolAsync(&q, 11, pool, NULL), cudaErrorMemoryAllocation);
    assert_int_equal(used_bytes(), MIB - 10);
    assert_cuda_ok(cudaMallocFromPoolAsync_ptsz(&q, 10, pool, NULL));
    assert_int_equal(attribute(pool, cudaMemPoolAttrUsedMemCurrent), MIB);
    assert_cuda_ok(cudaFreeAsync(p, NULL));
    assert_cuda_ok(cudaFree(q)); /* cudaFree takes pool memory too */
    assert_int_equal(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    assert_cuda_ok(cudaMemPoolDestroy(pool));
}

/* The device refuses although the pool would not: the pool is not charged. */
static void a_pool_is_within_its_device(void **state)
{
    cudaMemPool_t pool = pool_of(0);
    void *p, *q;

    (void)state;
    assert_cuda_ok(cudaMalloc(&q, GIB / 2));
    assert_cuda_error(cudaMallocFromPoolAsync(&p, GIB / 2 + 1, pool, NULL),
                      cudaErrorMemoryAllocation);
    assert_int_equal(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    assert_cuda_ok(cudaMallocFromPoolAsync(&p, GIB / 2, pool, NULL));
    assert_cuda_ok(cudaFreeAsync_ptsz(p, NULL));
    assert_cuda_ok(cudaFree(q));
    assert_cuda_ok(cudaMemPoolDestroy(pool));
}

static void a_pool_charges_its_own_device(void **state)
{
    cudaMemPool_t pool = pool_of(0);
    void *p;

    (void)state;
    assert_cuda_ok(cudaSetDevice(1));
    assert_cuda_ok(cudaMallocFromPoolAsync(&p, 100, pool, NULL));
    assert_int_equal(used_bytes(), 0);
    assert_cuda_ok(cudaSetDevice(0));
    assert_int_equal(used_bytes(), 100);
    assert_cuda_ok(cudaFreeAsync(p, NULL));
    assert_cuda_ok(cudaMemPoolDestroy(pool));
}

static void a_destroyed_pool_lives_until_its_last_free(void **state)
{
    cudaMemPool_t pool = pool_of(0);
    void *p, *q;

    (void)state;
    assert_cuda_ok(cudaMallocFromPoolAsync(&p, 100, pool, NULL));
    assert_cuda_ok(cudaMemPoolDestroy(pool));
    assert_cuda_error(cudaMallocFromPoolAsync(&q, 100, pool, NULL), cudaErrorInvalidValue);
    assert_cuda_error(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
    assert_int_equal(used_bytes(), 100);
    assert_cuda_ok(cudaFreeAsync(p, NULL));
}

static void the_current_pool_serves_cudaMallocAsync(void **state)
{
    cudaMemPool_t pool = pool_of(200), standard, current;
    void *p, *q;

    (void)state;
    assert_cuda_ok(cudaDeviceGetDefaultMemPool(&standard, 0));
    assert_cuda_ok(cudaDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, standard);
    assert_cuda_ok(cudaMallocAsync(&p, 50, NULL));
    assert_int_equal(attribute(standard, cudaMemPoolAttrUsedMemCurrent), 50);
    assert_cuda_ok(cudaDeviceSetMemPool(0, pool));
    assert_cuda_ok(cudaMallocAsync_ptsz(&q, 200, NULL));
    assert_int_equal(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 200);
    assert_cuda_error(cudaMallocAsync(&q, 1, NULL), cudaErrorMemoryAllocation);
    assert_cuda_ok(cudaFreeAsync(q, NULL));
    assert_cuda_ok(cudaFreeAsync(p, NULL));
    assert_int_equal(attribute(standard, cudaMemPoolAttrUsedMemCurrent), 0);
    assert_cuda_ok(cudaMemPoolDestroy(pool)); /* the default one takes its place */
    assert_cuda_ok(cudaDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, standard);
}

static void high_water_marks(void **state)
{
    cudaMemPool_t pool = pool_of(0);
    uint64_t zero = 0, one = 1;
    void *p, *q;

    (void)state;
    assert_cuda_ok(cudaMallocFromPoolAsync(&p, 300, pool, NULL));
    assert_cuda_ok(cudaMallocFromPoolAsync(&q, 500, pool, NULL));
    assert_cuda_ok(cudaFreeAsync(q, NULL));
    assert_int_equal(attribute(pool, cudaMemPoolAttrUsedMemHigh), 800);
    assert_int_equal(attribute(pool, cudaMemPoolAttrReservedMemHigh), 800);
    assert_int_equal(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 300);
    assert_cuda_ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    assert_int_equal(attribute(pool, cudaMemPoolAttrUsedMemHigh), 300);
    assert_int_equal(attribute(pool, cudaMemPoolAttrReservedMemHigh), 800);
    assert_cuda_error(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one),
                      cudaErrorInvalidValue);
    assert_cuda_error(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &zero),
                      cudaErrorInvalidValue);
    assert_cuda_ok(cudaMemPoolTrimTo(pool, 0));
    assert_cuda_ok(cudaFreeAsync(p, NULL));
    assert_cuda_ok(cudaMemPoolDestroy(pool));
}

static void settings_are_remembered(void **state)
{
    cudaMemPool_t pool = pool_of(0);
    uint64_t threshold = 123456789012ull;
    int off = 0, value = -1;

    (void)state;
    assert_int_equal(attribute(pool, cudaMemPoolAttrReleaseThreshold), 0);
    assert_cuda_ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    assert_int_equal(attribute(pool, cudaMemPoolAttrReleaseThreshold), threshold);
    assert_cuda_ok(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    assert_int_equal(value, 1);
    assert_cuda_ok(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
    assert_cuda_ok(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    assert_int_equal(value, 0);
    assert_cuda_ok(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &value));
    assert_int_equal(value, 1);
    assert_cuda_ok(cudaMemPoolDestroy(pool));
}

static void wrong_arguments_are_refused(void **state)
{
    struct cudaMemPoolProps props = on_device_0;
    cudaMemPool_t pool, standard;
    uint64_t value;

    (void)state;
    assert_cuda_ok(cudaDeviceGetDefaultMemPool(&standard, 1));
    props.location.id = 2;
    assert_cuda_error(cudaMemPoolCreate(&pool, &props), cudaErrorInvalidDevice);
    props = on_device_0;
    props.location.type = cudaMemLocationTypeHost;
    assert_cuda_error(cudaMemPoolCreate(&pool, &props), cudaErrorInvalidValue);
    props = on_device_0;
    props.allocType = cudaMemAllocationTypeInvalid;
    assert_cuda_error(cudaMemPoolCreate(&pool, &props), cudaErrorInvalidValue);
    assert_cuda_error(cudaMemPoolCreate(NULL, &on_device_0), cudaErrorInvalidValue);
    assert_cuda_error(cudaMemPoolCreate(&pool, NULL), cudaErrorInvalidValue);
    assert_cuda_error(cudaMemPoolDestroy(standard), cudaErrorInvalidValue);
    assert_cuda_error(cudaMemPoolDestroy(NULL), cudaErrorInvalidValue);
    assert_cuda_error(cudaMemPoolTrimTo(NULL, 0), cudaErrorInvalidValue);
    assert_cuda_error(cudaMemPoolGetAttribute(standard, (enum cudaMemPoolAttr)99, &value),
                      cudaErrorInvalidValue);
    assert_cuda_error(cudaDeviceSetMemPool(0, standard), cudaErrorInvalidValue); /* device 1's */
    assert_cuda_error(cudaDeviceSetMemPool(9, standard), cudaErrorInvalidDevice);
    assert_cuda_error(cudaDeviceGetMemPool(&pool, -1), cudaErrorInvalidDevice);
    assert_cuda_error(cudaDeviceGetDefaultMemPool(&pool, 2), cudaErrorInvalidDevice);
    assert_cuda_error(cudaMallocFromPoolAsync((void **)&pool, 8, NULL, NULL),
                      cudaErrorInvalidValue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_pool_is_capped, nothing_left),
        cmocka_unit_test_teardown(a_pool_is_within_its_device, nothing_left),
        cmocka_unit_test_teardown(a_pool_charges_its_own_device, nothing_left),
        cmocka_unit_test_teardown(a_destroyed_pool_lives_until_its_last_free, nothing_left),
        cmocka_unit_test_teardown(the_current_pool_serves_cudaMallocAsync, nothing_left),
        cmocka_unit_test_teardown(high_water_marks, nothing_left),
        cmocka_unit_test_teardown(settings_are_remembered, nothing_left),
        cmocka_unit_test_teardown(wrong_arguments_are_refused, nothing_left),
    };

    setenv("HOSTCUDA_DEVICES", "2", 1);
    setenv("HOSTCUDA_MEMORY", "1GiB", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
