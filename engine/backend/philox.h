/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of the host backends. Philox4x32-10 (Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3", 2011): four 32-bit words from a counter and a key, so that any element of a stream
 * can be made by itself, by any thread.
 *
 * Element i of a draw is word (offset + i) % 4 of block (offset + i) / 4 under the key `seed`:
 *   uniform   (word >> 8) / 2^24, scaled to [low, high)
 *   normal    Box-Muller on the words 0, 1 and 2, 3 of a block: r cos t and r sin t with
 *             r = sqrt(-2 ln(((even >> 8) + 1) / 2^24)), t = 2 pi ((odd >> 8) / 2^24)
 */
#ifndef AG_PHILOX_H
#define AG_PHILOX_H

#include <stdint.h>

static inline void ag_philox_block(uint64_t seed, uint64_t block, uint32_t ret_words[4])
{
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)counter[0] * 0xD2511F53u, b = (uint64_t)counter[2] * 0xCD9E8D57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ counter[1] ^ key[0], (uint32_t)b,
                            (uint32_t)(a >> 32) ^ counter[3] ^ key[1], (uint32_t)a};

        for (int i = 0; i < 4; i++)
            counter[i] = next[i];
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        ret_words[i] = counter[i];
}

/* [0, 1), 24 bits: every value is a float32 exactly */
static inline float ag_philox_unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

#endif
