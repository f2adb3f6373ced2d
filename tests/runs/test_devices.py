"""The first line of a training, on processors and on GPUs that stand in."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from annotated_transformer.errors import UserError
from annotated_transformer.runs.devices import (
    allow_tf32,
    choose_device,
    device_line,
    idle_gpu,
)
from annotated_transformer.runs.recipes import recipe_of

PLAIN = recipe_of()
matmul = torch.backends.cuda.matmul


@pytest.mark.parametrize(
    "tf32, bf16, capability, precision",
    [
        (False, False, (9, 0), "float32"),
        (True, False, (9, 0), "TF32"),
        (True, False, (7, 5), "float32"),  # an older GPU has none
        (True, True, (9, 0), "bfloat16"),
    ],
)
def test_the_line_of_a_gpu(monkeypatch, tf32, bf16, capability, precision):
    about = SimpleNamespace(total_memory=85_028_000_000)
    for name, answer in [
        ("get_device_name", "NVIDIA H100"),
        ("get_device_properties", about),
        ("get_device_capability", capability),
    ]:
        monkeypatch.setattr(torch.cuda, name, lambda device, x=answer: x)
    config = replace(PLAIN.train, bf16=bf16)
    recipe = replace(PLAIN, train=config, tf32=tf32, processes=4)
    assert device_line("cuda:1", recipe) == (
        f"training on cuda:1 (NVIDIA H100, 85.0 GB) in {precision}, "
        "4 processes"
    )


def test_the_line_of_a_cpu():
    line = device_line("cpu", replace(PLAIN, tf32=True))
    assert line.startswith("training on cpu (")
    assert line.endswith(") in float32, 1 process")


@pytest.fixture
def driver(monkeypatch):
    """A machine with NVIDIA's driver and a PyTorch for CPUs alone."""
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch, "__version__", "2.13.0+cpu")
    found = {"nvidia-smi": "/usr/bin/nvidia-smi"}
    monkeypatch.setattr(shutil, "which", found.get)
    return found


def test_a_gpu_that_waits_for_another_build(driver, monkeypatch):
    told = idle_gpu()
    assert "(2.13.0+cpu) is built for CPUs alone" in told
    assert "pip install --force-reinstall torch==2.13.0 on Linux" in told
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="not at hand.* is built for CPUs"):
            choose_device("cuda")
    driver.clear()
    there = "/proc/driver/nvidia/version"
    monkeypatch.setattr(Path, "exists", lambda path: str(path) == there)
    assert idle_gpu() == told
    monkeypatch.setattr(Path, "exists", lambda path: False)
    assert idle_gpu() is None
    driver["nvidia-smi"] = "here again"
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert idle_gpu() is None


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
