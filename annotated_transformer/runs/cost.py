"""What an update costs: seconds to compute and to exchange, and memory.

Several devices compute batches of their own, and then sum their gradients,
each by sending parts of them to the next one in a ring.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from ..data import Batch
from ..system.processes import Processes
from ..training import Objective, TrainConfig, accumulate

SECONDS = 3.0  # that batches are timed for
SOON = 1.0  # seconds: a batch that takes longer need not be larger
STEPS = 3
SMALL, LARGE, TIMES = 2**16, 2**26, 7  # bytes that are exchanged, how often


class Cost(NamedTuple):
    """What training costs on a device."""

    token: float  # seconds of a target token, forward and back
    step: float  # seconds of the rest of an update
    kept: float  # bytes of a target token, from forward to backward

    def seconds(self, tokens: float) -> float:
        """What a device computes in an update with so many target tokens."""
        return tokens * self.token + self.step


def first_rows(batch: Batch, rows: int) -> Batch:
    """A batch of the first sentences of another one."""
    here = batch.places < rows * batch.labels.size(1)
    return Batch(
        batch.source[:rows],
        batch.inputs[:rows],
        batch.labels[:rows],
        batch.places[here],
        batch.targets[here],
    )


def kept_bytes(model: nn.Module, loss: Callable[[], Tensor]) -> int:
    """The memory that a loss keeps for its backward pass, without weights."""
    weights = {x.untyped_storage().data_ptr() for x in model.parameters()}
    kept: dict[int, int] = {}

    def count(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return x

    with saved_tensors_hooks(count, lambda x: x):
        graph = loss()  # which holds it all until it has been counted
    total = sum(kept[place] for place in kept.keys() - weights)
    del graph
    return total


def measured_cost(
    model: nn.Module,
    batches: Iterator[Batch],
    optimizer: torch.optim.Optimizer,
    config: TrainConfig,
    objective: Objective,
) -> Cost:
    """Time some batches and steps, which change the model.

    Of batches that take long only the first sentences are taken.
    """
    device = next(model.parameters()).device
    began, rows = time.monotonic(), 1
    timed: list[tuple[float, int]] = []
    batch = first_rows(next(batches).to(device), rows)
    while time.monotonic() < began + SECONDS or len(timed) < 2:
        started = time.monotonic()
        loss, tokens = accumulate(model, [batch], config, objective)
        loss.item()  # which waits for the device
        timed.append((time.monotonic() - started, tokens))
        optimizer.zero_grad()
        whole = next(batches).to(device)
        if timed[-1][0] < SOON and rows < len(whole.labels):
            rows *= 2
            timed.clear()
        batch = first_rows(whole, rows)
    kept = kept_bytes(model, lambda: objective(model, batch, config))
    accumulate(model, [batch], config, objective)
    steps = []
    for _ in range(1 + STEPS):  # the first one makes the moments
        started = time.monotonic()
        norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        norm.item()
        steps.append(time.monotonic() - started)
    seconds = median(took / tokens for took, tokens in timed)
    return Cost(seconds, median(steps[1:]), kept / batch.tokens)


@dataclass(frozen=True)
class Ring:
    """The connections of devices, by what an exchange of theirs takes."""

    start: float  # seconds before a part arrives, whatever its size
    bandwidth: float  # bytes a second from each device to the next

    def seconds(self, size: int, devices: int) -> float:
        """How long devices take to sum vectors of so many bytes.

        Each sends a part of size / devices in each of 2 (devices - 1) turns.
        """
        part = size / devices
        return 2 * (devices - 1) * (self.start + part / self.bandwidth)

    @classmethod
    def measured(cls, processes: Processes, device: str) -> "Ring":
        """The constants of two processes or more, by sums of vectors."""
        turns = 2 * (processes.size - 1)
        small, large = (
            median(sums(processes, size, device)) / turns
            for size in (SMALL, LARGE)
        )
        slope = (large - small) * processes.size / (LARGE - SMALL)
        start = small - SMALL / processes.size * slope
        return cls(max(0.0, start), 1 / slope)


def sums(processes: Processes, size: int, device: str) -> list[float]:
    """The seconds of sums of a vector of so many bytes, but the first."""
    x, found = torch.zeros(size // 4, device=device), []
    for _ in range(TIMES):
        processes.wait()
        started = time.monotonic()
        processes.summed(x)[0].item()
        found.append(time.monotonic() - started)
    return found[1:]
