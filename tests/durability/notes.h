/* SPDX-License-Identifier: MIT */
/*
 * The truth about a killed run: a shared mapping in which the victim notes each call after it returned.
 *
 * `begin` and `end` are drawn from one counter before and after the call, so that
 *     A.end < B.begin  =>  A's hook returned before B's began  =>  seq(A) < seq(B)
 */
#ifndef TESTS_DURABILITY_NOTES_H
#define TESTS_DURABILITY_NOTES_H

#include <stdatomic.h>
#include <stdint.h>

#define NOTES_THREADS 4
#define NOTES_EACH 270000u /* calls of one thread: more than a million in all */

enum note_kind { NOTE_ALLOC, NOTE_FREE };

struct note {
    uint64_t begin;
    uint32_t id; /* unique per allocation; its size in bytes, so that the database names it */
    uint32_t kind;
    _Atomic uint64_t end; /* 0: the call has not returned */
};

struct notes {
    _Atomic uint64_t ticket; /* starts at 1 */
    _Atomic uint64_t noted;
    _Atomic int done; /* the threads are through: what follows is exit */
    struct note note[NOTES_THREADS][NOTES_EACH];
};

#endif
