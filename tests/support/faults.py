"""What the fault tests do in processes of their own, which may die."""

import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import torch

from annotated_transformer import Recipe, Translator, train
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.errors import UserError
from annotated_transformer.runs import loop
from annotated_transformer.training import Validation

LETTERS = "abcdefghij éß語\u0301\U0001f600"

# Children fork, in milliseconds, from a server that has imported torch and
# what its optimizers import when they are first used.
context = get_context("forkserver")
context.set_forkserver_preload(["annotated_transformer", "torch._dynamo"])


def in_child(
    function: Callable, *arguments: object, kill_after: float = 1000
) -> tuple[int, object]:
    """Exit status and result of a function called in a new process.

    The result is None if the process dies; after so many seconds it is
    killed with signal 9.
    """
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=answer, args=(sender, function, arguments)
    )
    process.start()
    sender.close()
    if not receiver.poll(kill_after):
        process.kill()
    try:
        result = receiver.recv()
    except EOFError:
        result = None
    process.join()
    return process.exitcode, result


def answer(sender: Connection, function: Callable, arguments: tuple) -> None:
    torch.set_num_threads(1)
    sender.send(function(*arguments))


class Work(NamedTuple):
    """A training of about a second."""

    corpus: Corpus
    recipe: Recipe

    def into(self, output: Path) -> Path:
        resume = (output / "run.json").exists()
        return train(
            output, self.corpus, self.recipe, device="cpu", resume=resume
        )


# Kills and full disks, at a given operation on the files of the run


def at_operation(output: Path, strike: Callable[[str], None]) -> None:
    """Call strike with each name under output that is made or changed."""

    def hook(event: str, arguments: tuple) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove"):
            name = str(arguments[0])
            if name.startswith(str(output)):
                strike(name)

    sys.addaudithook(hook)


def killed_at(number: int, work: Work, output: Path) -> int:
    """Train, killed at that operation; how many there were if not."""
    done = 0

    def strike(name: str) -> None:
        nonlocal done
        done += 1
        if done == number:
            os.kill(os.getpid(), signal.SIGKILL)

    at_operation(output, strike)
    work.into(output)
    return done


def killed_validating(number: int, work: Work, output: Path) -> None:
    """Train, killed during the validation of that number."""
    plain, calls = loop.validate, count(1)

    def validate(*arguments: object) -> Validation:
        found = plain(*arguments)
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    with mock.patch.object(loop, "validate", validate):
        work.into(output)


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb", 0) as file:
        while True:
            file.write(bytes(1 << 12))


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def limit(size: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))


FAULTS = {  # how each begins and ends
    "full": (fill, lambda disk: (disk / "filler").unlink()),
    "read-only": (lambda d: remount(d, "ro"), lambda d: remount(d, "rw")),
    "limited": (lambda _: limit(100), lambda _: limit(resource.RLIM_INFINITY)),
}


def can_mount() -> bool:
    return os.geteuid() == 0 and CDLL(None).unshare(0x20000) == 0


def own_disk(disk: Path) -> None:
    """Mount a disk of a megabyte that only this process sees."""
    assert can_mount()
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    size = ["-o", "size=1m", "tmpfs"]
    subprocess.run(["mount", "-t", "tmpfs", *size, disk], check=True)


def struck(
    fault: str, name: str, work: Work, disk: Path
) -> tuple[str, list[str], bytes]:
    """Train until a fault strikes as a file is made; go on without it.

    The message of the error, the files it left, and the final weights.
    """
    if fault != "limited":
        own_disk(disk)
    output = disk / "model"
    begin, end = FAULTS[fault]
    due = True

    def strike(changed: str) -> None:
        nonlocal due
        if due and Path(changed).name == name:
            due = False
            begin(disk)

    at_operation(output, strike)
    told = ""
    try:
        work.into(output)
    except UserError as error:
        told = str(error)
    left = [str(path.relative_to(output)) for path in output.rglob("*")]
    end(disk)
    work.into(output)
    assert not list(output.glob(".*"))
    return told, left, (output / "model.safetensors").read_bytes()


# Memory


def peak() -> int:
    """The most memory, in bytes, that this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def soaked(folder: Path, sentences: int) -> tuple[int, int]:
    """Translate; the most memory after a fifth, and after all of it.

    Every fifth has the same sentences: what oneDNN prepares for a shape and
    keeps, for some hundred of them, is no leak.
    """
    translator, memory = Translator.load(folder), []
    for _ in range(5):
        rng = random.Random(0)
        for _ in range(0, sentences // 5, 20):
            lengths = [rng.randint(0, 30) for _ in range(20)]
            lines = ["".join(rng.choices(LETTERS, k=n)) for n in lengths]
            assert len(translator(lines, beam=2)) == len(lines)
        memory.append(peak())
    return memory[0], memory[-1]
