"""A training as the command makes it, and the processor time that it takes."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.train import train
from annotated_transformer.storage.checkpoints import Line
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.memory import keep_freed_memory

from .command_line import EXPERIMENTS

FOLDERS = EXPERIMENTS.parent / "_build"


class Timed(NamedTuple):
    """A model that was trained, and how long the processor took."""

    folder: Path
    seconds: float  # the text, its subwords and all validations included
    curve: list[tuple[float, float]]  # seconds and validation loss


def train_timed(
    folder: Path, read: Callable[[], Corpus | RunningText], recipe: Recipe
) -> Timed:
    """Train into a folder, or go on there where a training was stopped.

    Updates that a kill has lost are made again; their first time does not
    count.
    """
    keep_freed_memory()
    known = folder.with_name(f"{folder.name}-seconds.json")
    begun = (folder / "run.json").exists()
    before, curve = json.loads(known.read_text("utf-8")) if begun else (0, [])
    if (folder / "config.json").exists():  # trained, to be scored again
        return Timed(folder, before, curve)
    start = time.process_time()

    def so_far() -> float:
        return round(before + time.process_time() - start, 1)

    def note(line: Line | None = None) -> None:
        if line:
            curve.append((so_far(), line["valid_loss"]))
        write_text(known, json.dumps((so_far(), curve)))

    if not begun:
        folder.parent.mkdir(parents=True, exist_ok=True)
        note()
    try:
        train(folder, read(), recipe, resume=begun, on_metrics=note)
    finally:
        note()  # also where a signal ends it
    return Timed(folder, so_far(), curve)
