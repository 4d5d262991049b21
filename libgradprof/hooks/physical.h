/* SPDX-License-Identifier: MIT */
#ifndef GP_HOOKS_PHYSICAL_H
#define GP_HOOKS_PHYSICAL_H

/* In a child: fresh lock. */
void gp_physical_forked(void);

#endif
