"""Forks: what a process forks must not wait for threads that it lacks."""

import os
from functools import cache, partial

import torch

__all__ = ["one_thread_in_forks"]


@cache
def one_thread_in_forks() -> None:
    """Have what this process forks compute with one thread.

    OpenMP's other threads are not there in a fork, and whoever gave them
    work would wait for ever. It is enough to ask for it once. Python cannot
    take it back, so only those who ask for speed get it.
    """
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))
