"""What the fault tests do in processes of their own, which may die."""

import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import torch
from shaken import shaken

from annotated_transformer import Recipe, Translator, train
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.errors import Interrupted, UserError
from annotated_transformer.storage.checkpoints import checkpoint_weights

LETTERS = "abcdefghij éß語\u0301\U0001f600"

# Children fork, in milliseconds, from a server that has imported torch and
# what its optimizers import when they are first used.
context = get_context("forkserver")
context.set_forkserver_preload(["annotated_transformer", "torch._dynamo"])


def in_child(
    function: Callable[..., object],
    *arguments: object,
    kill_after: float = 1000,
) -> tuple[int, Any]:
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
    assert process.exitcode is not None
    return process.exitcode, result


def answer(
    sender: Connection,
    function: Callable[..., object],
    arguments: tuple[object, ...],
) -> None:
    torch.set_num_threads(1)
    with shaken():
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

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove"):
            name = str(arguments[0])
            if name.startswith(str(output)):
                strike(name)

    sys.addaudithook(hook)


def disturbed(
    number: int, what: int, work: Work, output: Path
) -> tuple[bool, int]:
    """Train, and send the process a signal at that operation on its files.

    Whether it has come to the end, and how many operations there were.
    """
    done = 0

    def strike(name: str) -> None:
        nonlocal done
        done += 1
        if done == number:
            os.kill(os.getpid(), what)

    at_operation(output, strike)
    try:
        work.into(output)
    except Interrupted:
        return False, done
    return True, done


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb", 0) as file:
        while True:
            file.write(bytes(1 << 12))


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def limit(size: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))


Act = Callable[[Path], object]
# how each begins and ends, for a run in disk / "model"
FAULTS: dict[str, tuple[Act, Act]] = {
    "full": (fill, lambda disk: (disk / "filler").unlink()),
    "limited": (lambda _: limit(100), lambda _: limit(resource.RLIM_INFINITY)),
    "vanished": (
        lambda disk: (disk / "model").rename(disk / "hidden"),
        lambda disk: (disk / "hidden").rename(disk / "model"),
    ),
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
    fault: str, number: int, work: Work, disk: Path
) -> tuple[str, list[str], list[str]]:
    """Train until a fault strikes at that operation; go on without it.

    The message of the error, the checkpoints there were, and those that were
    left, all of which can be read.
    """
    if fault == "full":
        own_disk(disk)
    output = disk / "model"
    begin, end = FAULTS[fault]
    done, before = 0, []

    def strike(changed: str) -> None:
        nonlocal done
        done += 1
        if done == number:
            before.extend(names(output))
            begin(disk)

    at_operation(output, strike)
    told = ""
    try:
        work.into(output)
    except UserError as error:
        told = str(error)
    end(disk)
    left = names(output)
    for name in left:
        checkpoint_weights(output / "checkpoints" / name)
    work.into(output)
    return told, before, left


def names(output: Path) -> list[str]:
    return sorted(x.name for x in output.glob("checkpoints/step-*"))


def read_only(work: Work, disk: Path) -> list[str]:
    """Begin a run on a disk that is read-only, and resume one there."""
    own_disk(disk)
    told = []
    for _ in range(2):
        remount(disk, "ro")
        try:
            work.into(disk / "model")
        except UserError as error:
            told.append(str(error))
        remount(disk, "rw")
        work.into(disk / "model")
    return told


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
