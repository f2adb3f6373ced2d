"""Devices: which one a run computes on, and how precisely."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch.backends.cpu import get_cpu_capability
from torch.cuda import get_device_capability
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..errors import UserError
from ..system.machine import processor
from ..system.processes import launched
from .recipes import Recipe

AMPERE = (8, 0)  # the first compute capability with TF32


def choose_device(name: str | None = None) -> str:
    """The device of that name, or the fastest at hand; UserError if absent.

    Each of several processes has a GPU of its own.
    """
    here = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name is None:
        name = next(kind for kind in here if here[kind])
    elif not here.get(name.partition(":")[0]):
        raise UserError(
            f"device {name!r} is not available to PyTorch "
            f"{torch.__version__}; "
            f"choose from {', '.join(kind for kind in here if here[kind])}"
        )
    if launched().size == 1 or name == "cpu" or ":" in name:
        return name
    own = int(os.environ.get("LOCAL_RANK", 0))
    count = torch.cuda.device_count()
    if own >= count:
        raise UserError(
            f"device {name!r}: {own + 1} processes or more on a machine of "
            f"{count} GPUs; start one process a GPU, or use `device='cpu'`"
        )
    return f"cuda:{own}"


def device_line(device: str, recipe: Recipe) -> str:
    """One line: the device and its name, the precision, the processes."""
    precision, gpu = "float32", device.startswith("cuda")
    if recipe.train.bf16:
        precision = "bfloat16"
        if device == "cpu" and get_cpu_capability() == "AVX2":
            precision += " (slow with AVX2 alone: use `bf16=False`)"
    elif recipe.tf32 and gpu and get_device_capability(device) >= AMPERE:
        precision = "TF32"
    several = "processes" if recipe.processes > 1 else "process"
    return (
        f"training on {device} ({processor(device)}) in {precision}, "
        f"{recipe.processes} {several}"
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
