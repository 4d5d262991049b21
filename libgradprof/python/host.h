/* SPDX-License-Identifier: MIT */
/*
 * The walker (walker.py) inside the host's interpreter: what C cannot see, it tells. It runs only
 * where Python itself calls it with the GIL held: a pending call, hooks of torch.nn and torch.optim,
 * atexit.
 */
#ifndef GP_PYTHON_HOST_H
#define GP_PYTHON_HOST_H

/* Asks the interpreter to install the walker soon, if there is one and it has none. Any thread, any
 * lock held: it takes no GIL. */
void gp_python_arm(void);
void gp_python_forked(void);

#endif
