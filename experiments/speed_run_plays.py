"""The recipe of the plays, an hour of one core, beside the one before it.

A language model of letters with fewer than a million parameters: `plays`, and
`text`, which was the recipe of plays before. They have three seeds each, which
are scored once on the tenth that is held out, over windows that follow each
other. `plays` was chosen by speed_run_plays_tried.py.
"""

import re
from statistics import fmean

from annotated_transformer.corpora.running_text import RunningText, plays
from annotated_transformer.runs.recipes import Recipe, recipe_of
from annotated_transformer.runs.windows import TextWindows, token_ids
from annotated_transformer.training import validate
from annotated_transformer.writing import Writer

from .shared.grid import Result, grid
from .shared.timed_training import FOLDERS, train_timed

HELD_OUT = 111_540  # letters, the last tenth
WORD = re.compile("[a-z']{4,}")
FOLDER = FOLDERS / "speed_run_plays"
NAMES = "plays", "text"
RECIPE = {
    "letters": HELD_OUT,
    "recipes": {name: recipe_of(name).as_json() for name in NAMES},
}
corpus = plays


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
    compared,
    "recipe={name} seed={seed}",
    name=NAMES,
    seed=range(3),
)
