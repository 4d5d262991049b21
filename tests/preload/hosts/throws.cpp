// SPDX-License-Identifier: MIT
// Throws exceptions through frames that allocate device memory, on several threads.
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/preload/hosts/cuda.h"

struct Guard { // its destructor runs while an exception passes
    void *address = nullptr;
    ~Guard()
    {
        cudaFree(address);
    }
};

__attribute__((noinline)) static void fall(int depth)
{
    Guard guard;

    cudaMalloc(&guard.address, 512);
    if (depth == 0)
        throw std::runtime_error("expected");
    fall(depth - 1);
}

static void work(int *caught)
{
    for (int i = 0; i < 200; i++) {
        try {
            fall(10);
        } catch (const std::runtime_error &) {
            ++*caught;
        }
    }
}

int main()
{
    int caught[4] = {};
    std::vector<std::thread> threads;

    for (int &count : caught)
        threads.emplace_back(work, &count);
    for (auto &thread : threads)
        thread.join();
    std::printf("%d\n", caught[0] + caught[1] + caught[2] + caught[3]);
    return 0;
}
