"""Measuring side by side: a process for each system, turn by turn."""

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NotRequired, TypedDict

import torch

from annotated_transformer.system.memory import keep_freed_memory

Job = Callable[[int], float]  # does part i, returns how much work that was
Maker = tuple[Callable[..., Job], tuple[Any, ...]]  # makes the job, in there


@dataclass
class Sample:
    """One round of one system: all parts of the work, once."""

    work: float = 0.0  # target tokens, sentences, floating-point operations
    process: float = 0.0  # seconds of processor time, all threads
    wall: float = 0.0  # seconds


Samples = dict[str, list[Sample]]


@dataclass
class Keeper:
    """The job that does one thing with each part, and keeps what came out."""

    do: Callable[[Any], Any]
    parts: Sequence[Sized]
    outputs: dict[int, Any] = field(default_factory=dict)

    def __call__(self, part: int) -> int:
        """How many things the part has."""
        self.outputs[part] = self.do(self.parts[part])
        return len(self.parts[part])


class Row(TypedDict):
    """What is known of a system."""

    rate: float  # work a second of the processor
    wall_rate: float  # and a second by the clock
    ratio: float  # how many times as fast the first system is
    memory: int  # bytes
    samples: list[dict[str, float]]
    share: NotRequired[float]  # of the machine's peak
    identical: NotRequired[int]  # translations that are as the first's
    bleu: NotRequired[float]
    megabytes: NotRequired[float]  # of its files


Rows = dict[str, Row]  # by the system's name
Record = dict[str, Any]  # for JSON


def largest() -> int:
    """The most bytes that this process, or its GPU, has held at once."""
    if torch.cuda.is_initialized():
        return torch.cuda.max_memory_allocated()
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says began as the parent's size
        lines = status.read_text().splitlines()
        peak = next(line for line in lines if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def measure(job: Job, part: int) -> tuple[float, float, float]:
    """The work of a part, its processor time and its wall time."""
    process, wall = time.process_time(), time.perf_counter()
    work = job(part)
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return work, time.process_time() - process, time.perf_counter() - wall


def serve(pipe: Connection, maker: Maker) -> None:
    """Make a job in this process, then measure the parts asked for."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as the command `train` does: for all systems
    make, arguments = maker
    job = make(*arguments)
    before = largest()
    measure(job, 0)  # unmeasured: the first time is not like the others
    pipe.send(None)
    while (part := pipe.recv()) is not None:
        pipe.send(measure(job, part))
    pipe.send((largest() - before, getattr(job, "outputs", None)))


def interleave(
    makers: Mapping[str, Maker], parts: int, rounds: int
) -> tuple[Samples, dict[str, int], dict[str, Any]]:
    """Every system does every part, in turns: A B C A B C ...

    What disturbs the machine then disturbs all alike. Returns the samples;
    the bytes by which the work raised each process's largest size; and what
    each job has left as its outputs.
    """
    context = get_context("spawn")
    pipes: dict[str, Connection] = {}
    workers = []
    for name, maker in makers.items():
        pipes[name], end = context.Pipe()
        worker = context.Process(target=serve, args=(end, maker), daemon=True)
        worker.start()
        end.close()
        workers.append(worker)
    for pipe in pipes.values():
        pipe.recv()  # all are ready
    samples: Samples = {name: [] for name in makers}
    for _ in range(rounds):
        for rows in samples.values():
            rows.append(Sample())
        for part in range(parts):
            for name, pipe in pipes.items():
                pipe.send(part)
                work, process, wall = pipe.recv()
                sample = samples[name][-1]
                sample.work += work
                sample.process += process
                sample.wall += wall
    memory, outputs = {}, {}
    for name, pipe in pipes.items():
        pipe.send(None)
        memory[name], outputs[name] = pipe.recv()
    for worker in workers:
        worker.join()
    return samples, memory, outputs


def rate(samples: list[Sample], clock: str = "process") -> float:
    """Work per second, the median over rounds."""
    return median(s.work / getattr(s, clock) for s in samples)


def ratio(
    ours: list[Sample], theirs: list[Sample], clock: str = "process"
) -> float:
    """How many times as fast we are: the median of each round's ratio."""
    pairs = zip(ours, theirs, strict=True)
    return median(rate([a], clock) / rate([b], clock) for a, b in pairs)


def summary(
    samples: Samples, memory: dict[str, int], clock: str = "process"
) -> Rows:
    """Each system's rates, how often the first is as fast, all samples."""
    ours = next(iter(samples.values()))
    return {
        name: {
            "rate": rate(theirs),
            "wall_rate": rate(theirs, "wall"),
            "ratio": ratio(ours, theirs, clock),
            "memory": memory[name],
            "samples": [asdict(sample) for sample in theirs],
        }
        for name, theirs in samples.items()
    }
