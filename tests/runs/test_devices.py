"""The first line of a training, on processors and on GPUs that stand in."""

import re
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from annotated_transformer.errors import UserError
from annotated_transformer.runs import devices
from annotated_transformer.runs.devices import (
    allow_tf32,
    attention_kernel,
    choose_device,
    device_line,
)
from annotated_transformer.runs.recipes import recipe_of

PLAIN = recipe_of()
BF16 = replace(PLAIN.train, bf16=True)
matmul = torch.backends.cuda.matmul


@pytest.mark.parametrize(
    ("given", "capability", "precision"),
    [
        ({}, (9, 0), "float32"),
        ({"tf32": True}, (9, 0), "TF32"),
        ({"tf32": True}, (7, 5), "float32"),  # an older GPU has none
        ({"tf32": True, "train": BF16}, (9, 0), "bfloat16"),
    ],
)
def test_the_line_of_a_gpu(monkeypatch, given, capability, precision):
    monkeypatch.setattr(torch.cuda, "get_device_name", "NVIDIA {}".format)
    monkeypatch.setattr(devices, "get_device_capability", lambda _: capability)
    recipe = replace(PLAIN, processes=4, **given)
    told = f"training on cuda:1 (NVIDIA cuda:1) in {precision}, 4 processes"
    assert device_line("cuda:1", recipe) == told


def test_the_line_of_a_cpu(monkeypatch):
    line = device_line("cpu", replace(PLAIN, tf32=True))
    assert line.startswith("training on cpu (")
    assert line.endswith(") in float32, 1 process")
    for kind, slow in (("AVX2", True), ("AVX512", False)):
        monkeypatch.setattr(devices, "get_cpu_capability", lambda k=kind: k)
        line = device_line("cpu", replace(PLAIN, train=BF16))
        assert ") in bfloat16" in line and ("slow with AVX2" in line) == slow


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_available():
    """The version says where PyTorch is its build for CPUs alone."""
    told = re.escape(f"not available to PyTorch {torch.__version__}; choose")
    with pytest.raises(UserError, match=told):
        choose_device("cuda")


def state():
    """Both of PyTorch's switches, as far as they can be read."""
    try:
        older = torch.get_float32_matmul_precision(), matmul.allow_tf32
    except RuntimeError:
        older = None
    return older, matmul.fp32_precision


@pytest.mark.skipif(
    not hasattr(matmul, "fp32_precision"), reason="a PyTorch before 2.9"
)
@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("before", [None, "high", "ieee", "tf32"])
def test_tf32_is_as_it_was_afterwards(before, allowed):
    """Whichever switch was set: the older one, the newer one, or none."""
    untouched = matmul.fp32_precision
    try:
        if before == "high":
            torch.set_float32_matmul_precision(before)
        elif before:
            matmul.fp32_precision = before
        found = state()
        with (
            pytest.raises(KeyError),
            allow_tf32(torch.device("cuda"), allowed),
        ):
            assert matmul.allow_tf32 == allowed
            assert matmul.fp32_precision == ("tf32" if allowed else "ieee")
            raise KeyError
        assert state() == found
        with allow_tf32(torch.device("cpu"), allowed):
            assert state() == found  # a CPU has no such thing
    finally:
        torch.set_float32_matmul_precision("highest")
        matmul.fp32_precision = untouched


def test_attention_by_products_has_the_fused_kernels_gradients():
    cpu, grads = torch.device("cpu"), []
    q, k, v = torch.randn(3, 2, 4, 7, 8, dtype=torch.bfloat16)
    for kernel in (attention_kernel(cpu, True), attention_kernel(cpu, False)):
        inputs = [x.clone().requires_grad_() for x in (q, k, v)]
        with kernel:
            F.scaled_dot_product_attention(*inputs).square().sum().backward()
        grads.append(torch.stack([x.grad for x in inputs]).float())
    torch.testing.assert_close(*grads, rtol=0.05, atol=0.05)
