"""Random numbers: PyTorch's own stream belongs to all that runs here."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["random_numbers_kept"]


@contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Leave PyTorch's random numbers at the end as they were found.

    Those of the CPU, and of GPUs that are in use already; others begin
    afterwards with the seed that was set before.
    """
    number = torch.cuda.device_count() if torch.cuda.is_initialized() else 0
    seed = torch.initial_seed()
    with torch.random.fork_rng(devices=range(number)):
        try:
            yield
        finally:
            torch.manual_seed(seed)
