"""What makes a CPU fast without changing a result: memory and products."""

import ctypes

import torch

__all__ = ["fast_products", "keep_freed_memory", "use_cpu_well"]

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of the GNU C library's malloc.h
LARGEST = 2**31 - 1


def use_cpu_well() -> None:
    """Both of the below; for a process that is ours, not a library's."""
    keep_freed_memory()
    fast_products()


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


def fast_products(tolerance: float = 1e-5) -> bool:
    """Let oneDNN multiply float32 matrices, where it is exact.

    PyTorch's default on x86, MKL, leaves half the speed of some processors
    unused. Allowed a lower precision, PyTorch asks oneDNN instead, which
    computes in float32 all the same, except on processors that multiply
    bfloat16 much faster. So it is allowed and tried on random matrices; a
    relative error above the tolerance takes the permission back.
    """
    allowed = torch.get_float32_matmul_precision()
    draw = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 256, 256, generator=draw, dtype=torch.float64)
    torch.set_float32_matmul_precision("medium")
    error = (a.float() @ b.float() - a @ b).norm() / (a @ b).norm()
    if error < tolerance:
        return True
    torch.set_float32_matmul_precision(allowed)
    return False
