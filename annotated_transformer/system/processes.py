"""Processes that make every update together, and signals that stop them.

`torchrun` starts them, each on a device of its own. Each has the whole model,
reads batches of its own, and gives its gradient to the mean of all, so each
makes the same update.

The mean is one call on all gradients as one vector. PyTorch's
DistributedDataParallel sums them in buckets while the backward pass still
runs, which hides the time that it takes; but it orders its buckets anew after
its first update, and the order in which numbers are added up changes with
them: with three processes or more a resumed run is no longer the
uninterrupted one to the last bit. One vector adds up in one order always.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ..errors import UserError, out_of_memory

PATIENCE = timedelta(hours=3)  # the first may learn subwords as long as that


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
        return (seed + 1_000_000_007 * self.rank) % 2**32

    def largest(self, number: int) -> int:
        """The largest of the numbers that all processes give."""
        return self._reduce(number, dist.ReduceOp.MAX)

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.largest(0)

    def mean_gradients(
        self, model: nn.Module, loss: Tensor, tokens: int
    ) -> tuple[Tensor, int]:
        """Put the mean of all gradients in place of each process's own.

        A process weighs as much as it has tokens. Returns the mean of the
        losses and the number of all tokens.
        """
        total = self._reduce(tokens, dist.ReduceOp.SUM)
        share = tokens / total
        # an update gives all parameters a gradient that are not frozen
        found = (parameter.grad for parameter in model.parameters())
        gradients = [gradient for gradient in found if gradient is not None]
        vector = parameters_to_vector(gradients).mul_(share)
        loss = loss * share
        with others_alive():
            dist.all_reduce(vector)
            dist.all_reduce(loss)
        vector_to_parameters(vector, gradients)
        return loss, total

    def _reduce(self, number: int, how: dist.ReduceOp.RedOpType) -> int:
        if self.size == 1:
            return number
        tensor = torch.tensor(number)  # a device is not waited for
        with others_alive():
            dist.all_reduce(tensor, how)
        return int(tensor)


ALONE = Processes()


@contextmanager
def others_alive() -> Iterator[None]:
    """Turn a broken connection into an error that says what happened.

    Where this process has too little memory, that is another error.
    """
    try:
        yield
    except (RuntimeError, ValueError) as error:  # the latter: no torchrun
        if out_of_memory(error):
            raise
        cause = str(error).strip().partition("\n")[0]
        raise UserError(
            f"the processes of this run have lost each other ({cause}); if "
            "another one has ended, its own message says why; torchrun starts "
            "them, and with `resume=True` goes on after the last checkpoint"
        ) from error


def launched() -> Processes:
    """The processes that torchrun has started, as it says; or one alone."""
    rank, size = (os.environ.get(x) for x in ("RANK", "WORLD_SIZE"))
    return Processes(int(rank or 0), int(size or 1))


@contextmanager
def joined(device: str) -> Iterator[Processes]:
    """Connect the processes that torchrun has started."""
    processes = launched()
    if processes.size == 1:
        yield processes
        return
    backend = "gloo"  # on tensors of the CPU, such as counts
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
        backend = "cpu:gloo,cuda:nccl"
    with others_alive():
        dist.init_process_group(backend, timeout=PATIENCE)
    yield processes
    dist.destroy_process_group()


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT, SIGTERM and SIGHUP in a list in place of dying of them.

    A second Ctrl-C ends the program at once. Where SIGHUP is ignored, as
    nohup does, it still is. Only the main thread may do this; elsewhere the
    list stays empty.
    """
    received: list[int] = []

    def receive(number: int, frame: object) -> None:
        if number == signal.SIGINT and number in received:
            raise KeyboardInterrupt
        received.append(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup and signal.getsignal(hangup) != signal.SIG_IGN:
        numbers.append(hangup)
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, receive) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
