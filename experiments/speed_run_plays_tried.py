"""What is tried for the plays: rates, sizes and lengths, one seed each.

Most runs have a quarter of an hour of one core, some an hour. They learn from
the first 19 twentieths of the text that speed_run_plays.py learns from, and
are scored on the last.
"""

from collections.abc import Iterable

from annotated_transformer.corpora.running_text import RunningText, plays
from annotated_transformer.runs.recipes import recipe_of

from .shared.grid import Result, grid
from .speed_run_plays import FOLDER, learned, scored
from .speed_run_plays import corpus as corpus

LETTERS = 1_003_854  # of the training text
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
# an hour, at the rate that is best in a quarter of one
HOUR = (
    "train.steps=6000",
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
    "an hour": HOUR,
    "an hour, dropout 0.1": (*HOUR, "model.dropout=0.1"),
}
RECIPE = {"base": BASE, "letters": LETTERS, "window": 256}


def training_text() -> RunningText:
    """The letters that a model may learn from, the last twentieth held out."""
    path = FOLDER / "training.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(plays().lines())[:LETTERS], "utf-8")
    return RunningText.from_files([path], held_out=0.05)


def tried(seed: int, name: str, fields: Iterable[str]) -> Result:
    """Train with other settings than those of the base."""
    text = training_text()
    given = (*BASE, *fields, f"train.seed={seed}")
    recipe = recipe_of("text").with_fields(given)
    writer, found = learned(f"{name} {seed}", text, recipe)
    letters = int(text.size * text.held_out)
    return found | {"loss": scored(writer, text, letters)}


RUNS = grid(
    tried,
    "tried={trial} seed={seed}",
    trial={x: {"name": x, "fields": TRIALS[x]} for x in TRIALS},
    seed=[0],
)
