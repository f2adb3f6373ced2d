"""Count what a block of code would cost a GPU, on any machine.

    with counted() as seen:
        next(training)
    assert seen.calls.total() <= 510 and not seen.waits

`calls` are operations by name, but for views and memory that is only
reserved. `waits` are the places where the program must wait for the GPU: a
number, or a shape that depends on numbers, is asked for, or data cross from
one device to another and block. On a CPU nothing crosses, so each tensor is
taken for one on the device, and every tensor made of Python's numbers or
read as such for a copy. What really crosses is seen if the tensors of the
block are on the device "meta". Only the thread that counts is watched.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

Args = tuple[Any, ...]  # of an operation
Options = dict[str, Any]
WHOLE = torch._C.DispatchKey.CompositeImplicitAutograd
READ = {Tensor.tolist, Tensor.numpy, Tensor.__array__}
WAITING = {  # the answer is a number, or its shape depends on numbers
    "_local_scalar_dense",
    "_unique",
    "_unique2",
    "bincount",
    "equal",
    "is_nonzero",
    "masked_select",
    "nonzero",
    "unique_consecutive",
    "unique_dim",
    "unique_dim_consecutive",
}
INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_"}
COPIES = {"_to_copy", "copy_", "copy", "_copy_from"}


@dataclass
class Seen:
    """Operations and synchronisations by name, and how many."""

    calls: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)


def waits(name: str, args: Args, kwargs: Options) -> bool:
    """Whether a GPU's answer has to be waited for."""
    if name in WAITING:
        return True
    if name == "repeat_interleave":
        return isinstance(args[-1], Tensor) and not kwargs.get("output_size")
    if name in INDEXED:
        places = [place for place in args[1] if place is not None]
        return any(
            place.dtype in (torch.bool, torch.uint8)
            or place.device != args[0].device
            for place in places
        )
    if name in COPIES:
        return crosses(name, args, kwargs)
    return name == "lift_fresh"  # of Python's numbers


def crosses(name: str, args: Args, kwargs: Options) -> bool:
    """Whether a copy goes from one device to another, and blocks."""
    if name == "_to_copy":
        there, here = kwargs.get("device"), args[0].device
        blocks = not kwargs.get("non_blocking")
    else:
        there, here = args[0].device, args[1].device
        blocks = not (kwargs.get("non_blocking") or args[2:3] == (True,))
    return blocks and there is not None and torch.device(there) != here


class Watch(TorchDispatchMode):
    """Sees every operation below autograd."""

    def __init__(self, seen: Seen):
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch's
        self.seen = seen

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Args = (),
        kwargs: Options | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), WHOLE):
            with self:  # so they come without autograd: now its parts
                return func._op_dk(WHOLE, *args, **kwargs)
        name = func.overloadpacket.__name__
        if waits(name, args, kwargs):
            self.seen.waits[str(func)] += 1
        if not func.is_view and not name.startswith(("empty", "new_empty")):
            self.seen.calls[str(func)] += 1
        return func(*args, **kwargs)


class Reads(TorchFunctionMode):
    """Sees what is brought to a CPU, and what is read there.

    Neither is an operation if it was there before. What has been brought,
    and seen to be, is read for nothing.
    """

    def __init__(self, seen: Seen):
        super().__init__()
        self.seen = seen

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Args = (),
        kwargs: Options | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        to_cpu = func is Tensor.cpu or (func is Tensor.to and "cpu" in args)
        if to_cpu and args[0].device.type == "cpu":  # else it is a copy
            if not kwargs.get("non_blocking"):
                self.seen.waits[func.__name__] += 1
            args[0].was_brought = True
        if func in READ and not hasattr(args[0], "was_brought"):
            self.seen.waits[func.__name__] += 1
        return func(*args, **kwargs)


@contextmanager
def counted() -> Iterator[Seen]:
    """Count the operations and synchronisations of a block of code."""
    seen = Seen()
    with Reads(seen), Watch(seen):
        yield seen
