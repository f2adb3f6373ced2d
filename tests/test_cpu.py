"""Freed memory is used again; another kernel gives the same gradients."""

import platform
import subprocess
import sys

import pytest
import torch
from torch.nn import functional as F

from annotated_transformer.cpu import attention_kernel

COUNT = """
import resource
import torch
from annotated_transformer.cpu import keep_freed_memory

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
