"""What two processes take for an update, foretold and measured.

    python -m benchmarks.processes RECORD.json

What is foretold is the time that a dry run prints: what one process computes,
by a few batches, and a ring's exchange of the gradients, by sums of vectors.
The updates that are measured exchange theirs or not, in turns. A quiet
machine with two cores or more gives figures that repeat.
"""

import json
import multiprocessing
import os
import random
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch

from annotated_transformer.data import Batch, make_batch
from annotated_transformer.model import PRESETS, parameter_count, transformer
from annotated_transformer.optimizer import make_optimizer
from annotated_transformer.runs.cost import Ring, measured_cost
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.machine import environment
from annotated_transformer.system.memory import keep_freed_memory
from annotated_transformer.system.processes import Together, joined
from annotated_transformer.training import (
    TrainConfig,
    accumulate,
    batch_loss,
    updates,
)

from .command_line import record_path

PROCESSES, ROUNDS, LENGTH, VOCABULARY = 2, 5, 30, 8000
CASES = ("tiny", 1500), ("base", 600), ("base", 60)  # tokens of a batch


def made(tokens: int, seed: int) -> Iterator[Batch]:
    """Batches of sentences of the same length, drawn at random."""
    rng = random.Random(seed)
    while True:
        drawn = [
            [rng.randrange(4, VOCABULARY) for _ in range(LENGTH)]
            for _ in range(2 * tokens // LENGTH)
        ]
        yield make_batch([*zip(drawn[::2], drawn[1::2], strict=True)])


def compared(preset: str, tokens: int) -> dict[str, Any]:
    """An update of this process with the others, in seconds."""
    sizes = replace(PRESETS[preset], vocab_size=VOCABULARY)
    config = TrainConfig(steps=ROUNDS + 1, warmup=1, peak_lr=1e-3)
    with joined("cpu") as processes:
        torch.manual_seed(0)
        model = transformer(sizes)
        optimizer = make_optimizer(model)
        given = made(tokens, processes.rank)
        found = measured_cost(model, given, optimizer, config, batch_loss)
        ring = Ring.measured(processes, "cpu")
        shared = Together(processes, processes.size)
        ways = {
            name: updates(
                *(model, given, optimizer, config, sizes.d_model, 0),
                accumulate=way,
            )
            for name, way in (("alone", accumulate), ("together", shared))
        }
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS + 1):
            for name, each in ways.items():
                processes.wait()
                began = time.monotonic()
                next(each).check()
                taken[name].append(time.monotonic() - began)
    size = 4 * parameter_count(sizes)
    computed = found.seconds(tokens)
    exchanged = ring.seconds(size, processes.size)
    measured = {name: median(some[1:]) for name, some in taken.items()}
    return {
        "gradient": size,
        "tokens": tokens,
        "start": ring.start,
        "bandwidth": ring.bandwidth,
        "computed": computed,
        "exchanged": exchanged,
        "foretold": computed + exchanged,
        **measured,
        "samples": {name: some[1:] for name, some in taken.items()},
        "ratio": (computed + exchanged) / measured["together"],
    }


def work(preset: str, tokens: int, rank: int, port: int, path: str) -> None:
    """One of the processes; the first one writes what it has found."""
    common = {"WORLD_SIZE": PROCESSES, "MASTER_ADDR": "localhost"}
    given = {**common, "MASTER_PORT": port, "RANK": rank, "LOCAL_RANK": rank}
    os.environ.update({name: str(value) for name, value in given.items()})
    torch.set_num_threads(1)
    keep_freed_memory()
    found = compared(preset, tokens)
    if rank == 0:
        write_text(Path(path), json.dumps(found))


def measure(preset: str, tokens: int, path: Path) -> dict[str, Any]:
    """What the processes find for a preset and a size of batches."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    started = [
        context.Process(
            target=work, args=(preset, tokens, rank, port, str(path))
        )
        for rank in range(PROCESSES)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def main(path: Path) -> None:
    """Measure all cases, print the rows, write the record."""
    rows = {}
    for preset, tokens in CASES:
        name = f"{preset}, {tokens} tokens"
        one = rows[name] = measure(preset, tokens, path)
        print(
            f"{name:18}{one['computed']:8.3f} s to compute"
            f"{one['exchanged']:8.3f} to exchange"
            f"{one['together']:8.3f} measured"
            f"{one['alone']:8.3f} without exchange{one['ratio']:8.2f}"
        )
    about = environment() | {"command": "python -m benchmarks.processes"}
    write_text(path, json.dumps(about | {"processes": rows}, indent=1))


if __name__ == "__main__":
    main(record_path("benchmarks.processes", __doc__))
