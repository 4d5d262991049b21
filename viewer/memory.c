/* SPDX-License-Identifier: MIT */
#include "viewer/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int gv_reserve(void *array_pointer, uint32_t *capacity, uint32_t count, size_t element_bytes)
{
    if (count < *capacity)
        return 0;
    if (count >= GV_NONE - 1)
        return -EOVERFLOW;
    uint64_t wanted = *capacity ? (uint64_t)*capacity * 2 : 64;
    if (wanted > GV_NONE - 1)
        wanted = GV_NONE - 1;
    void *array;
    memcpy(&array, array_pointer, sizeof(array));
    void *larger = realloc(array, (size_t)wanted * element_bytes);
    if (!larger)
        return -ENOMEM;
    memcpy(array_pointer, &larger, sizeof(larger));
    *capacity = (uint32_t)wanted;
    return 0;
}

void *gv_zeroed(size_t count, size_t element_bytes)
{
    return calloc(count ? count : 1, element_bytes);
}

int gv_index_add(struct gv_index *index, int64_t id)
{
    if (index->count > 0 && id <= index->ids[index->count - 1])
        return -EINVAL;
    int r = gv_reserve(&index->ids, &index->capacity, index->count, sizeof(*index->ids));
    if (r < 0)
        return r;
    index->ids[index->count++] = id;
    return 0;
}

static uint64_t distance(const struct gv_index *index, int64_t id)
{
    return (uint64_t)id - (uint64_t)index->ids[0];
}

int gv_index_finish(struct gv_index *index)
{
    if (index->count == 0)
        return 0;
    uint64_t range = distance(index, index->ids[index->count - 1]);
    while (range >> index->shift > (uint64_t)index->count * 2)
        index->shift++;
    index->bucket_count = (uint32_t)(range >> index->shift) + 1;
    index->buckets = calloc((size_t)index->bucket_count + 1, sizeof(*index->buckets));
    if (!index->buckets)
        return -ENOMEM;
    uint32_t bucket = 0;
    for (uint32_t i = 0; i < index->count; i++)
        while (bucket <= distance(index, index->ids[i]) >> index->shift)
            index->buckets[bucket++] = i;
    while (bucket <= index->bucket_count)
        index->buckets[bucket++] = index->count;
    return 0;
}

uint32_t gv_index_find(const struct gv_index *index, int64_t id)
{
    if (index->count == 0 || id < index->ids[0] || id > index->ids[index->count - 1])
        return GV_NONE;
    uint64_t bucket = distance(index, id) >> index->shift;
    uint32_t low = index->buckets[bucket], high = index->buckets[bucket + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->count && index->ids[low] == id ? low : GV_NONE;
}

void gv_index_free(struct gv_index *index)
{
    free(index->ids);
    free(index->buckets);
    memset(index, 0, sizeof(*index));
}
