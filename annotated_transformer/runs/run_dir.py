"""The folder of a run: who may write to it, and what run it is."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from filelock import FileLock, Timeout

from ..data import Tokenizer
from ..errors import UserError
from ..storage.checkpoints import checkpoint_paths
from ..storage.dataclass_json import from_plain
from ..storage.history import History
from ..system.atomic_files import (
    read_json,
    replacing,
    unwritable,
    write_text,
)
from ..system.console import console
from .recipes import Recipe, flat

# where a history has what the weights of a run follow from
KEPT = "start.files", "tokenizer_sha256", "own", "recipe", "data"
COUNTED = "data.lines"  # in the text, which later code may count otherwise
# what a run has, beside hidden files, until a checkpoint comes of its updates
BEGINNING = {"run.json", "tokenizer.model", "metrics.jsonl", "checkpoints"}


@contextmanager
def locked_run(output: Path, resume: bool) -> Iterator[None]:
    """The folder of a run, locked against a second; it is made if need be.

    UserError if a run cannot begin or resume there, or if another process
    trains there. The system frees the lock of a process that is killed.
    """
    check_output(output, resume)
    # in place of a lock that is missing, a file that stays when all is killed
    # would lock the folder for ever
    lock = FileLock(output / ".lock", fallback_to_soft=False)
    try:
        output.mkdir(parents=True, exist_ok=True)
        (output / ".lock").touch()
    except OSError as error:
        raise unwritable(output, error) from error
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UserError(
            f"{output}: another run is training here; wait for its end, "
            "or choose another folder"
        ) from error
    except OSError:
        console.out(
            f"{output}: this file system has no locks; start no second "
            "training in this folder"
        )
    try:
        for folder in (output, output / "checkpoints"):
            for unfinished in folder.glob(".*.part"):  # of one that was killed
                shutil.rmtree(unfinished, ignore_errors=True)
        yield
    finally:
        lock.release()


def check_output(output: Path, resume: bool) -> None:
    """UserError unless a run can begin in the folder, or resume there."""
    if output.exists() and not output.is_dir():
        raise UserError(f"{output}: a file, not a folder; choose another")
    found = {x.name for x in output.glob("[!.]*")}
    if resume:
        if "run.json" not in found:
            raise UserError(
                f"{output}: no run to resume here (run.json is missing); "
                "start it without `resume=True`"
            )
    elif max(checkpoint_paths(output), default=0) > 0:  # 0: nothing learned
        raise UserError(
            f"{output}: a run is here already; continue it with "
            "`resume=True`, or choose another folder"
        )
    elif found - BEGINNING:
        raise UserError(f"{output}: the folder is not empty; choose another")


def begin_run(
    output: Path,
    history: History,
    tokenizer: Tokenizer,
    save: Callable[[], None],
) -> None:
    """Write what the run is, and have its first checkpoint saved.

    run.json, which is written last, makes it a run.
    """
    with replacing(output, "tokenizer.model", "run.json") as new:
        (output / "run.json").unlink(missing_ok=True)  # of one that failed
        (output / "checkpoints").mkdir(exist_ok=True)
        save()
        (new / "tokenizer.model").write_bytes(tokenizer.model)
        (new / "run.json").write_bytes(as_text(history).encode())


def as_text(history: History) -> str:
    """The text of run.json."""
    return json.dumps(asdict(history), indent=1, allow_nan=False) + "\n"


def read_history(output: Path) -> History:
    """What the run is that began there; UserError if none did."""
    try:
        found: History = from_plain(History, read_json(output / "run.json"))
        return found
    except (OSError, ValueError) as error:
        raise UserError(
            f"{output / 'run.json'}: not the beginning of a run "
            f"({error!s:.200}); start it anew in another folder"
        ) from error


def hands_of(began: History | None, size: int) -> int:
    """To how many hands batches are dealt: to as many as began the run.

    A run that goes on may have fewer processes. Of more it is said that they
    are another number.
    """
    found = began.recipe.get("processes") if began else size
    return found if type(found) is int and found >= size else size


def check_same_run(output: Path, began: History, asked: History) -> None:
    """UserError that names the first field in which two runs differ.

    Texts and models are known by their SHA-256. A field that there was not
    when the run began has its default.
    """
    before, now = (flat(asdict(history)) for history in (began, asked))
    usual = {"builder": asked.recipe["builder"], "model": {}, "train": {}}
    before = flat({"recipe": Recipe.from_json(usual).as_json()}) | before
    names = dict.fromkeys([*before, *now])
    for name in (x for part in KEPT for x in names if x.startswith(part)):
        if name.startswith(COUNTED):
            continue
        if before.get(name) != now.get(name):
            raise UserError(
                f"{output}: the run began with {name} = "
                f"{before.get(name)!s:.80}, now it is {now.get(name)!s:.80}; "
                "resume with the options, texts and models that began it, "
                "and with no more processes"
            )


def resumed(output: Path, began: History, now: History) -> History:
    """What a run is that goes on; run.json says so if that is elsewhere."""
    here = now.environment
    before, after = began.environment.differences(here)
    if not after:
        return began
    console.out(
        f"{output}: this run was begun with {before}; it goes on with "
        f"{after}, so it may end with other numbers"
    )
    if here not in began.resumed:
        began = replace(began, resumed=[*began.resumed, here])
        write_text(output / "run.json", as_text(began))
    return began
