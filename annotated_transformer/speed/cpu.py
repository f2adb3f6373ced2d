"""What training on a CPU needs to be fast, and what no chapter is about."""

import ctypes
import os
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache, partial

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

__all__ = [
    "attention_kernel",
    "draw_fewer_numbers",
    "keep_freed_memory",
    "one_thread_in_forks",
    "return_freed_memory",
]

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of the GNU C library's malloc.h
LARGEST = 2**31 - 1
UPDATES_BETWEEN_RETURNS = 60  # with 20, a fifth of the time is for clearing


def keep_freed_memory() -> bool:
    """Tell the GNU C library not to hand freed memory back at once.

    It returns every block of more than 32 MB to the system as soon as it is
    freed, and the system clears each of its pages before the next update may
    use it again: up to a quarter of a training's time on a CPU, for nothing.
    With another C library nothing is changed, and the answer is False.
    """
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_MAX, 0) and mallopt(M_TRIM_THRESHOLD, LARGEST))


@cache
def one_thread_in_forks() -> None:
    """Have what this process forks compute with one thread.

    OpenMP's other threads are not there in a fork, and whoever gave them
    work would wait for ever. It is enough to ask for it once.
    """
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


def return_freed_memory() -> None:
    """Hand back to the system what is free.

    Batches differ in shape, so memory that is kept falls into pieces, and a
    training holds more of it with every hundred updates.
    """
    with suppress(OSError, AttributeError):  # another C library kept nothing
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def attention_kernel(
    device: torch.device, bf16: bool
) -> AbstractContextManager:
    """A context in which attention takes the kernel that trains faster.

    PyTorch's fused kernel for CPUs is slow on the way back in bfloat16; there
    plain matrix products make a whole update 1.5 to 1.7 times as fast.
    """
    if bf16 and device.type == "cpu":
        return sdpa_kernel(SDPBackend.MATH)
    return nullcontext()


def drop(
    layer: nn.Dropout, generator: torch.Generator | None, x: Tensor
) -> Tensor:
    """What the layer does, with 16 random bits for each entry of x.

    PyTorch draws 64 to drop one or to keep it, which is a seventh of a small
    model's update. With 16 the probability is right to 1e-5.
    """
    if not layer.training:
        return x
    seed = torch.initial_seed()
    if generator is not None and generator.initial_seed() != seed:
        generator.manual_seed(seed)
    words = torch.empty(-(-x.numel() // 4), dtype=torch.int64)
    bits = words.random_(-(2**63), None, generator=generator)
    bits = bits.view(torch.int16)
    least = min(round(layer.p * 2**16), 2**16 - 1) - 2**15
    keep = bits[: x.numel()].view(x.shape) >= least
    return x * keep.to(x.dtype).mul_(1 / (1 - layer.p))


def draw_fewer_numbers(
    model: nn.Module, generator: torch.Generator | None = None
) -> None:
    """Have the dropout of a model on a CPU draw a quarter of the bits.

    A generator of its own begins where PyTorch's does, whenever that has got
    another seed. What other threads draw meanwhile then changes nothing.
    """
    for layer in model.modules():
        if type(layer) is nn.Dropout:
            layer.forward = partial(drop, layer, generator)
