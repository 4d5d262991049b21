# SPDX-License-Identifier: MIT
"""What autograd offers besides plain operations, one after the other."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(2)
torch.set_num_threads(1)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 + 0 * x


def packed(x):
    unpacked.append(0)
    return x


unpacked = []
weight = torch.randn(16, 16, requires_grad=True)
layer = nn.Linear(16, 16)
for i in range(3):
    x = torch.randn(8, 16) @ weight
    custom = Double.apply(x).sum()
    for reentrant in (True, False):
        kept = checkpoint(layer, x, use_reentrant=reentrant).sum()
        kept.backward(retain_graph=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), packed):
        hooked = (x.exp() * x).sum()
    before = len(unpacked)
    grad, = torch.autograd.grad((x ** 3).sum(), weight, create_graph=True)
    penalty = grad.square().sum()
    view = (x * 1.5)[:, :4]
    view.mul_(0.5)
    lists = torch.stack([x.sin(), x.cos()]).sum() + torch.cat([x, x]).prod()
    (custom + penalty + lists + view.sum()).backward()
    print(f"{float(weight.grad.sum()):.17g} {before}")
    weight.grad = None
lstm = nn.LSTM(16, 16)
out, hidden = lstm(torch.randn(4, 2, 16))
with torch.profiler.profile(profile_memory=True) as profile:
    out.sum().backward()
print(f"{float(lstm.weight_hh_l0.grad.sum()):.17g}", len(profile.events()) > 0)
try:
    nn.Linear(16, 4)(torch.randn(3, 5))
except RuntimeError:
    print("refused")
print(f"{float(layer(torch.ones(1, 16)).sum()):.17g}")
