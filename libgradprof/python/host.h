/* SPDX-License-Identifier: MIT */
/*
 * The walker (walker.py) inside the host's interpreter: what C cannot see, it tells. It runs only
 * where the GIL can be had without waiting for somebody who waits for us: a pending call, hooks of
 * torch.nn and torch.optim, PyTorch's observer of refusals, a refusal of the CPU's allocator, atexit.
 */
#ifndef GP_PYTHON_HOST_H
#define GP_PYTHON_HOST_H

#include <stdbool.h>

/* Asks the interpreter to install the walker soon, if there is one and it has none. Any thread, any
 * lock held: it takes no GIL. */
void gp_python_arm(void);
void gp_python_forked(void);
void gp_python_finished(void); /* the interpreter is about to end: no look from now on */

/* Looks at the program's variables now. The thread's guard is down, it holds no lock that another
 * thread could wait for with the GIL. False: this thread is not Python's, or there is no walker. */
bool gp_python_look(void);
/* ... soon, in the main thread. Any thread, any lock held. What it finds counts as of the last refused
 * allocation. */
void gp_python_look_later(void);

/* PyTorch will call the walker after each refusal of the GPU's allocator, without its lock. */
void gp_python_observe(void);
bool gp_python_observes(void);

#endif
