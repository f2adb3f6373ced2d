"""Freed memory is used again, and products stay exact."""

import platform
import subprocess
import sys

import pytest
import torch

from annotated_transformer.cpu import fast_products

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


@pytest.fixture
def precision():
    yield torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")


def product_error():
    a, b = torch.randn(2, 300, 300, dtype=torch.float64)
    return ((a.float() @ b.float() - a @ b).norm() / (a @ b).norm()).item()


def test_products_are_as_exact_as_before(precision):
    before = product_error()
    state = torch.random.get_rng_state()
    fast_products()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert product_error() < 3 * before


def test_inexact_products_are_not_allowed(precision):
    assert not fast_products(tolerance=0.0)
    assert torch.get_float32_matmul_precision() == precision
