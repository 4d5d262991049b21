/* SPDX-License-Identifier: MIT */
/* What to change, in a sentence. Each line has a precondition that was seen in the run. */
#include <stdio.h>

#include "viewer/leaks_private.h"

#define ROOT(finding) ((finding)->root[0] ? (finding)->root : "the variable")

static const char *graph_advice(const struct gv_graph_traits *t)
{
    if (t->gradient)
        return "The gradient carries its own graph: zero_grad(set_to_none=True), or "
               "grad.detach_(), in each step.";
    if (t->validation && !t->visited)
        return "These graphs are made in validation and no backward uses them: run it under "
               "no_grad().";
    if (t->cloned)
        return "clone() copies data and keeps the history: detach() first.";
    if (t->accumulates && t->small)
        return "Add up numbers, not graphs: += loss.item(), or += loss.detach().";
    if (t->accumulates)
        return "Detach what is added in each step (y.detach()): the sum then has no history.";
    if (t->carried)
        return "State goes from step to step with its history: detach() it between steps.";
    if (t->collection && t->small)
        return "Keep loss.item() (a number) instead of the tensor, or detach() it first.";
    if (t->collection)
        return "detach() each tensor before it is kept (and .cpu() if its values can wait there).";
    return "detach() what is stored there.";
}

void gv_advise_graph(struct gv_finding *finding, const struct gv_graph_traits *t, const char *head)
{
    snprintf(finding->advice, sizeof(finding->advice), "%s%s", graph_advice(t),
             t->told_to_keep && finding->class == GV_CLASS_GRAPH && !t->gradient
                 ? " A backward went through these graphs and was told to keep them "
                   "(retain_graph)."
                 : "");
    snprintf(finding->cut, sizeof(finding->cut), "%.200s -> %.60s", ROOT(finding), head);
}

void gv_advise_tensor(struct gv_finding *finding)
{
    snprintf(finding->cut, sizeof(finding->cut), "%.200s -> its tensors", ROOT(finding));
    if (finding->class == GV_CLASS_KEYED)
        snprintf(finding->advice, sizeof(finding->advice),
                 "One entry for each new key: give the cache a limit, or pad the shapes to fewer "
                 "sizes.");
    else if (finding->class == GV_CLASS_ONE_OFF)
        snprintf(finding->advice, sizeof(finding->advice),
                 "Made once in the first steps and kept; nothing to mend.");
    else if (finding->class == GV_CLASS_BOUNDED)
        snprintf(finding->advice, sizeof(finding->advice),
                 "It stopped growing; if it is too much, lower its limit or keep it on the host.");
    else
        snprintf(finding->advice, sizeof(finding->advice),
                 "These tensors have no graph, so detach() will not help: move them to the host "
                 "(.cpu()), reduce them on the fly, or clear the container.");
}

void gv_advise_lost(struct gv_finding *finding)
{
    snprintf(finding->cut, sizeof(finding->cut), "the allocation itself");
    if (finding->class == GV_CLASS_HOST)
        snprintf(finding->advice, sizeof(finding->advice),
                 "Pinned host memory grows here (not device memory): free or reuse the buffers.");
    else
        snprintf(finding->advice, sizeof(finding->advice),
                 "No recorded variable and no node holds these allocations: free them, or reuse "
                 "one buffer.");
}
