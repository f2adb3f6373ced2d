"""Random numbers: PyTorch's own stream belongs to all that runs here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["Drawing", "random_numbers_kept"]


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


class Drawing(TorchFunctionMode):
    """In this thread, draw the numbers of `torch.nn.init` from one generator.

    PyTorch's own is that of all threads, whose draws would mix.
    """

    def __init__(self, generator: torch.Generator):
        super().__init__()
        self.generator = generator

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: tuple[type, ...],
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        """Call func, with the generator if it names one."""
        kwargs = kwargs or {}
        if "generator" in kwargs:
            kwargs = {**kwargs, "generator": self.generator}
        return func(*args, **kwargs)
