"""Many devices: processes that make every update together.

`torchrun` starts them. Each has the whole model, reads batches of its own,
and gives its gradient to the sum of all, so each makes the same update.

The sum is one call on all gradients as one vector. PyTorch's
DistributedDataParallel sums them in buckets while the backward pass still
runs, which hides the time that it takes; but it orders its buckets anew after
its first update, and the order in which numbers are added up changes with
them: with three processes or more a resumed run is no longer the
uninterrupted one to the last bit. One vector adds up in one order always.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from annotated_transformer.errors import UserError, out_of_memory

__all__ = ["ALONE", "Processes", "joined", "launched"]

PATIENCE = timedelta(hours=3)  # the first may learn subwords as long as that

Number = TypeVar("Number", int, float, Tensor)


@dataclass(frozen=True)
class Processes:
    """The processes of a run; what is summed is summed over all of them.

    UserError if the connection fails, because another process has ended or
    for another cause: this one cannot go on either.
    """

    rank: int = 0  # this process, counted from 0
    size: int = 1  # how many there are

    def seed(self, seed: int) -> int:
        """A seed of this process's own; the first keeps the one given."""
        return seed + 1_000_000_007 * self.rank

    def sum(self, number: Number) -> Number:
        """The sum of the numbers that all processes give.

        A number in a tensor is summed on its device, and not waited for.
        """
        return self._reduce(number, dist.ReduceOp.SUM)

    def largest(self, number: Number) -> Number:
        """The largest of the numbers that all processes give."""
        return self._reduce(number, dist.ReduceOp.MAX)

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.sum(0)

    def sum_gradients(self, model: nn.Module) -> None:
        """Put the sum of all processes' gradients in place of each one's."""
        if self.size > 1:
            # an update gives every parameter a gradient
            gradients = [cast(Tensor, p.grad) for p in model.parameters()]
            vector = parameters_to_vector(gradients)
            with others_alive():
                dist.all_reduce(vector)
            vector_to_parameters(vector, gradients)

    def _reduce(self, number: Number, how: dist.ReduceOp.RedOpType) -> Number:
        if self.size == 1:
            return number
        if isinstance(number, Tensor):
            with others_alive():
                dist.all_reduce(number, how)
            return number
        tensor = torch.tensor(number, dtype=torch.double)
        with others_alive():
            dist.all_reduce(tensor, how)
        return type(number)(tensor.item())


ALONE = Processes()


@contextmanager
def others_alive() -> Iterator[None]:
    """Turn a broken connection into an error that says what happened.

    Where this process has too little memory, that is another error.
    """
    try:
        yield
    except RuntimeError as error:
        if out_of_memory(error):
            raise
        raise UserError(
            f"the processes of this run have lost each other ({cause(error)});"
            " if another one has ended, its own message says why; with "
            "`resume=True` the run goes on after the last checkpoint"
        ) from error


def cause(error: BaseException) -> str:
    """What a library says of an error: its first line.

    gloo's begins with the place in its source, which tells a user nothing.
    NCCL's has a number, and says at its end what failed.
    """
    first, _, rest = str(error).strip().partition("\n")
    _, named, last = rest.partition("Last error:")
    told = [re.sub(r"^\[\S+:\d+\] ", "", first), " ".join(last.split())]
    return "; ".join(told) if named else told[0]


def launched() -> Processes:
    """The processes that torchrun has started, as it says; or one alone."""
    said = [os.environ.get("RANK") or 0, os.environ.get("WORLD_SIZE") or 1]
    try:
        rank, size = map(int, said)
        if not 0 <= rank < size:
            raise ValueError
    except ValueError as error:
        raise UserError(
            f"RANK is {said[0]} and WORLD_SIZE is {said[1]}: not a process "
            "and their number; unset both, or start with torchrun"
        ) from error
    return Processes(rank, size)


@contextmanager
def joined(device: str) -> Iterator[Processes]:
    """Connect the processes that torchrun has started.

    The first goes on at once, the others when it calls `wait`: it checks
    everything and begins the run, so that what is wrong is said once.
    """
    processes = launched()
    if processes.size == 1:
        yield processes
        return
    if missing := {"RANK", "MASTER_ADDR", "MASTER_PORT"} - os.environ.keys():
        raise UserError(
            f"WORLD_SIZE is {processes.size}, but torchrun has not started "
            f"this ({min(missing)} is not set); start with torchrun, or "
            "unset WORLD_SIZE"
        )
    backend = "gloo"  # on tensors of the CPU, such as counts
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
        backend = "cpu:gloo,cuda:nccl"
    with others_alive():
        dist.init_process_group(backend, timeout=PATIENCE)
    if processes.rank > 0:
        processes.wait()
    yield processes
    dist.destroy_process_group()
