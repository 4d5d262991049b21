/* SPDX-License-Identifier: MIT */
/* A finding: something that stays where it should not, who holds it, and what to change. */
#ifndef GV_FINDING_H
#define GV_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "viewer/sites.h"

#define GV_FINDING_TEXT 400
#define GV_FINDING_PATH 12
#define GV_SKELETON_BYTES 512 /* a step that keeps no more device memory keeps only host memory */

enum gv_class { /* docs/FORMAT.md says what each means */
                GV_CLASS_GRAPH,
                GV_CLASS_SKELETON,
                GV_CLASS_TENSOR,
                GV_CLASS_PINNED,
                GV_CLASS_CYCLE_NATIVE,
                GV_CLASS_LOST,
                GV_CLASS_HOST,
                GV_CLASS_BOUNDED,
                GV_CLASS_ONE_OFF,
                GV_CLASS_KEYED,
                GV_CLASS_INTRA_STEP
};

enum gv_certainty { GV_CERTAIN, GV_LIKELY, GV_GUESS };

struct gv_finding {
    enum gv_class class;
    enum gv_certainty certainty;
    bool structural, statistical; /* kinds of evidence */
    bool expected;                /* a note: told, never a reason to fail */
    char root[GV_FINDING_TEXT];   /* the variable; "" when none is known */
    char also[GV_FINDING_TEXT];   /* other variables on the same graphs, "" */
    uint32_t handles;
    struct gv_place place; /* where the root got its name, or what it holds was allocated */
    char source[256];
    uint64_t bytes_per_step, nodes_per_step;
    uint64_t held_bytes, held_nodes; /* at the moment, of earlier steps */
    uint64_t frees_bytes;            /* by the cut */
    uint32_t since_step, steps;      /* first step that left something; how many did */
    uint32_t period_steps;           /* comes and goes every so many steps; 0: does not go */
    uint32_t fails_in_step;          /* died, or will run out, in this step; 0: not known */
    uint64_t capacity_bytes;         /* of the device that runs out */
    char path[GV_FINDING_PATH][64];
    uint32_t path_length;
    char cut[GV_FINDING_TEXT], advice[GV_FINDING_TEXT];
    char fingerprint[17];
};

const char *gv_class_name(enum gv_class class);
const char *gv_certainty_name(enum gv_certainty certainty);
/* "structural", "statistical" or "structural, statistical" */
const char *gv_evidence_text(const struct gv_finding *finding);

/* Should a gate fail on it? `strict`: on growth of host memory too. */
bool gv_finding_fails(const struct gv_finding *finding, bool strict);

/* Makes the fingerprint: the same when lines are inserted above, different for another variable,
 * function, file or source line. */
void gv_finding_sign(struct gv_finding *finding);

#endif
