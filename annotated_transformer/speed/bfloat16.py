"""Whether this processor is fast in bfloat16, tried out."""

import time

import torch
from torch import nn

from annotated_transformer.speed.fast_kernels import use_fast_kernels

__all__ = ["bf16_slowdown"]

TRIAL = 256  # rows and columns: 50 ms a turn where bfloat16 is emulated


def bf16_slowdown(fast: bool = True) -> float:
    """How many times as long as in float32 a product in bfloat16 takes here.

    A trial, of a linear map and its gradients as in training: processors
    that lack the instructions compute as if they had them, and nothing that
    PyTorch says of a processor tells how slowly. It takes less than a
    second.
    """
    with torch.random.fork_rng(devices=[]):
        layer, x = nn.Linear(TRIAL, TRIAL), torch.randn(TRIAL, TRIAL)
    if fast:
        use_fast_kernels(layer)
    x.requires_grad_()
    shortest = {}
    for bf16 in (False, True):
        seconds = []
        for _ in range(4):
            began = time.process_time()
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                y = layer(x)
            y.backward(y.detach())
            seconds.append(time.process_time() - began)
        shortest[bf16] = min(seconds)
    return shortest[True] / shortest[False]
