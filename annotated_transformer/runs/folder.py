"""The folder of a run: what it is, how far it is, and its checkpoints."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.storage.history import (
    History,
    Result,
    Start,
)
from annotated_transformer.storage.metrics import read_metrics
from annotated_transformer.storage.model_folder import (
    load_model,
    read_tokenizer,
)
from annotated_transformer.system.atomic_files import (
    check_name,
    lock,
    read_json,
    remove,
    replacing,
    sha256,
    sync,
    unwritable,
    write_text,
)
from annotated_transformer.system.console import console
from annotated_transformer.training import TrainConfig

__all__ = [
    "Numbers",
    "RunFolder",
    "check_output",
    "check_same_run",
    "fast_as_begun",
]

WEIGHTS = "model.safetensors"  # by its sum a start is known
PENDING = "pending.json"  # beside a checkpoint that is not yet validated
LEARNED = ("step", "seconds", "tokens", "rate", "loss")  # what it holds
OWN = ("run.json", "tokenizer.model", "metrics.jsonl", PENDING)
# what a run that was killed while it began has left
BEGINNING = {"tokenizer.model", ".tokenizer.model.part", ".run.json.part"}

Numbers = dict[str, int | float]  # of a checkpoint, by name


def check_output(output: Path, resume: bool) -> None:
    """UserError if a run cannot begin in output, or none is there."""
    check_name(output)
    for path in (output, *output.parents):
        if path.is_dir():
            break
        if path.exists() or path.is_symlink():
            raise UserError(f"{path}: a file, not a folder; choose another")
    if resume:
        if not (output / "run.json").is_file():
            raise UserError(
                f"{output}: no run to resume here (run.json is missing); "
                "start it without `resume=True`"
            )
        RunFolder(output, 1, 1).check_progress()
    elif (output / "run.json").exists():
        raise UserError(
            f"{output}: a run is here already; continue it with "
            "`resume=True`, or choose another folder"
        )
    elif output.exists() and {x.name for x in output.iterdir()} - BEGINNING:
        raise UserError(f"{output}: the folder is not empty; choose another")


def check_same_run(
    output: Path,
    corpus: Corpus,
    recipe: Recipe,
    start: Start | None = None,
    given: Tokenizer | None = None,
) -> Tokenizer:
    """The tokenizer of a run, if recipe, data and start are its own.

    So must be a tokenizer that is given. But the size and the number of
    batches may change.
    """
    path = output / "run.json"
    try:
        history = read_history(output)
        asked, kind = history.recipe["train"], type(recipe.train)
        schedule = asked.get("schedule", TrainConfig.schedule)
        if schedule != recipe.schedule:  # perhaps of a class that is not here
            began = recipe.flat() | {"train.schedule": schedule}
        else:
            began = Recipe.from_json(history.recipe, kind).flat()
        tokenizer = read_tokenizer(output)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: not the beginning of a run ({error!s:.200}); start it "
            "anew in another folder"
        ) from error
    sums = history.data.sha256
    if given is not None and given.model != tokenizer.model:
        raise UserError(
            f"{output}: the run began with another tokenizer; resume with "
            "that one"
        )
    for name, value in recipe.flat().items():
        if began[name] != value:
            raise UserError(
                f"{output}: the run began with {name} = {began[name]!s:.80}, "
                f"now it is {value}; resume with the options that began it"
            )
    if sums != corpus.checksums:
        names = sums.keys() | corpus.checksums.keys()
        other = [x for x in names if sums.get(x) != corpus.checksums.get(x)]
        raise UserError(
            f"{output}: the run began with other text ({min(other)} "
            "differs); resume with the files that began it"
        )
    if history.data.shares != corpus.shares:
        raise UserError(
            f"{output}: the run began with the shares {history.data.shares}, "
            f"now they are {corpus.shares}; resume with those that began it"
        )
    for side in ("source", "target"):
        began, now = getattr(history.data, side), getattr(corpus, side)
        if began != now:
            raise UserError(
                f"{output}: the run began with {side} {began!r:.40}, now it "
                f"is {now!r:.40}; resume with the languages that began it"
            )
    now = sha256(output / "tokenizer.model")
    if history.tokenizer_sha256 not in (None, now):
        raise UserError(
            f"{output}: tokenizer.model is not the one that the run began "
            "with; put it back, or begin anew in another folder"
        )
    if weights_of(start) != weights_of(history.start):
        raise UserError(
            f"{output}: the run did not begin with that model; resume with "
            "the `start` that began it"
        )
    return tokenizer


def weights_of(start: Start | None) -> str | None:
    """The SHA-256 of the weights that a training began with, if any."""
    return start.files.get(WEIGHTS) if start else None


def read_history(folder: Path) -> History:
    """What run.json says of a run; OSError or ValueError if it is none."""
    return History.from_json(read_json(folder / "run.json"))


def fast_as_begun(output: Path, asked: bool) -> bool:
    """Whether a run is fast; it says so if something else is asked for."""
    fast = read_history(output).fast
    if fast != asked:
        console.out(f"{output}: the run began with fast={fast} and goes on so")
    return fast


class RunFolder:
    """Where a run keeps run.json, its tokenizer, metrics and checkpoints."""

    def __init__(self, path: Path, every: int, average: int):
        self.path, self.every, self.average = path, every, average
        self.place: os.stat_result | None = None  # where alone found it
        self.handle: int | None = None  # open while alone

    def check_progress(self) -> None:
        """UserError if all checkpoints of what was learned here are gone."""
        if self.checkpoints():
            return
        lines = read_metrics(self.path)
        if lines or (self.path / "config.json").exists():
            done = f" after update {lines[-1]['step']}" if lines else ""
            raise UserError(
                f"{self.path / 'checkpoints'}: the checkpoints of this run "
                f"(step-*.safetensors) are missing, and it cannot go on{done} "
                "without the last; put them back, or begin a new run in "
                "another folder, which `start` begins with a finished model"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other trainings out of the folder, which is made if need be.

        UserError if one is there. A process that is killed gives it free.
        """
        make_folder(self.path)
        self.place = self.path.stat()
        if os.name == "nt":  # Windows does not open folders
            yield
            return
        self.handle = os.open(self.path, os.O_RDONLY)
        try:
            if not lock(self.handle, wait=False):
                raise UserError(
                    f"{self.path}: another training is going on here; "
                    "wait for its end, or choose another folder"
                )
            yield
        finally:
            os.close(self.handle)

    def begin(self, history: History, tokenizer: Tokenizer) -> None:
        """Write what the run is; run.json, written last, makes it one."""
        History.from_json(history.as_json())  # what is written can be read
        path = self.path / "tokenizer.model"
        with replacing(path) as part:
            part.write_bytes(tokenizer.model)
        self.write(replace(history, tokenizer_sha256=sha256(path)))

    def write(self, history: History) -> None:
        """Write run.json."""
        text = json.dumps(history.as_json(), indent=1, allow_nan=False)
        write_text(self.path / "run.json", text + "\n")

    def is_own(self, path: Path) -> bool:
        """True if path is what alone found; OSError if nothing is there."""
        found = path.stat()
        return self.place is not None and os.path.samestat(found, self.place)

    def here(self) -> bool:
        """True if the folder is still the one in which the run began."""
        if self.place is None:
            return True
        with suppress(OSError):
            run = self.path / "run.json"
            return self.is_own(self.path) and run.is_file()
        return False

    def moved(self) -> Path | None:
        """Where the folder is now, as far as the system tells."""
        with suppress(OSError):  # only Linux does
            path = Path(os.readlink(f"/proc/self/fd/{self.handle}"))
            if self.is_own(path) and (path / "run.json").is_file():
                return path
        return None

    def follow(self, history: History, tokenizer: Tokenizer) -> str:
        """What became of the folder; "" if it is where it was.

        From now on path is where it has gone. If it is nowhere, that is a
        new folder, in which the run has begun, too.
        """
        if self.here():
            return ""
        was, moved = self.path, self.moved()
        if moved is not None:
            self.path = moved
            return f"{was}: moved to {moved} during the training"
        others = (was.with_name(f"{was.name}-{n}") for n in count(1))
        if was.exists() and not self.is_own(was):
            self.path = next(path for path in others if not path.exists())
        make_folder(self.path)
        self.place = self.path.stat()
        self.begin(history, tokenizer)
        return f"{was}: removed during the training"

    def history(self) -> History:
        """What the run is: command, recipe, data, versions, machine."""
        return read_history(self.path)

    def step(self) -> int:
        """The updates that the last checkpoint has seen."""
        paths = self.checkpoints()
        return int(paths[-1].stem[5:]) if paths else 0

    def abandon(self) -> None:
        """Remove a run that has no checkpoint, so that it can start anew."""
        if self.checkpoints():
            return
        with suppress(OSError):  # where nothing can be written, nothing is
            for name in ("run.json", "tokenizer.model", PENDING):
                (self.path / name).unlink(missing_ok=True)
            for folder in (self.path / "checkpoints", self.path):
                if folder.exists():
                    folder.rmdir()

    def checkpoint(self, step: int) -> Path:
        """Where the checkpoint of a step goes; its folder is made."""
        folder = self.path / "checkpoints"
        make_folder(folder, parents=False)  # a run that has gone stays away
        return folder / name_of(step)

    def checkpoints(self) -> list[Path]:
        """The checkpoints, oldest first."""
        folder = self.path / "checkpoints"
        found = {*folder.glob("step-*.safetensors")}
        names = [path.stem[5:] for path in found]
        steps = sorted({int(name) for name in names if name.isdecimal()})
        paths = [folder / name_of(step) for step in steps]
        return [path for path in paths if path in found]

    def kept(self) -> list[Path]:
        """The regular checkpoints that an average may need, and the last.

        An interruption's checkpoint counts only while it is the last, so
        that an interrupted run ends with the weights of any other.
        """
        paths = self.checkpoints()
        regular = [p for p in paths[:-1] if int(p.stem[5:]) % self.every == 0]
        return [*regular[-self.average :], *paths[-1:]]

    def result(self) -> Result:
        """What the model here has reached, if there is one that loads."""
        with suppress(UserError):
            if (self.path / "config.json").exists():
                history = load_model(self.path)[2]
                return history.result if history else Result()
        return Result()

    def averaged(self) -> list[Path]:
        """The checkpoints that make the final model."""
        return self.kept()[-self.average :]

    def best(self) -> Path | None:
        """The checkpoint that did best on the validation text, if known.

        It has the highest BLEU, or the lowest loss where BLEU was not asked.
        """
        paths = {int(path.stem[5:]): path for path in self.checkpoints()}
        known = [
            (-line.get("valid_bleu", 0.0), line["valid_loss"], line["step"])
            for line in read_metrics(self.path)
            if line["step"] in paths and line["valid_loss"] >= 0
        ]
        return paths[min(known)[-1]] if known else None

    def prune(self) -> None:
        """Delete all but the best checkpoint and those that are kept."""
        for old in {*self.checkpoints()} - {*self.kept(), self.best()}:
            if not old.is_dir():  # which no run has made
                old.unlink(missing_ok=True)

    def add_pending(self, learned: Numbers) -> None:
        """Note what the line of metrics of the next checkpoint will hold.

        It comes after the checkpoint's validation, which may be killed.
        """
        write_text(self.path / PENDING, json.dumps(learned) + "\n")

    def find_pending(self, step: int) -> Numbers | None:
        """What was noted for the checkpoint of a step, if it has no line."""
        path = self.path / PENDING
        if not path.exists():
            return None
        try:
            learned = read_json(path)
            numbers = {name: learned[name] for name in LEARNED}
            if not all(abs(number) < 1e15 for number in numbers.values()):
                raise ValueError(f"{numbers!r:.80}")
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"{path}: not what is noted of a checkpoint ({error!r:.200}); "
                "delete the file"
            ) from error
        steps = [line["step"] for line in read_metrics(self.path)]
        due = learned["step"] == step and step not in steps
        return numbers if due else None

    def drop_pending(self) -> None:
        """Forget what was noted."""
        (self.path / PENDING).unlink(missing_ok=True)

    def add_metrics(self, line: Numbers) -> None:
        """Add a line to metrics.jsonl; then nothing is pending."""
        path = self.path / "metrics.jsonl"
        try:
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps(line) + "\n")
            sync(path)
            self.drop_pending()
        except OSError as error:
            raise unwritable(path, error) from error

    def rewind(self, step: int) -> float:
        """Drop what is later than a step; return its seconds."""
        for name in OWN:
            remove(self.path / f".{name}.part")
        for part in self.path.glob("checkpoints/.*.part"):
            remove(part)
        path = self.path / "metrics.jsonl"
        if not path.exists():
            return 0.0
        kept = [x for x in read_metrics(self.path) if x["step"] <= step]
        write_text(path, "".join(json.dumps(line) + "\n" for line in kept))
        return kept[-1]["seconds"] if kept else 0.0


def name_of(step: int) -> str:
    """The name of the checkpoint of a step; no other name is that of one."""
    return f"step-{step:08d}.safetensors"


def make_folder(path: Path, parents: bool = True) -> None:
    """Make a folder, if it is not there; UserError if it cannot be."""
    try:
        path.mkdir(parents=parents, exist_ok=True)
        sync(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
