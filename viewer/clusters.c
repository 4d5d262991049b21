/* SPDX-License-Identifier: MIT */
#include "viewer/clusters.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/tally.h"

/* Numbers in brackets and between dots or at a word's end count; "conv2d" stays what it is. */
static bool is_index(const char *name, const char *at)
{
    const char *end = at;
    while (isdigit((unsigned char)*end))
        end++;
    bool opens = at == name || !isalnum((unsigned char)at[-1]) || *end == '\0' || *end == '.';
    return opens && !isalnum((unsigned char)*end);
}

void gv_name_pattern(const char *name, char *ret_pattern, size_t size)
{
    size_t used = 0;
    for (const char *c = name ? name : ""; *c && used + 1 < size;) {
        if (isdigit((unsigned char)*c) && is_index(name, c)) {
            ret_pattern[used++] = '*';
            while (isdigit((unsigned char)*c))
                c++;
            continue;
        }
        ret_pattern[used++] = *c++;
        while (isdigit((unsigned char)*c) && used + 1 < size && !is_index(name, c))
            ret_pattern[used++] = *c++;
    }
    ret_pattern[used] = '\0';
}

uint32_t gv_name_pattern_hash(const char *name)
{
    char pattern[1024];
    gv_name_pattern(name, pattern, sizeof(pattern));
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = pattern; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

int gv_clusters_make(const struct gv_names *names, const struct gv_roots *roots,
                     struct gv_clusters *ret_clusters)
{
    struct gv_clusters out = {0};
    struct gv_tally keys = {0}; /* (pattern, site, role) -> cluster + 1 */
    int r = 0;
    out.of_root = gv_zeroed(roots->count, sizeof(*out.of_root));
    if (!out.of_root)
        return -ENOMEM;
    for (uint32_t i = 0; i < roots->count && r == 0; i++) {
        const struct gv_root *root = &roots->roots[i];
        uint32_t pattern = root->role ? 0 : gv_name_pattern_hash(gv_name(names, root->name_id));
        struct gv_tally_row *row =
            gv_tally_row(&keys, pattern, root->role ? 0 : root->site, root->role);
        if (!row)
            r = -ENOMEM;
        else if (row->value == 0) {
            r = gv_reserve(&out.clusters, &out.capacity, out.count, sizeof(*out.clusters));
            if (r == 0) {
                out.clusters[out.count] = (struct gv_cluster){pattern, root->site, i, 0, 0, 0};
                row->value = ++out.count;
            }
        }
        if (r == 0) {
            struct gv_cluster *cluster = &out.clusters[row->value - 1];
            cluster->roots++;
            cluster->handles += root->handles;
            cluster->tensors += root->tensors;
            out.of_root[i] = row->value - 1;
        }
    }
    gv_tally_free(&keys);
    if (r < 0)
        gv_clusters_free(&out);
    else
        *ret_clusters = out;
    return r;
}

void gv_clusters_free(struct gv_clusters *clusters)
{
    free(clusters->clusters);
    free(clusters->of_root);
    memset(clusters, 0, sizeof(*clusters));
}
