# SPDX-License-Identifier: MIT
"""Optional, for loops whose steps gradprof cannot see by itself (no optimiser, no module):

    import gradprof
    for batch in data:
        gradprof.step()
        ...

Without libgradprof.so preloaded, or before PyTorch is imported, it does nothing."""
import sys


def step():
    """A step ends here, if one is open, and the next begins. From the first call on these are the
    only steps."""
    told = getattr(sys, "_gradprof_step", None)
    if told is not None:
        told()
