/* SPDX-License-Identifier: MIT */
#include "viewer/finding.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "viewer/source.h"

static const char *const names[] = {[GV_CLASS_GRAPH] = "GRAPH",
                                    [GV_CLASS_SKELETON] = "SKELETON",
                                    [GV_CLASS_TENSOR] = "TENSOR",
                                    [GV_CLASS_PINNED] = "PINNED",
                                    [GV_CLASS_LOST] = "LOST",
                                    [GV_CLASS_CYCLE_NATIVE] = "CYCLE-NATIVE",
                                    [GV_CLASS_HOST] = "HOST",
                                    [GV_CLASS_BOUNDED] = "BOUNDED",
                                    [GV_CLASS_ONE_OFF] = "ONE-OFF",
                                    [GV_CLASS_KEYED] = "KEYED",
                                    [GV_CLASS_INTRA_STEP] = "INTRA-STEP"};

const char *gv_class_name(enum gv_class class)
{
    return names[class];
}

const char *gv_certainty_name(enum gv_certainty certainty)
{
    static const char *const words[] = {"certain", "likely", "guess"};
    return words[certainty];
}

const char *gv_evidence_text(const struct gv_finding *finding)
{
    if (finding->structural)
        return finding->statistical ? "structural, statistical" : "structural";
    return "statistical";
}

bool gv_finding_fails(const struct gv_finding *finding, bool strict)
{
    if (finding->expected)
        return false;
    switch (finding->class) {
    case GV_CLASS_SKELETON:
        return strict || finding->bytes_per_step > GV_SKELETON_BYTES;
    case GV_CLASS_HOST:
        return strict;
    case GV_CLASS_BOUNDED:
    case GV_CLASS_ONE_OFF:
    case GV_CLASS_INTRA_STEP:
        return false;
    default:
        return true;
    }
}

/* What a class says may change with the figures (GRAPH, SKELETON); the family does not. */
static const char *family(enum gv_class class)
{
    switch (class) {
    case GV_CLASS_GRAPH:
    case GV_CLASS_SKELETON:
    case GV_CLASS_CYCLE_NATIVE:
        return "graph";
    case GV_CLASS_TENSOR:
    case GV_CLASS_PINNED:
    case GV_CLASS_KEYED:
        return "tensor";
    default:
        return names[class];
    }
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++)
        if (!isspace((unsigned char)*c))
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3); /* FNV-1a */
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

void gv_finding_sign(struct gv_finding *finding)
{
    const struct gv_place *place = &finding->place;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    hash = mix(hash, family(finding->class));
    hash = mix(hash, finding->root);
    hash = mix(hash, place->function);
    hash = mix(hash, place->file     ? gv_source_base(place->file)
                     : place->module ? gv_source_base(place->module)
                                     : "");
    hash = mix(hash, finding->source);
    if (!finding->root[0] && finding->path_length)
        hash = mix(hash, finding->path[finding->path_length - 1]);
    snprintf(finding->fingerprint, sizeof(finding->fingerprint), "%016" PRIx64, hash);
}
