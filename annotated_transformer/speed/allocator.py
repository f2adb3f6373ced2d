"""The allocator: freed memory that is kept for the next update.

It is the GNU C library's, and no setting of it can be read back: what is
changed here stays so in the whole process. Only programs of their own, such as
the commands, do that; the library never does.
"""

import ctypes
from contextlib import suppress

__all__ = ["keep_freed_memory", "return_freed_memory"]

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


def return_freed_memory() -> None:
    """Hand back to the system what is free.

    Batches differ in shape, so memory that is kept falls into pieces, and a
    training holds more of it with every hundred updates.
    """
    with suppress(OSError, AttributeError):  # another C library kept nothing
        ctypes.CDLL("libc.so.6").malloc_trim(0)
