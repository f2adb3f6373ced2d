"""What is tried for an hour with Shakespeare's plays.

A language model of letters with fewer than a million parameters. Most runs
have a quarter of an hour of one core, some an hour. They learn from the first
19 twentieths of the training text, and are scored on the last; the tenth that
is held out is not looked at.
"""

from collections.abc import Iterable

from annotated_transformer.corpora.running_text import RunningText, plays
from annotated_transformer.runs.recipes import recipe_of
from annotated_transformer.runs.windows import TextWindows, token_ids
from annotated_transformer.training import validate
from annotated_transformer.writing import Writer

from .shared.grid import Result, grid
from .shared.timed_training import FOLDERS, train_timed

LETTERS = 1_003_854  # of the training text; 111,540 are held out
WINDOW = 256  # letters that are asked for; the one before is only read
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
RECIPE = {"base": BASE, "letters": LETTERS, "window": WINDOW}


def corpus() -> RunningText:
    """The plays that come with the package."""
    return plays()


def training_text() -> RunningText:
    """The letters that a model may learn from, whose last part is scored."""
    path = FOLDER / "training.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(plays().lines())[:LETTERS], "utf-8")
    return RunningText.from_files([path], held_out=0.05)


def scored(writer: Writer, text: RunningText, letters: int) -> float:
    """Nats a letter of the last letters, in windows that follow each other."""
    ids = token_ids(text, writer.tokenizer)[1:-1]  # without its two ends
    windows = TextWindows(ids[-letters:], WINDOW, 16)
    return validate(writer.model, windows).loss


def learned(key: str, text: RunningText, fields: Iterable[str]) -> Result:
    """Train a writer by a recipe, and score it on the end of its text."""
    recipe = recipe_of("plays").with_fields(fields)
    made = train_timed(FOLDER / key, lambda: text, recipe)
    writer = Writer.load(made.folder)
    return {
        "parameters": sum(p.numel() for p in writer.model.parameters()),
        "training_seconds": made.seconds,
        "curve": made.curve,
        "loss": scored(writer, text, int(text.size * text.held_out)),
    }


def tried(seed: int, name: str, fields: Iterable[str]) -> Result:
    """Train with other settings than those of the base."""
    given = (*BASE, *fields, f"train.seed={seed}")
    return learned(f"{name} {seed}", training_text(), given)


RUNS = grid(
    tried,
    "tried={trial} seed={seed}",
    trial={x: {"name": x, "fields": TRIALS[x]} for x in TRIALS},
    seed=[0],
)
