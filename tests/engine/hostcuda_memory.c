/* SPDX-License-Identifier: MIT */
/* Linear, pitched, managed, array and pinned memory of the stand-in. Two devices of 1 GiB. */
#include "tests/engine/hostcuda_test.h"

#include <unistd.h>

static void capacity_is_exact(void **state)
{
    void *all, *more;

    (void)state;
    assert_cuda_ok(cudaMalloc(&all, GIB - 1));
    assert_int_equal(free_bytes(), 1);
    more = &all;
    assert_cuda_error(cudaMalloc(&more, 2), cudaErrorMemoryAllocation);
    assert_ptr_equal(more, &all); /* untouched on failure */
    assert_cuda_ok(cudaMalloc(&more, 1));
    assert_int_equal(free_bytes(), 0);
    assert_cuda_ok(cudaFree(more));
    assert_cuda_ok(cudaFree(all));
    assert_cuda_error(cudaMalloc(&all, SIZE_MAX), cudaErrorMemoryAllocation);
    assert_cuda_error(cudaMalloc(&all, SIZE_MAX - 100), cudaErrorMemoryAllocation);
}

/* Sizes around the borders of slots, slabs, pages and huge pages. */
static void memory_is_usable_and_apart(void **state)
{
    static const size_t sizes[] = {1,        511,   512, 513,         4096,    65535,
                                   64 * KIB, 65537, MIB, 4 * MIB - 1, 4 * MIB, 5 * MIB + 3};
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    unsigned char *blocks[COUNT];
    size_t total = 0;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        assert_cuda_ok(cudaMalloc((void **)&blocks[i], sizes[i]));
        assert_int_equal((uintptr_t)blocks[i] % 512, 0);
        assert_cuda_ok(cudaMemset(blocks[i], i + 1, sizes[i]));
        total += sizes[i];
        assert_int_equal(used_bytes(), total);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(blocks[i][0], i + 1);
        assert_int_equal(blocks[i][sizes[i] / 2], i + 1);
        assert_int_equal(blocks[i][sizes[i] - 1], i + 1);
        assert_cuda_ok(cudaFree(blocks[i]));
    }
}

static size_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void *touched(size_t size_bytes)
{
    void *block;

    assert_cuda_ok(cudaMalloc(&block, size_bytes));
    assert_cuda_ok(cudaMemset(block, 0x5a, size_bytes));
    return block;
}

/* Freed mappings serve blocks of their size again, and never make the process larger than its peak. */
static void freed_memory_is_kept_within_the_peak(void **state)
{
    enum { PEAK = 96 };
    size_t before = resident_bytes(), slack = 4 * MIB;
    void *first = touched(PEAK * MIB), *again;

    (void)state;
    assert_cuda_ok(cudaFree(first));
    again = touched(PEAK * MIB);
    assert_ptr_equal(again, first);
    assert_cuda_ok(cudaFree(again));
    for (size_t mib = 1; mib < PEAK; mib += 7) {
        void *block = touched(mib * MIB), *rest = touched((PEAK - mib) * MIB);

        assert_true(resident_bytes() <= before + PEAK * MIB + slack);
        assert_cuda_ok(cudaFree(block));
        assert_true(resident_bytes() <= before + PEAK * MIB + slack);
        assert_cuda_ok(cudaFree(rest));
    }
}

static void zero_bytes_are_null(void **state)
{
    void *p = &p;
    size_t pitch;

    (void)state;
    assert_cuda_ok(cudaMalloc(&p, 0));
    assert_null(p);
    p = &p;
    assert_cuda_ok(cudaMallocHost(&p, 0));
    assert_null(p);
    p = &p;
    assert_cuda_ok(cudaMallocPitch(&p, &pitch, 0, 4));
    assert_null(p);
    assert_cuda_error(cudaMallocManaged(&p, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
    assert_cuda_ok(cudaFree(NULL));
    assert_cuda_ok(cudaFreeHost(NULL));
    assert_cuda_ok(cudaFreeArray(NULL));
    assert_cuda_ok(cudaFreeAsync(NULL, NULL));
    assert_cuda_error(cudaMalloc(NULL, 8), cudaErrorInvalidValue);
}

static void unknown_pointers_are_refused(void **state)
{
    char *device, *pinned;
    int local;

    (void)state;
    assert_cuda_ok(cudaMalloc((void **)&device, 4 * KIB));
    assert_cuda_ok(cudaMallocHost((void **)&pinned, 4 * KIB));
    assert_cuda_error(cudaFree(&local), cudaErrorInvalidValue);
    assert_cuda_error(cudaFree(device + 512), cudaErrorInvalidValue);
    assert_cuda_error(cudaFree(pinned), cudaErrorInvalidValue);
    assert_cuda_error(cudaFreeHost(device), cudaErrorInvalidValue);
    assert_cuda_error(cudaFreeArray((cudaArray_t)device), cudaErrorInvalidValue);
    assert_cuda_error(cudaFreeAsync(&local, NULL), cudaErrorInvalidValue);
    assert_cuda_ok(cudaFreeHost(pinned));
    assert_cuda_ok(cudaFree(device));
    assert_cuda_error(cudaFree(device), cudaErrorInvalidValue); /* twice */
    assert_cuda_error(cudaFreeHost(pinned), cudaErrorInvalidValue);
}

static void frees_charge_the_owner(void **state)
{
    void *p;

    (void)state;
    assert_cuda_ok(cudaMalloc(&p, MIB));
    assert_cuda_ok(cudaSetDevice(1));
    assert_int_equal(used_bytes(), 0);
    assert_cuda_ok(cudaFree(p));
    assert_int_equal(used_bytes(), 0);
    assert_cuda_ok(cudaSetDevice(0));
    assert_int_equal(used_bytes(), 0);
}

static void pitch_is_counted(void **state)
{
    void *p;
    size_t pitch;
    struct cudaPitchedPtr pitched;

    (void)state;
    assert_cuda_ok(cudaMallocPitch(&p, &pitch, 513, 3));
    assert_int_equal(pitch, 1024);
    assert_int_equal(used_bytes(), 3 * 1024);
    assert_cuda_ok(cudaFree(p));
    assert_cuda_ok(cudaMalloc3D(&pitched, (struct cudaExtent){100, 5, 7}));
    assert_int_equal(pitched.pitch, 512);
    assert_int_equal(pitched.xsize, 100);
    assert_int_equal(pitched.ysize, 5);
    assert_int_equal(used_bytes(), 512 * 5 * 7);
    assert_cuda_ok(cudaFree(pitched.ptr));
    assert_cuda_error(cudaMallocPitch(&p, &pitch, SIZE_MAX - 5, 2), cudaErrorMemoryAllocation);
    assert_cuda_error(cudaMallocPitch(&p, &pitch, SIZE_MAX / 2, 4), cudaErrorMemoryAllocation);
    assert_cuda_error(cudaMalloc3D(&pitched, (struct cudaExtent){1, SIZE_MAX / 2, 4}),
                      cudaErrorMemoryAllocation);
    assert_cuda_error(cudaMallocPitch(&p, NULL, 8, 2), cudaErrorInvalidValue);
    assert_cuda_error(cudaMalloc3D(NULL, (struct cudaExtent){1, 1, 1}), cudaErrorInvalidValue);
}

static void arrays_are_counted(void **state)
{
    const struct cudaChannelFormatDesc rgba = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
    const struct cudaChannelFormatDesc odd = {7, 0, 0, 0, cudaChannelFormatKindUnsigned};
    const struct cudaChannelFormatDesc none = {0, 0, 0, 0, cudaChannelFormatKindNone};
    cudaArray_t array;
    cudaMipmappedArray_t mipmapped;

    (void)state;
    assert_cuda_ok(cudaMallocArray(&array, &rgba, 100, 0, 0));
    assert_int_equal(used_bytes(), 400);
    assert_cuda_error(cudaFree(array), cudaErrorInvalidValue);
    assert_cuda_ok(cudaFreeArray(array));
    assert_cuda_ok(cudaMalloc3DArray(&array, &rgba, (struct cudaExtent){10, 20, 30}, 0));
    assert_int_equal(used_bytes(), 4 * 10 * 20 * 30);
    assert_cuda_ok(cudaFreeArray(array));
    assert_cuda_ok(cudaMallocMipmappedArray(&mipmapped, &rgba, (struct cudaExtent){8, 2, 0}, 9, 0));
    assert_int_equal(used_bytes(), 4 * (8 * 2 + 4 * 1 + 2 * 1 + 1 * 1));
    assert_cuda_error(cudaFreeArray((cudaArray_t)mipmapped), cudaErrorInvalidValue);
    assert_cuda_ok(cudaFreeMipmappedArray(mipmapped));
    assert_cuda_error(cudaMallocArray(&array, &odd, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
    assert_cuda_error(cudaMallocArray(&array, &none, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
    assert_cuda_error(cudaMallocArray(&array, &rgba, 0, 4, 0), cudaErrorInvalidValue);
    assert_cuda_error(cudaMallocArray(&array, NULL, 4, 4, 0), cudaErrorInvalidValue);
    assert_cuda_error(cudaMallocArray(&array, &rgba, SIZE_MAX / 2, 4, 0),
                      cudaErrorMemoryAllocation);
}

static void managed_memory_is_counted(void **state)
{
    void *p;

    (void)state;
    assert_cuda_ok(cudaMallocManaged(&p, MIB, cudaMemAttachHost));
    assert_int_equal(used_bytes(), MIB);
    assert_cuda_ok(cudaFree(p));
    assert_cuda_error(cudaMallocManaged(&p, MIB, 0), cudaErrorInvalidValue);
    assert_cuda_error(cudaMallocManaged(&p, MIB, 3), cudaErrorInvalidValue);
}

static void pinned_memory_is_on_no_device(void **state)
{
    char *p;

    (void)state;
    assert_cuda_ok(cudaHostAlloc((void **)&p, 2 * GIB, 7)); /* more than the device has */
    assert_int_equal(used_bytes(), 0);
    p[2 * GIB - 1] = 1;
    assert_cuda_ok(cudaFreeHost(p));
    assert_cuda_error(cudaHostAlloc((void **)&p, 1, 8), cudaErrorInvalidValue);
}

static void registered_ranges_never_overlap(void **state)
{
    static char memory[4096];

    (void)state;
    assert_cuda_ok(cudaHostRegister(memory, 2048, 0));
    assert_cuda_error(cudaHostRegister(memory, 1, 0), cudaErrorHostMemoryAlreadyRegistered);
    assert_cuda_error(cudaHostRegister(memory + 2047, 10, 0), cudaErrorHostMemoryAlreadyRegistered);
    assert_cuda_ok(cudaHostRegister(memory + 2048, 2048, 0));
    assert_cuda_error(cudaHostUnregister(memory + 1), cudaErrorHostMemoryNotRegistered);
    assert_cuda_ok(cudaHostUnregister(memory));
    assert_cuda_ok(cudaHostUnregister(memory + 2048));
    assert_cuda_error(cudaHostUnregister(memory), cudaErrorHostMemoryNotRegistered);
    assert_cuda_error(cudaHostRegister(memory, 0, 0), cudaErrorInvalidValue);
    assert_cuda_error(cudaHostRegister(NULL, 8, 0), cudaErrorInvalidValue);
    assert_cuda_error(cudaHostRegister(memory, 8, 0x10), cudaErrorInvalidValue);
    assert_cuda_error(cudaHostUnregister(NULL), cudaErrorInvalidValue);
}

static void copies_copy(void **state)
{
    const char text[] = "host to device and back";
    char back[sizeof(text)] = "";
    char *a, *b;

    (void)state;
    assert_cuda_ok(cudaMalloc((void **)&a, sizeof(text)));
    assert_cuda_ok(cudaMalloc((void **)&b, sizeof(text)));
    assert_cuda_ok(cudaMemcpy(a, text, sizeof(text), cudaMemcpyHostToDevice));
    assert_cuda_ok(cudaMemcpyAsync(b, a, sizeof(text), cudaMemcpyDeviceToDevice, NULL));
    assert_cuda_ok(cudaMemcpyAsync_ptsz(back, b, sizeof(text), cudaMemcpyDefault, NULL));
    assert_string_equal(back, text);
    assert_cuda_ok(cudaMemsetAsync(b, '-', 4, NULL));
    assert_cuda_ok(cudaMemsetAsync_ptsz(b + 4, '+', 1, NULL));
    assert_cuda_ok(cudaMemcpy(back, b, sizeof(text), cudaMemcpyDeviceToHost));
    assert_string_equal(back, "----+to device and back");
    assert_cuda_error(cudaMemcpy(a, text, 4, (enum cudaMemcpyKind)5),
                      cudaErrorInvalidMemcpyDirection);
    assert_cuda_error(cudaMemcpy(NULL, text, 4, cudaMemcpyDefault), cudaErrorInvalidValue);
    assert_cuda_error(cudaMemset(NULL, 0, 4), cudaErrorInvalidValue);
    assert_cuda_ok(cudaMemcpy(NULL, NULL, 0, cudaMemcpyDefault));
    assert_cuda_ok(cudaMemset(NULL, 0, 0));
    assert_cuda_ok(cudaFree(a));
    assert_cuda_ok(cudaFree(b));
}

/* Many live blocks: the table grows, and every block is found again. */
static void a_hundred_thousand_blocks(void **state)
{
    enum { COUNT = 100000 };
    void **blocks = malloc(COUNT * sizeof(*blocks));

    (void)state;
    assert_non_null(blocks);
    for (size_t i = 0; i < COUNT; i++) {
        assert_cuda_ok(cudaMalloc(&blocks[i], i % 1500 + 1));
        *(size_t *)blocks[i] = i;
    }
    for (size_t i = 0; i < COUNT; i++) {
        size_t mixed = i * 7919 % COUNT; /* an order of its own: 7919 is a prime */
        assert_int_equal(*(size_t *)blocks[mixed], mixed);
        assert_cuda_ok(cudaFree(blocks[mixed]));
    }
    free(blocks);
}

static void reset_frees_the_current_device(void **state)
{
    const struct cudaChannelFormatDesc one = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    void *first, *second, *other, *pinned;
    cudaArray_t array;

    (void)state;
    assert_cuda_ok(cudaMalloc(&first, 100));
    assert_cuda_ok(cudaMallocAsync(&second, 10 * MIB, NULL));
    assert_cuda_ok(cudaMallocArray(&array, &one, 10, 0, 0));
    assert_cuda_ok(cudaMallocHost(&pinned, 10));
    assert_cuda_ok(cudaSetDevice(1));
    assert_cuda_ok(cudaMalloc(&other, 7));
    assert_cuda_ok(cudaSetDevice(0));
    assert_cuda_ok(cudaDeviceReset());
    assert_int_equal(used_bytes(), 0);
    assert_cuda_error(cudaFree(first), cudaErrorInvalidValue);
    assert_cuda_error(cudaFreeArray(array), cudaErrorInvalidValue);
    assert_cuda_ok(cudaFreeHost(pinned)); /* the host's, so it stays */
    assert_cuda_ok(cudaSetDevice(1));
    assert_int_equal(used_bytes(), 7);
    assert_cuda_ok(cudaFree(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: larger mappings of other tests would set a higher peak */
        cmocka_unit_test_teardown(freed_memory_is_kept_within_the_peak, nothing_left),
        cmocka_unit_test_teardown(capacity_is_exact, nothing_left),
        cmocka_unit_test_teardown(memory_is_usable_and_apart, nothing_left),
        cmocka_unit_test_teardown(zero_bytes_are_null, nothing_left),
        cmocka_unit_test_teardown(unknown_pointers_are_refused, nothing_left),
        cmocka_unit_test_teardown(frees_charge_the_owner, nothing_left),
        cmocka_unit_test_teardown(pitch_is_counted, nothing_left),
        cmocka_unit_test_teardown(arrays_are_counted, nothing_left),
        cmocka_unit_test_teardown(managed_memory_is_counted, nothing_left),
        cmocka_unit_test_teardown(pinned_memory_is_on_no_device, nothing_left),
        cmocka_unit_test_teardown(registered_ranges_never_overlap, nothing_left),
        cmocka_unit_test_teardown(copies_copy, nothing_left),
        cmocka_unit_test_teardown(a_hundred_thousand_blocks, nothing_left),
        cmocka_unit_test_teardown(reset_frees_the_current_device, nothing_left),
    };

    setenv("HOSTCUDA_DEVICES", "2", 1);
    setenv("HOSTCUDA_MEMORY", "1GiB", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
