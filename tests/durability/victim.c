/* SPDX-License-Identifier: MIT */
/* victim NOTES-FD: four threads allocate and free, and note each call in the mapping. To be killed. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/durability/notes.h"
#include "tests/preload/hosts/cuda.h"

#define HELD 32 /* live allocations of a thread */

static struct notes *notes;

static uint64_t draw(void)
{
    return atomic_fetch_add(&notes->ticket, 1) + 1;
}

static void allocate(struct note *note, uint32_t id, void **ret_address)
{
    note->begin = draw();
    note->id = id;
    note->kind = NOTE_ALLOC;
    if (cudaMalloc(ret_address, id) != 0)
        abort();
    atomic_store(&note->end, draw());
}

static void release(struct note *note, uint32_t id, void *address)
{
    note->begin = draw();
    note->id = id;
    note->kind = NOTE_FREE;
    if (cudaFree(address) != 0)
        abort();
    atomic_store(&note->end, draw());
}

static void *work(void *user)
{
    uint32_t thread = (uint32_t)(uintptr_t)user, held_id[HELD] = {0}, next = 0;
    void *held[HELD];

    for (uint32_t i = 0; i < NOTES_EACH; i++) {
        struct note *note = &notes->note[thread][i];
        uint32_t place = next % HELD;
        if (held_id[place] != 0) {
            release(note, held_id[place], held[place]);
            held_id[place] = 0;
        } else {
            held_id[place] = thread << 20 | (next + 1);
            allocate(note, held_id[place], &held[place]);
            next++;
        }
        atomic_fetch_add(&notes->noted, 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[NOTES_THREADS];

    notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[1]), 0);
    if (argc < 2 || notes == MAP_FAILED)
        return 1;
    for (uintptr_t i = 0; i < NOTES_THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < NOTES_THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&notes->done, 1);
    return 0;
}
