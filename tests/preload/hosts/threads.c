/* SPDX-License-Identifier: MIT */
/*
 * threads THREADS PAIRS STORM: THREADS threads allocate and free PAIRS times each, sizes that make the
 * runtime hand freed addresses to other threads; then STORM threads, one after the other in groups,
 * that live for two allocations. Half of all is freed by another thread than allocated it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/preload/hosts/cuda.h"

#define GROUP 16

static _Atomic(void *) handed_over[8];
static int pairs;

static void *churn(void *user)
{
    uintptr_t number = (uintptr_t)user;

    for (int i = 0; i < pairs; i++) {
        void *address;
        if (cudaMalloc(&address, 1024) != 0)
            abort();
        if (i % 2 == 0)
            cudaFree(address);
        else /* leave it to the neighbour, free what was left here */
            cudaFree(atomic_exchange(&handed_over[(number + (uintptr_t)i) % 8], address));
    }
    return NULL;
}

static void *live_briefly(void *unused)
{
    void *a, *b;

    cudaMalloc(&a, 100);
    cudaMallocAsync(&b, 200, NULL);
    cudaFree(a);
    cudaFreeAsync(b, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = atoi(argv[1]), storm = atoi(argv[3]);
    pthread_t ids[64];

    pairs = atoi(argv[2]);
    for (intptr_t i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, churn, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < 8; i++)
        cudaFree(atomic_exchange(&handed_over[i], NULL));
    for (int done = 0; done < storm; done += GROUP) {
        for (int i = 0; i < GROUP; i++)
            pthread_create(&ids[i], NULL, live_briefly, NULL);
        for (int i = 0; i < GROUP; i++)
            pthread_join(ids[i], NULL);
    }
    return 0;
}
