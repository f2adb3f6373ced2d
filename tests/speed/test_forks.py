"""A fork of a process that was asked for speed computes, with one thread."""

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_computes_without_the_threads_of_its_parent():
    """It would wait for them; a process of its own may hang."""
    program = """
import os, signal, sys, torch
from annotated_transformer.speed.fast_kernels import use_fast_kernels
torch.set_num_threads(2)
layer, x = torch.nn.Linear(512, 512), torch.randn(512, 512)
use_fast_kernels(layer)
with torch.inference_mode():
    expected = layer(x)
    child = os.fork()
    if not child:
        signal.alarm(20)
        torch.testing.assert_close(layer(x), expected)
        os._exit(0)
    assert torch.equal(layer(x), expected) and torch.get_num_threads() == 2
sys.exit(os.waitpid(child, 0)[1])
"""
    subprocess.run([sys.executable, "-c", program], check=True)
