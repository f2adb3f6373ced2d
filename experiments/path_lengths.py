"""Two letters among others: how far an LSTM learns to reach for them.

A string has two letters of the first half of the alphabet, which are to be
written, and others of the second half around them. Without attention all that
the decoder knows has come through the encoder's states, letter by letter, so
that the path to the two grows with what stands between them and the ends.
With attention the path is short. However long the string, as much is to be
remembered, and an update reads as many strings.

The two stand in the middle. In the control they come first: the encoder,
which also reads backwards, reads them last, and the path is short again.

The one without attention tries three rates at each place and length, with a
seed that does not decide. Both learn at the one that has the least loss in
the end.
"""

import random
from dataclasses import asdict, replace
from functools import partial
from statistics import fmean

import torch

from annotated_transformer.data import Example, encode_pairs, make_batch

from .shared.grid import Result, Runs, grid, no_text
from .shared.letter_strings import LETTERS, letters
from .shared.training_loops import updates_on
from .shared.translators import TRAIN, models

UPDATES = 600
STRINGS = 32  # of an update
TRIED = (1.5e-3, 3e-3, 6e-3)
SEEDS = (0, 1, 2)
OTHER = 9  # the seed that tries the rates
RATES = {  # by place and letters around
    ("middle", 28): 6e-3,
    ("first", 28): 1.5e-3,
    ("middle", 2): 6e-3,
    ("middle", 10): 3e-3,
}
RECIPE = asdict(TRAIN) | {
    "steps": UPDATES,
    "batch_tokens": f"those of {STRINGS} strings",
    "drawn": 20_000,
    "tested": 1_000,
    "wanted": LETTERS[:8],
    "others": LETTERS[8:],
}
corpus = no_text("random letters")


def strings(count: int, around: int, before: int, seed: int) -> list[Example]:
    """Strings with so many letters around two and before them, as ids."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        others = "".join(rng.choices(RECIPE["others"], k=around))
        wanted = "".join(rng.choices(RECIPE["wanted"], k=2))
        pairs.append((others[:before] + wanted + others[before:], wanted))
    return encode_pairs(pairs, letters(), 64)[0]


def run(
    name: str,
    around: int,
    place: str,
    rate: float,
    seed: int,
    warmup: int = TRAIN.warmup,
) -> Result:
    """Train to write the two letters; the share that is written right."""
    before = {"middle": around // 2, "first": 0}[place]
    train = strings(RECIPE["drawn"], around, before, seed=0)
    torch.manual_seed(seed)
    model = models(len(letters()))[name]()
    longest = max(map(len, train[0]))
    config = replace(
        TRAIN,
        steps=UPDATES,
        batch_tokens=STRINGS * longest,
        peak_lr=rate,
        warmup=warmup,
        seed=seed,
    )
    losses = [x.loss.item() for x in updates_on(train, model, config)]
    test = make_batch(strings(RECIPE["tested"], around, before, seed=1))
    with torch.no_grad():
        logits = model.eval()(test.source, test.inputs)
    right = (logits.argmax(-1) == test.labels)[:, -3:-1]  # an end follows
    return {
        "right": round(right.float().mean().item(), 4),
        "loss": [
            round(fmean(losses[i : i + 20]), 4) for i in range(0, UPDATES, 20)
        ],
    }


RUNS: Runs = {}
for (place, around), chosen in RATES.items():
    here = partial(run, place=place, around=around)
    key = f"{place} around={around} seed={{seed}}"
    RUNS |= grid(
        partial(here, name="unattended"),
        "rate={rate} " + key,
        rate=TRIED,
        seed=[OTHER],
    )
    RUNS |= grid(
        partial(here, rate=chosen),
        "{name} " + key,
        name=("recurrent", "unattended"),
        seed=SEEDS,
    )
