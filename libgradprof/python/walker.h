/* SPDX-License-Identifier: MIT */
#ifndef GP_PYTHON_WALKER_H
#define GP_PYTHON_WALKER_H

extern const char gp_walker_source[]; /* holders.py and walker.py */

#endif
