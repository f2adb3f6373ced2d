"""The folder of a run: what it is, how far it is, and its checkpoints."""

import json
from contextlib import suppress
from pathlib import Path

from annotated_transformer.corpora import Corpus
from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.files import replacing, write_text
from annotated_transformer.recipes import Recipe
from annotated_transformer.records import read_metrics

__all__ = ["RunFolder", "check_output", "check_same_run"]


def check_output(output: Path, resume: bool) -> None:
    """UserError if a run cannot begin in output, or none is there."""
    if resume:
        if not (output / "run.json").is_file():
            raise UserError(
                f"{output}: no run to resume here (run.json is missing); "
                "start it without --resume"
            )
    elif (output / "run.json").exists():
        raise UserError(
            f"{output}: a run is here already; continue it with --resume, "
            "or choose another folder"
        )
    elif output.exists() and not output.is_dir():
        raise UserError(f"{output}: a file, not a folder; choose another")
    elif output.exists() and any(output.iterdir()):
        raise UserError(f"{output}: the folder is not empty; choose another")


def check_same_run(output: Path, corpus: Corpus, recipe: Recipe) -> Tokenizer:
    """The tokenizer of a run to resume, if recipe and data are its own."""
    path = output / "run.json"
    try:
        about = json.loads(path.read_text("utf-8"))
        began = Recipe.from_json(about["recipe"]).flat()
        sums = dict(about["data"]["sha256"])
        tokenizer = Tokenizer((output / "tokenizer.model").read_bytes())
    except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise UserError(
            f"{path}: not the beginning of a run ({error!r}); start it anew "
            "in another folder"
        ) from error
    for name, value in recipe.flat().items():
        if began[name] != value:
            raise UserError(
                f"{output}: the run began with {name} = {began[name]}, now "
                f"it is {value}; resume with the options that began it"
            )
    if sums != corpus.checksums:
        names = sums.keys() | corpus.checksums.keys()
        other = [x for x in names if sums.get(x) != corpus.checksums.get(x)]
        raise UserError(
            f"{output}: the run began with other text ({min(other)} "
            "differs); resume with the files that began it"
        )
    return tokenizer


class RunFolder:
    """Where a run keeps run.json, its tokenizer, metrics and checkpoints."""

    def __init__(self, path: Path, every: int, average: int):
        self.path, self.every, self.average = path, every, average

    def begin(self, about: dict, tokenizer: Tokenizer) -> None:
        """Write what the run is; run.json, written last, makes it one."""
        self.path.mkdir(parents=True, exist_ok=True)
        with replacing(self.path / "tokenizer.model") as part:
            part.write_bytes(tokenizer.model)
        text = json.dumps(about, indent=1, allow_nan=False) + "\n"
        write_text(self.path / "run.json", text)

    def about(self) -> dict:
        """What the run is: command, recipe, data, versions, machine."""
        return json.loads((self.path / "run.json").read_text("utf-8"))

    def abandon(self) -> None:
        """Remove a run that has no checkpoint, so that it can start anew."""
        if self.checkpoints():
            return
        for name in ("run.json", "tokenizer.model"):
            (self.path / name).unlink(missing_ok=True)
        for folder in (self.path / "checkpoints", self.path):
            with suppress(OSError):
                folder.rmdir()

    def checkpoint(self, step: int) -> Path:
        """Where the checkpoint of a step goes; its folder is made."""
        folder = self.path / "checkpoints"
        folder.mkdir(exist_ok=True)
        return folder / f"step-{step:08d}.safetensors"

    def checkpoints(self) -> list[Path]:
        """The checkpoints, oldest first."""
        return sorted(self.path.glob("checkpoints/step-*.safetensors"))

    def kept(self) -> list[Path]:
        """The regular checkpoints that an average may need, and the last.

        An interruption's checkpoint counts only while it is the last, so
        that an interrupted run ends with the weights of any other.
        """
        *earlier, last = self.checkpoints()
        regular = [p for p in earlier if int(p.stem[5:]) % self.every == 0]
        return [*regular[-self.average :], last]

    def averaged(self) -> list[Path]:
        """The checkpoints that make the final model."""
        return self.kept()[-self.average :]

    def prune(self) -> None:
        """Delete the checkpoints that nothing needs any more."""
        for old in set(self.checkpoints()) - set(self.kept()):
            old.unlink()

    def add_metrics(self, line: dict) -> None:
        """Add a line to metrics.jsonl."""
        path = self.path / "metrics.jsonl"
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(line) + "\n")

    def rewind(self, step: int) -> float:
        """Drop what is later than a step; return its seconds."""
        for part in self.path.glob("checkpoints/.*.part"):
            part.unlink()
        path = self.path / "metrics.jsonl"
        if not path.exists():
            return 0.0
        kept = [x for x in read_metrics(self.path) if x["step"] <= step]
        write_text(path, "".join(json.dumps(line) + "\n" for line in kept))
        return kept[-1]["seconds"] if kept else 0.0
