"""What a translator writes while it learns, beside its loss.

The model of "pronoun_resolution" is trained on the same text in half as many
updates, and stopped sixteen times on the way. Each time its held-out loss is
measured, it translates the sentence that the book follows, which it never
reads ("The dog ate the soup because it was hungry."), and of all variations
of that sentence it is counted how many pronouns are right, freely decoded.
"""

from dataclasses import replace
from statistics import fmean

from annotated_transformer.data import encode_pairs
from annotated_transformer.runs.batches import fixed_batches
from annotated_transformer.teaching.pronoun_sentences import (
    PRONOUNS,
    variations,
)
from annotated_transformer.training import validate
from annotated_transformer.translation import Translator

from .pronoun_resolution import BASE as SHIPPED
from .pronoun_resolution import begun, corpus, pronouns_in, tokenizer
from .shared.grid import grid

BASE = replace(SHIPPED, train=replace(SHIPPED.train, steps=4000))
LOOKS = (
    *(10, 50, 100, 150, 200, 250, 300, 400, 500, 600, 750),
    *(1000, 1500, 2000, 3000, 4000),
)
SENTENCES = (
    "The dog ate the soup because it was hungry.",
    "The dog ate the soup because it was sweet.",
)
RECIPE = BASE.as_json() | {"looks": [*LOOKS], "sentences": [*SENTENCES]}


def look(translator: Translator) -> dict:
    """What it writes now, and how many pronouns of the variations are right.

    A translation without exactly one pronoun, the right one, is wrong.
    """
    asked = list(variations())
    outputs = translator([variation.source for variation in asked], beam=1)
    return {
        "written": translator(list(SENTENCES), beam=1),
        "pronouns": fmean(
            pronouns_in(output) == [PRONOUNS[variation.right]]
            for output, variation in zip(outputs, asked, strict=True)
        ),
    }


def train(seed: int) -> dict:
    """Train; the curve of the loss, and what was found at each look."""
    pieces = tokenizer()
    model, turns = begun(BASE, seed)
    longest = BASE.train.max_length
    held_out, _ = encode_pairs(corpus().valid, pieces, longest)
    valid = fixed_batches(held_out, 2048)
    translator = Translator(model, pieces)
    losses: list[float] = []
    found: dict[str, list] = {}
    for update in turns:
        losses.append(update.loss.item())
        if update.step in LOOKS:
            score = validate(model, valid)
            seen = {"loss": score.loss, "accuracy": score.accuracy}
            model.eval()  # the loop sets it back
            for name, value in (seen | look(translator)).items():
                found.setdefault(name, []).append(value)
    return found | {
        "curve": [round(loss, 4) for loss in losses[9::10]],
        "last loss": found["loss"][-1],
        "last pronouns": found["pronouns"][-1],
    }


RUNS = grid(train, "trained seed={seed}", seed=range(3))
