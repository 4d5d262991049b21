/* SPDX-License-Identifier: MIT */
/* CUDA graphs: memory nodes allocate when the graph is launched, not when they are made. */
#ifndef GP_HOOKS_GRAPHS_H
#define GP_HOOKS_GRAPHS_H

#include <stdbool.h>

/* Is work in `stream` recorded into a graph instead of being done? `per_thread`: which default stream a
 * zero stream means. Free unless a capture is under way somewhere. */
bool gp_stream_is_captured(void *stream, bool per_thread);
bool gp_any_capture(void);
void gp_graphs_forked(void);

#endif
