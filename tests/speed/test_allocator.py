"""Freed memory is used again."""

import platform
import subprocess
import sys

import pytest

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
