/* SPDX-License-Identifier: MIT */
#ifndef GV_PROBLEMS_H
#define GV_PROBLEMS_H

#include "viewer/report.h"

/* Fills report->problems from all the rest. 0 or -ENOMEM. */
int gv_problems_find(struct gv_report *report);

#endif
