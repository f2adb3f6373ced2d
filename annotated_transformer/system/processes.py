"""Processes that make every update together.

`torchrun` starts them, each on a device of its own. Each has the whole model
and computes batches of its own; PyTorch's DistributedDataParallel takes the
mean of their gradients while the backward pass still runs.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

# Imported while there is a group, as DistributedDataParallel would, it keeps
# that for ever, whose threads then meet the end of the interpreter.
import torch.distributed.nn
from torch import Tensor, nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from ..errors import UserError, out_of_memory

PATIENCE = timedelta(hours=3)  # the first may learn subwords as long as that
APART = 2_654_435_769  # 2^32 by the golden ratio: its multiples lie far apart


@dataclass(frozen=True)
class Processes:
    """The processes of a run; what is summed is summed over all of them.

    UserError if the connection fails, because another process has ended or
    for another cause: this one cannot go on either.
    """

    rank: int = 0  # this process, counted from 0
    size: int = 1  # how many there are

    def largest(self, number: int) -> int:
        """The largest of the numbers that all processes give."""
        return int(self.summed(torch.tensor(number), dist.ReduceOp.MAX))

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.largest(0)

    def summed(
        self, x: Tensor, how: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM
    ) -> Tensor:
        """The tensor, which becomes the sum of those of all processes."""
        if self.size > 1:
            with others_alive():
                dist.all_reduce(x, how)
        return x


class Loss(nn.Module):
    """The loss of a model as a module that can be wrapped.

    It has the parameters alone: buffers are each process's own.
    """

    def __init__(self, model: nn.Module, loss: Callable[[Any], Tensor]):
        super().__init__()
        self.weights, self.loss = nn.ParameterList(model.parameters()), loss
        self.names = [name for name, _ in model.named_parameters()]

    def check_gradients(self) -> None:
        """UserError if the loss has not reached all that is to be learned.

        The others would wait for the gradient of that for ever.
        """
        left = [
            name
            for name, weight in zip(self.names, self.weights, strict=True)
            if weight.requires_grad and weight.grad is None
        ]
        if left:
            raise UserError(
                f"the loss does not depend on {', '.join(left[:3])}, which "
                "several processes cannot learn together: take it out of the "
                "model, or freeze it by requires_grad_(False)"
            )

    def forward(self, batch: Any) -> Tensor:
        """The loss summed over a batch's targets."""
        return self.loss(batch)


class Together:
    """Accumulates the gradient of an update over all processes.

    Its batches are dealt to as many hands as processes began the run. Each
    hand draws random numbers of its own, whichever process has it now.
    """

    def __init__(self, processes: Processes, hands: int):
        self.processes = processes
        self.hands = range(processes.rank, hands, processes.size)
        self.loss: Any = None

    def __call__(
        self,
        model: nn.Module,
        batches: Sequence[Any],
        config: Any,
        objective: Callable[[Any, Any, Any], Tensor],
    ) -> tuple[Tensor, int]:
        """Add up the gradients of batches: this process's hands, in order.

        The mean loss over the target tokens of all processes, and how many
        these are.
        """
        seed, size = torch.initial_seed(), self.processes.size
        device, parts = next(model.parameters()).device, []
        own = torch.tensor(sum(batch.tokens for batch in batches))
        tokens = int(self.processes.summed(own))
        if self.loss is None:
            loss = Loss(model, lambda x: objective(model, x, config))
            self.loss = (
                loss if size == 1 else shared(loss, batches[0].to(device))
            )
        each = len(batches) // len(self.hands)
        for place, batch in enumerate(batches):
            if place % each == 0:
                torch.manual_seed(seed + APART * self.hands[place // each])
            silent = size > 1 and place + 1 < len(batches)
            with self.loss.no_sync() if silent else nullcontext():
                part = self.loss(batch.to(device)) * (size / tokens)
                with others_alive():
                    part.backward()
            parts.append(part.detach())
        return self.processes.summed(torch.stack(parts).sum() / size), tokens


def shared(loss: Loss, batch: Any) -> DistributedDataParallel:
    """The loss, of which each backward pass has the mean of all gradients.

    The first one finds the order in which later ones add them up. It is made
    here, and its gradient dropped: as an update, it would add up in another
    order, and a resumed run, which begins with it, would end otherwise.
    """
    with others_alive():
        found = DistributedDataParallel(loss, gradient_as_bucket_view=True)
        found(batch).backward()
    loss.check_gradients()
    found.zero_grad()
    # Attributes are let go of in their order. Were the reducer the last that
    # has the connection, it would wait, while nobody else can run Python, for
    # a thread of gloo that is about to.
    vars(found)["connection"] = found.process_group
    return found


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
    size = int(os.environ.get("WORLD_SIZE") or 1)
    if size == 1:  # a RANK, where there is one, is another program's
        return ALONE
    return Processes(int(os.environ.get("RANK") or 0), size)


def restarts() -> int:
    """How often torchrun has started all processes again, as one had ended."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))


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
        store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
        # torchrun keeps its store, where those that have ended left addresses
        dist.init_process_group(
            backend,
            store=PrefixStore(f"start {restarts()}", store),
            rank=rank,
            world_size=size,
            timeout=PATIENCE,
        )
    yield processes
    dist.destroy_process_group()
