"""The folder of a run: who may write to it, and what run it is."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.runs.recipes import flat
from annotated_transformer.storage.history import History
from annotated_transformer.storage.model_folder import read_tokenizer
from annotated_transformer.system.atomic_files import (
    read_json,
    replacing,
    unwritable,
    write_text,
)

__all__ = [
    "begin_run",
    "check_output",
    "check_same_run",
    "locked_run",
    "run_tokenizer",
]

# what a run has written that has no checkpoint yet, and so may begin anew
BEGINNING = {"run.json", "tokenizer.model", "checkpoints", ".lock"}
BEGINNING |= {".tokenizer.model.part", ".run.json.part"}


def check_output(output: Path, resume: bool) -> None:
    """UserError if a run cannot begin in output, or none is there."""
    for path in (output, *output.parents):
        if path.is_dir():
            break
        if path.exists() or path.is_symlink():
            raise UserError(f"{path}: a file, not a folder; choose another")
    begun = (output / "run.json").is_file()
    checkpoints = any(output.glob("checkpoints/step-*"))
    if resume:
        check_resumable(output, begun, checkpoints)
    elif begun and checkpoints:
        raise UserError(
            f"{output}: a run is here already; continue it with "
            "`resume=True`, or choose another folder"
        )
    elif output.exists() and {x.name for x in output.iterdir()} - BEGINNING:
        raise UserError(f"{output}: the folder is not empty; choose another")


def check_resumable(output: Path, begun: bool, checkpoints: bool) -> None:
    """UserError if there is no run, or one that has lost what it learned."""
    if not begun:
        raise UserError(
            f"{output}: no run to resume here (run.json is missing); "
            "start it without `resume=True`"
        )
    known = ("metrics.jsonl", "config.json")
    if not checkpoints and any((output / name).exists() for name in known):
        raise UserError(
            f"{output / 'checkpoints'}: the checkpoints of this run "
            "(step-*.safetensors) are missing, and it cannot go on without "
            "the last; put them back, or begin a new run in another folder, "
            "which `start` begins with a finished model"
        )


@contextmanager
def locked_run(output: Path) -> Iterator[None]:
    """Keep other trainings out of the folder, which is made if need be.

    UserError if one is there. A process that is killed gives it free.
    """
    path = output / ".lock"
    try:
        output.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise unwritable(output, error) from error
    lock = FileLock(path)
    try:
        with suppress(NotImplementedError):  # of file systems without locks
            lock.acquire(timeout=0)
    except Timeout as error:
        raise UserError(
            f"{output}: another training is going on here; wait for its end, "
            "or choose another folder"
        ) from error
    try:
        yield
    finally:
        lock.release()


def begin_run(output: Path, history: History, tokenizer: Tokenizer) -> None:
    """Write what the run is; run.json, written last, makes it one."""
    text = json.dumps(history.as_json(), indent=1, allow_nan=False)
    with replacing(output, "tokenizer.model") as new:
        (output / "checkpoints").mkdir(exist_ok=True)
        (new / "tokenizer.model").write_bytes(tokenizer.model)
    write_text(output / "run.json", text + "\n")


def run_tokenizer(output: Path) -> Tokenizer:
    """The tokenizer of the run that is there; UserError if there is none."""
    path = output / "tokenizer.model"
    try:
        return read_tokenizer(path)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: no sentencepiece model ({error!s:.200}); resume with "
            "the `tokenizer` that the run began with, or put the file back"
        ) from error


def not_a_run(output: Path, error: Exception) -> UserError:
    """The error for a folder in which no run has begun."""
    return UserError(
        f"{output / 'run.json'}: not the beginning of a run ({error!s:.200}); "
        "start it anew in another folder"
    )


def check_same_run(output: Path, asked: History) -> History:
    """The history of the run that is there, if what is asked for is the same.

    UserError names the first of its fields that differs.
    """
    try:
        history = History.from_json(read_json(output / "run.json"))
    except (OSError, ValueError) as error:
        raise not_a_run(output, error) from error
    began, now = map(identity, (history, asked))
    for name in [*began, *now]:
        if began.get(name) != now.get(name):
            raise UserError(
                f"{output}: the run began with {name} = "
                f"{began.get(name)!s:.80}, now it is {now.get(name)!s:.80}; "
                "resume with the options, texts and models that began it"
            )
    return history


def identity(history: History) -> dict[str, object]:
    """What a run must keep, by dotted names: all that its weights follow from.

    Texts and models are known by their SHA-256.
    """
    data, start = history.data, history.start
    return flat(
        {
            "start": start and start.files.get("model.safetensors"),
            "tokenizer.model": history.tokenizer_sha256,
            "own": history.own,
            **history.recipe,
            "fast": history.fast,
            "source": data.source,
            "target": data.target,
            "text": data.sha256,
            "share": data.shares,
        }
    )
