/* SPDX-License-Identifier: MIT */
/*
 * Blocks in mapped physical memory: an allocator that grows its ranges piece by piece (PyTorch's expandable
 * segments) hands out blocks that lie in several physical allocations.
 */
#include <stdlib.h>

#include "viewer/memory.h"
#include "viewer/rows.h"

struct piece { /* a mapping, in order of address */
    int64_t allocation_id, map_seq, unmap_seq;
    uint64_t address, size_bytes;
};

struct carving {
    struct gv_rows *rows;
    struct piece *pieces;
    uint32_t count, capacity;
    uint64_t longest; /* of the pieces */
};

static int piece_row(struct gp_statement *row, void *user)
{
    struct carving *carving = user;
    int r =
        gv_reserve(&carving->pieces, &carving->capacity, carving->count, sizeof(*carving->pieces));
    if (r < 0)
        return r;
    carving->pieces[carving->count++] = (struct piece){
        .allocation_id = gp_column_int64(row, 0),
        .address = gv_column_bytes(row, 1),
        .size_bytes = gv_column_bytes(row, 2),
        .map_seq = gp_column_int64(row, 3),
        .unmap_seq = gp_column_is_null(row, 4) ? INT64_MAX : gp_column_int64(row, 4),
    };
    if (carving->pieces[carving->count - 1].size_bytes > carving->longest)
        carving->longest = carving->pieces[carving->count - 1].size_bytes;
    return 0;
}

/* The first piece that ends after `address`. Pieces of one moment do not overlap; those of different
 * moments may, so the search starts early enough for the longest. */
static uint32_t first_piece(const struct carving *carving, uint64_t address)
{
    uint32_t low = 0, high = carving->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (carving->pieces[middle].address + carving->longest <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t overlap(const struct piece *piece, uint64_t address, uint64_t bytes)
{
    uint64_t begin = piece->address > address ? piece->address : address;
    uint64_t piece_end = piece->address + piece->size_bytes, end = address + bytes;
    end = piece_end < end ? piece_end : end;
    return begin < end ? end - begin : 0;
}

static void carve(struct gv_rows *rows, const struct piece *piece,
                  const struct gv_allocation *block, uint64_t bytes)
{
    uint32_t index = gv_index_find(&rows->allocation_index, piece->allocation_id);
    if (index == GV_NONE)
        return;
    struct gv_allocation *from = &rows->allocations[index];
    for (int m = 0; m < rows->moments; m++)
        if ((from->live & block->live) >> m & 1 && piece->map_seq <= rows->seq[m] &&
            piece->unmap_seq > rows->seq[m] && bytes <= gv_bytes_at(from, m))
            from->carved_bytes[m] += bytes;
}

static int block_row(struct gp_statement *row, void *user)
{
    struct carving *carving = user;
    struct gv_rows *rows = carving->rows;
    uint32_t index = gv_index_find(&rows->allocation_index, gp_column_int64(row, 0));
    if (index == GV_NONE)
        return 0;
    const struct gv_allocation *block = &rows->allocations[index];
    uint64_t address = gv_column_bytes(row, 1);
    for (uint32_t i = first_piece(carving, address);
         i < carving->count && carving->pieces[i].address < address + block->size_bytes; i++) {
        uint64_t bytes = overlap(&carving->pieces[i], address, block->size_bytes);
        if (bytes)
            carve(rows, &carving->pieces[i], block, bytes);
    }
    return 0;
}

int gv_rows_carve_mapped(struct gv_query *query, struct gv_rows *rows)
{
    struct carving carving = {.rows = rows};
    int64_t tables = 0;
    int r = gv_one(query,
                   "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'mapping'",
                   0, &tables);
    if (r == 0 && tables) /* older files have none */
        r = gv_each(query,
                    "SELECT allocation_id, address, size_bytes, map_seq, unmap_seq FROM mapping "
                    "ORDER BY address",
                    NULL, 0, piece_row, &carving);
    if (r == 0 && carving.count)
        r = gv_each(query,
                    "SELECT b.id, b.address FROM allocation b JOIN allocation p "
                    "ON p.id = b.parent_id WHERE (b.traits >> 8 & 3) = 1 AND "
                    "(p.traits >> 10 & 63) = 9",
                    NULL, 0, block_row, &carving);
    free(carving.pieces);
    return r;
}
