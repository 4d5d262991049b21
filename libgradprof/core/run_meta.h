/* SPDX-License-Identifier: MIT */
/* What the run was: argv, working directory, host, ... as META events. */
#ifndef GP_CORE_RUN_META_H
#define GP_CORE_RUN_META_H

struct gp_thread;

void gp_run_meta_write(struct gp_thread *thread, const char *unwinder);
void gp_run_meta_put(struct gp_thread *thread, const char *key, const char *value);

#endif
