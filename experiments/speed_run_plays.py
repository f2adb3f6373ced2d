"""What is tried for an hour with Shakespeare's plays.

A language model of letters with fewer than a million parameters. Most runs
have a quarter of an hour of one core, some an hour. They learn from the first
19 twentieths of the training text, and are scored on the last. What is chosen
is the recipe `plays`; it learns from all of it, and so does `text`, which was
the recipe of plays before. They have three seeds each, which are scored on the
tenth that is held out.
"""

import re
from collections.abc import Iterable
from statistics import fmean

from annotated_transformer.corpora.running_text import RunningText, plays
from annotated_transformer.runs.recipes import Recipe, recipe_of
from annotated_transformer.runs.windows import TextWindows, token_ids
from annotated_transformer.training import validate
from annotated_transformer.writing import Writer

from .shared.grid import Result, grid
from .shared.timed_training import FOLDERS, train_timed

LETTERS = 1_003_854  # of the training text
HELD_OUT = 111_540  # letters, the last tenth
WORD = re.compile("[a-z']{4,}")
FOLDER = FOLDERS / "speed_run_plays"
# what all of them begin with, as it is typed after --set
BASE = (
    "model.max_length=256",
    "train.max_length=256",
    "train.batch_tokens=4096",
    "train.steps=2200",
    "train.warmup=100",
    "train.peak_lr=0.004",
    "train.optimizer=muon",
    "train.weight_decay=0.1",
    "train.schedule=stable",
    "train.decay=0.4",
    "train.average=1",
    "train.checkpoint_every=200",
)
# about as long, with twice the updates
SMALL_BATCHES = (
    "train.batch_tokens=2048",
    "train.steps=4400",
    "train.warmup=200",
    "train.checkpoint_every=400",
)
# an hour
HOUR = (
    "train.steps=8000",
    "train.checkpoint_every=500",
    "train.peak_lr=0.016",
)
TRIALS: dict[str, tuple[str, ...]] = {
    "base": (),
    "rate 0.008": ("train.peak_lr=0.008",),
    "rate 0.016": ("train.peak_lr=0.016",),
    "rate 0.032": ("train.peak_lr=0.032",),
    "batches of 2,048": SMALL_BATCHES,
    "bfloat16": ("train.bf16=true", "train.steps=2550"),
    "6 layers": ("model.layers=6", "train.steps=1500"),
    "a longer fall": ("train.decay=0.8",),
    "a shorter fall": ("train.decay=0.2",),
    "decay 0.5": ("train.weight_decay=0.5",),
    "dropout 0.1": ("model.dropout=0.1", "train.steps=2100"),
    "an hour, dropout 0.1": (*HOUR, "model.dropout=0.1"),
    "an hour, dropout 0.2": (*HOUR, "model.dropout=0.2"),
}
RECIPE = {"base": BASE, "letters": LETTERS, "window": 256}


def corpus() -> RunningText:
    """The plays that come with the package."""
    return plays()


def training_text() -> RunningText:
    """The letters that a model may learn from, the last twentieth held out."""
    path = FOLDER / "training.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(plays().lines())[:LETTERS], "utf-8")
    return RunningText.from_files([path], held_out=0.05)


def scored(writer: Writer, text: RunningText, letters: int) -> float:
    """Nats a letter of the last letters, in windows that follow each other.

    They are as long as those of the training.
    """
    ids = token_ids(text, writer.tokenizer)[1:-1]  # without its two ends
    windows = TextWindows(ids[-letters:], writer.model.config.max_length, 16)
    return validate(writer.model, windows).loss


def known_words(writer: Writer) -> float:
    """The share of the words in ten samples that stand in the plays.

    Of words of four letters or more, in samples of 1,000 letters.
    """
    known = {*WORD.findall("".join(plays().lines()).lower())}
    samples = writer([""] * 10, max_new_tokens=1000, seed=0)
    words = WORD.findall("\n".join(samples).lower())
    return fmean(word in known for word in words)


def learned(
    name: str, text: RunningText, recipe: Recipe
) -> tuple[Writer, Result]:
    """A writer that a recipe trains, and what that took."""
    made = train_timed(FOLDER / name, lambda: text, recipe)
    writer = Writer.load(made.folder)
    return writer, {
        "parameters": sum(p.numel() for p in writer.model.parameters()),
        "training_seconds": made.seconds,
        "curve": made.curve,
    }


def tried(seed: int, name: str, fields: Iterable[str]) -> Result:
    """Train with other settings than those of the base."""
    text = training_text()
    given = (*BASE, *fields, f"train.seed={seed}")
    recipe = recipe_of("text").with_fields(given)
    writer, found = learned(f"{name} {seed}", text, recipe)
    letters = int(text.size * text.held_out)
    return found | {"loss": scored(writer, text, letters)}


def compared(seed: int, name: str) -> Result:
    """Train on the plays by a recipe, and score on what is held out.

    As `train --task plays` does: it looks at the same tenth on its way, and
    nothing is chosen by that.
    """
    recipe = recipe_of(name).with_fields([f"train.seed={seed}"])
    writer, found = learned(f"{name} {seed}", plays(), recipe)
    loss = scored(writer, plays(), HELD_OUT)
    return found | {"loss": loss, "known_words": known_words(writer)}


RUNS = grid(
    tried,
    "tried={trial} seed={seed}",
    trial={x: {"name": x, "fields": TRIALS[x]} for x in TRIALS},
    seed=[0],
) | grid(
    compared,
    "recipe={name} seed={seed}",
    name=["plays", "text"],
    seed=range(3),
)
