# SPDX-License-Identifier: MIT
"""The engine's raw weight format (docs/ENGINE.md) from and to PyTorch's state_dict."""
import struct

import numpy
import torch


def write_weights(path, state):
    with open(path, "wb") as file:
        file.write(b"AGWEIGH1" + struct.pack("<I", len(state)))
        for name, tensor in state.items():
            file.write(struct.pack("<I", len(name)) + name.encode())
            file.write(struct.pack("<I", tensor.dim()) + struct.pack(f"<{tensor.dim()}Q", *tensor.shape))
            file.write(tensor.detach().numpy().astype("<f4").tobytes())


def read_weights(path):
    state = {}
    with open(path, "rb") as file:
        assert file.read(8) == b"AGWEIGH1", "magic"
        (count,) = struct.unpack("<I", file.read(4))
        for _ in range(count):
            (length,) = struct.unpack("<I", file.read(4))
            name = file.read(length).decode()
            (dims,) = struct.unpack("<I", file.read(4))
            shape = struct.unpack(f"<{dims}Q", file.read(8 * dims))
            values = numpy.fromfile(file, "<f4", int(numpy.prod(shape)))
            state[name] = torch.from_numpy(values.reshape(shape))
        assert file.read(1) == b"", "bytes after the last tensor"
    return state
