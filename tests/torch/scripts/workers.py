# SPDX-License-Identifier: MIT
"""Tensors, but no graph: a loader with worker processes. METHOD: fork or spawn."""
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return torch.full((100,), float(i)).square()


if __name__ == "__main__":
    loader = DataLoader(Squares(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1])
    print(sum(float(batch.sum()) for batch in loader))
