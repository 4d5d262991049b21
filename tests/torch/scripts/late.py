# SPDX-License-Identifier: MIT
"""Reports a refusal as a GPU's allocator does, after keeping graphs."""
import ctypes

import torch
from torch import nn

CUDA_0 = 0x0001  # c10::Device: type 1, index 0
process = ctypes.CDLL(None)
report = getattr(process, "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE", None)
net = nn.Linear(32, 32)


def main(kept):
    kept.append(net(torch.ones(8, 32)))
    if report is not None:
        report(ctypes.c_int64(1 << 30), ctypes.c_int64(0), ctypes.c_int64(0), ctypes.c_uint16(CUDA_0))
    for _ in range(10):
        len(kept)


main([])
