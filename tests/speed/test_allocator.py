"""Freed memory is used again; faster kernels give the same results."""

import platform
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.speed.cpu import (
    attention_kernel,
    draw_fewer_numbers,
)

COUNT = """
import resource
import torch
from annotated_transformer.speed.allocator import keep_freed_memory

{first}
for i in range(12):
    if i == 2:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(16_000_000)  # 64 MB, freed at once
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only the GNU C library"
)
def test_a_large_block_is_used_again():
    faults = [
        int(
            subprocess.run(
                [sys.executable, "-c", COUNT.format(first=first)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for first in ("", "assert keep_freed_memory()")
    ]
    assert faults[1] < 0.8 * faults[0]  # 0, unless memory is short


def test_attention_by_products_has_the_fused_kernels_gradients():
    cpu, grads = torch.device("cpu"), []
    q, k, v = torch.randn(3, 2, 4, 7, 8, dtype=torch.bfloat16)
    for kernel in (attention_kernel(cpu, True), attention_kernel(cpu, False)):
        inputs = [x.clone().requires_grad_() for x in (q, k, v)]
        with kernel:
            F.scaled_dot_product_attention(*inputs).square().sum().backward()
        grads.append(torch.stack([x.grad for x in inputs]).float())
    torch.testing.assert_close(*grads, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.3, 0.9999999])
def test_dropout_of_fewer_bits_drops_what_it_should(p):
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Dropout(p))
    draw_fewer_numbers(layer)
    x = torch.ones(1001, 333, requires_grad=True)  # no multiple of four
    y = layer(x)
    kept = y != 0
    assert torch.allclose(y[kept], torch.tensor(1 / (1 - p)))
    sigma = (p * (1 - p) / x.numel()) ** 0.5
    assert abs(kept.float().mean() - (1 - p)) <= 5 * sigma + 2**-16
    both = (kept[:, 1:] & kept[:, :-1]).float().mean()  # neighbours
    assert abs(both - (1 - p) ** 2) <= 5 * sigma + 2**-15
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    assert layer.eval()(x) is x


def test_dropout_of_fewer_bits_follows_the_seed():
    layer, x = nn.Sequential(nn.Dropout(0.5)), torch.ones(2, 3, 5)
    draw_fewer_numbers(layer)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(layer(x.bfloat16()))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert found[0].dtype == torch.bfloat16
