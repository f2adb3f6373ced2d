"""Memory that a process keeps, to use it again."""

import ctypes
import platform

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h


def keep_freed_memory() -> bool:
    """Have glibc keep what is freed for what is allocated next.

    Otherwise large blocks go back to the kernel, which clears their pages
    before it gives them out again; and each update of a training frees what
    the next one allocates. It holds until the process ends, since glibc does
    not tell what it was set to. False where there is no glibc.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    # never shrink the heap, and map no block apart from it
    return bool(mallopt(M_TRIM_THRESHOLD, -1) and mallopt(M_MMAP_MAX, 0))
