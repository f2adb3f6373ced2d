"""The first line of a training, on processors and on GPUs that stand in."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from annotated_transformer.errors import UserError
from annotated_transformer.runs.devices import (
    allow_tf32,
    device_line,
    idle_gpu,
)
from annotated_transformer.runs.prepare import choose_device
from annotated_transformer.runs.recipes import recipe_of

PLAIN = recipe_of()
matmul = torch.backends.cuda.matmul


@pytest.fixture
def gpu(monkeypatch):
    """A GPU of 85 GB, as far as its name goes."""
    about = SimpleNamespace(total_memory=85_028_000_000)
    given = {
        "get_device_name": lambda device: f"NVIDIA H100 ({device})",
        "get_device_properties": lambda device: about,
        "get_device_capability": lambda device: (9, 0),
    }
    for name, function in given.items():
        monkeypatch.setattr(torch.cuda, name, function)


@pytest.mark.parametrize(
    "tf32, bf16, precision",
    [
        (False, False, "float32"),
        (True, False, "TF32"),
        (False, True, "bfloat16"),
        (True, True, "bfloat16"),
    ],
)
def test_the_line_of_a_gpu(gpu, tf32, bf16, precision):
    config = replace(PLAIN.train, bf16=bf16)
    recipe = replace(PLAIN, train=config, tf32=tf32, processes=4)
    line = device_line("cuda:1", recipe)
    assert line == (
        "training on cuda:1 (NVIDIA H100 (cuda:1), 85.0 GB) in "
        f"{precision}, 4 processes"
    )


def test_an_older_gpu_has_no_tf32(gpu, monkeypatch):
    older = {"get_device_capability": lambda device: (7, 5)}
    monkeypatch.setattr(torch.cuda, *older.popitem())
    line = device_line("cuda", replace(PLAIN, tf32=True))
    assert line.endswith("in float32, 1 process")


@pytest.mark.skipif(
    not Path("/proc/meminfo").exists(), reason="not a Linux machine"
)
def test_the_line_of_a_cpu():
    line = device_line("cpu", replace(PLAIN, tf32=True))
    kilobytes = Path("/proc/meminfo").read_text().split()[1]
    assert f", {int(kilobytes) * 1024 / 1e9:.1f} GB) in float32" in line


def test_a_system_that_does_not_tell_its_memory(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    assert "GB" not in device_line("cpu", PLAIN)


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
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert idle_gpu() is None


def test_a_machine_without_a_driver(driver, monkeypatch):
    driver.clear()
    monkeypatch.setattr(Path, "exists", lambda path: False)
    assert idle_gpu() is None


def test_the_kernel_tells_of_the_driver(driver, monkeypatch):
    driver.clear()
    there = "/proc/driver/nvidia/version"
    monkeypatch.setattr(Path, "exists", lambda path: str(path) == there)
    assert "has an NVIDIA driver" in idle_gpu()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_asked_for_but_waits(driver):
    with pytest.raises(UserError, match="not at hand.*built for CPUs alone"):
        choose_device("cuda")


def test_train_begins_with_its_device(
    command, recipe_options, driver, tmp_path
):
    options = [x for x in recipe_options if x != "--device=cpu"]
    words = ("train", tmp_path / "model", *options, "--max-steps=1")
    if not torch.cuda.is_available():
        first, second, *_ = command(*words).err.splitlines()
        assert first.startswith("training on cpu (")
        assert first.endswith(" in float32, 1 process")
        assert second == idle_gpu()
    asked = ("train", tmp_path / "asked", *words[2:], "--device=cpu")
    ended = command(*asked, "--tf32")
    assert ended.status == 0 and "driver" not in ended.err
    about = json.loads((tmp_path / "asked" / "run.json").read_text())
    assert about["recipe"]["tf32"] is True
    ended = command(*asked, "--resume")
    assert "began with tf32 = True, now it is False" in ended.err


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
@pytest.mark.parametrize(
    "before", [None, "highest", "high", "none", "ieee", "tf32"]
)
def test_tf32_is_as_it_was_afterwards(before, allowed):
    """Whichever switch was set: the older one, the newer one, or none."""
    untouched = matmul.fp32_precision
    try:
        if before in ("highest", "high"):
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
