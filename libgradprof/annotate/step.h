/* SPDX-License-Identifier: MIT */
#ifndef GP_ANNOTATE_STEP_H
#define GP_ANNOTATE_STEP_H

#include <stdbool.h>

/* gradprof_step_end. `with_loop`: what followed the end of the function that ran the loop, if that
 * has ended (gp_python_check_loop), is not part of the step. */
void gp_step_end(bool with_loop);

#endif
