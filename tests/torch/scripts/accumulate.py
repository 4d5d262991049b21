# SPDX-License-Identifier: MIT
"""The mistake itself: y_sum keeps the graph of every iteration. BATCH ITERATIONS [walk]: `walk` also
prints, from PyTorch's own view, the bytes of the distinct storages that the graph saves."""
import sys

import torch
import torchvision

batch, iterations = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(0)
model = torchvision.models.alexnet()
y_sum = 0
for i in range(iterations):
    x = torch.randn(batch, 3, 224, 224)
    y = model(x)
    y_sum = y_sum + y
print(f"{float(y_sum.detach().sum()):.17g}")

if "walk" in sys.argv:
    storages, nodes, queue = {}, set(), [y_sum.grad_fn]
    while queue:
        node = queue.pop()
        if node is None or node in nodes:
            continue
        nodes.add(node)
        queue += [following for following, _ in node.next_functions]
        for name in dir(node):
            if name.startswith("_saved_"):
                saved = getattr(node, name)
                if isinstance(saved, torch.Tensor):
                    storages[saved.storage().data_ptr()] = saved.storage().nbytes()
    for parameter in model.parameters():
        storages.pop(parameter.storage().data_ptr(), None)
    print(len(nodes), sum(storages.values()))
