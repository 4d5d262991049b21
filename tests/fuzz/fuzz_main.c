/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer.
 *
 *   fuzz_X FILE...          these inputs, such as a crash that libFuzzer found
 *   fuzz_X --seed FILE      writes the input that mutations start from (a corpus for libFuzzer)
 *   fuzz_X --smoke N        N seeded mutations of it; 50 N with GRADPROF_TEST_LONG set
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state >> 33;
}

/* Values that parsers trip over. */
static uint8_t interesting_byte(void)
{
    static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
    return next_random() % 2 ? bytes[next_random() % sizeof(bytes)] : (uint8_t)next_random();
}

static size_t mutate(uint8_t *data, size_t size)
{
    unsigned changes = 1 + (unsigned)(next_random() % 16);
    for (unsigned i = 0; i < changes && size > 0; i++) {
        size_t at = next_random() % size, length = 1 + next_random() % 8;
        if (next_random() % 32 == 0) { /* repeat a piece somewhere else */
            size_t from = next_random() % size, count = next_random() % 256;
            size_t limit = size - (from > at ? from : at);
            memmove(data + at, data + from, count < limit ? count : limit);
            continue;
        }
        for (size_t k = 0; k < length && at + k < size; k++)
            data[at + k] = interesting_byte();
    }
    return next_random() % 8 == 0 ? next_random() % (size + 1) : size;
}

static int run_smoke(unsigned count)
{
    size_t size;
    uint8_t *seed = fuzz_make_seed(&size), *copy = malloc(size);
    if (getenv("GRADPROF_TEST_LONG"))
        count *= 50;
    LLVMFuzzerTestOneInput(seed, size);
    LLVMFuzzerTestOneInput(seed, 0);
    for (unsigned i = 0; i < count; i++) {
        random_state = i + 1;
        memcpy(copy, seed, size);
        LLVMFuzzerTestOneInput(copy, mutate(copy, size));
    }
    free(copy);
    free(seed);
    return 0;
}

static int write_seed(const char *path)
{
    size_t size;
    uint8_t *seed = fuzz_make_seed(&size);
    FILE *file = fopen(path, "wb");
    int failed = !file || fwrite(seed, 1, size, file) != size || fclose(file) != 0;
    if (failed)
        perror(path);
    free(seed);
    return failed;
}

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    static uint8_t data[16 << 20];
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    return LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc == 3 && strcmp(argv[1], "--smoke") == 0)
        return run_smoke((unsigned)strtoul(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "--seed") == 0)
        return write_seed(argv[2]);
    for (int i = 1; i < argc; i++)
        failed |= run_file(argv[i]);
    return failed;
}
