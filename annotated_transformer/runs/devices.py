"""Devices: what a training computes on, and how precisely."""

import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.system.machine import processor

__all__ = [
    "allow_tf32",
    "attention_kernel",
    "bf16_slowdown",
    "device_line",
    "idle_gpu",
]

AMPERE = (8, 0)  # the first compute capability with TF32


def device_line(device: str, recipe: Recipe) -> str:
    """One line: the device, its name and memory, precision, processes."""
    about = processor("cpu")
    if device.startswith("cuda"):
        memory = torch.cuda.get_device_properties(device).total_memory
        name = torch.cuda.get_device_name(device)
        about = f"{name}, {memory / 1e9:.1f} GB"
    several = "processes" if recipe.processes > 1 else "process"
    return (
        f"training on {device} ({about}) in {precision(device, recipe)}, "
        f"{recipe.processes} {several}"
    )


def precision(device: str, recipe: Recipe) -> str:
    """How matrix products are computed there, as far as it can be asked."""
    if recipe.train.bf16:
        return "bfloat16"
    if recipe.tf32 and device.startswith("cuda"):
        capability = torch.cuda.get_device_capability(device)
        return "TF32" if capability >= AMPERE else "float32"
    return "float32"


def idle_gpu() -> str | None:
    """What to install where an NVIDIA GPU waits for another PyTorch."""
    driver = Path("/proc/driver/nvidia/version").exists()
    if torch.version.cuda or not (driver or shutil.which("nvidia-smi")):
        return None
    release = torch.__version__.partition("+")[0]
    return (
        "this machine has an NVIDIA driver, but its PyTorch "
        f"({torch.__version__}) is built for CPUs alone; for the GPU, "
        f"pip install --force-reinstall torch=={release} on Linux, and "
        "elsewhere the command that pytorch.org/get-started gives"
    )


def attention_kernel(
    device: torch.device, bf16: bool
) -> AbstractContextManager[object]:
    """A context in which attention takes the kernel that trains faster.

    PyTorch's fused kernel for CPUs is slow on the way back in bfloat16; there
    plain matrix products make a whole update 1.9 times as fast.
    """
    if bf16 and device.type == "cpu":
        return sdpa_kernel(SDPBackend.MATH)
    return nullcontext()


def bf16_slowdown() -> float:
    """How many times as long as in float32 a product in bfloat16 takes here.

    A trial of a few milliseconds: processors that lack the instructions
    compute as if they had them, and nothing that PyTorch says of a processor
    tells how slowly.
    """
    shortest = {}
    for kind in (torch.float32, torch.bfloat16):
        x, seconds = torch.ones(256, 256, dtype=kind), []
        for _ in range(4):
            began = time.process_time()
            torch.mm(x, x)
            seconds.append(time.process_time() - began)
        shortest[kind] = min(seconds)
    return shortest[torch.bfloat16] / shortest[torch.float32]


@contextmanager
def allow_tf32(device: torch.device, allowed: bool) -> Iterator[None]:
    """On a GPU, multiply float32 in TF32 or not; afterwards as before.

    TF32 keeps 10 bits of each factor's 23. Whoever calls may have set the
    older of PyTorch's two switches or the newer; torch.compile reads the
    older, which raises where only the newer was set.
    """
    if device.type != "cuda":
        yield
        return
    matmul = torch.backends.cuda.matmul
    newer = getattr(matmul, "fp32_precision", None)  # since PyTorch 2.9
    try:
        older = torch.get_float32_matmul_precision()
    except RuntimeError:
        older = "highest"
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(older)
        if newer is not None:
            matmul.fp32_precision = newer
