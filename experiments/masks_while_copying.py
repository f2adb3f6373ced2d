"""Three wrong masks, and the right one, in a model that learns to copy.

The training that the book's page runs in the browser, here by the package: a
Transformer of 43,000 parameters reads strings of letters and writes them
again, forwards or backwards. Its masks are right, or have one of three bugs
of "bugs". What its own loss says is recorded beside the strings that it
writes without a slip, of 200 that it never reads.
"""

import random
from collections.abc import Callable, Iterator
from statistics import fmean

import torch

from annotated_transformer.data import Batch, Example, make_batch
from annotated_transformer.embedding import EOS, UNK
from annotated_transformer.model import (
    ModelConfig,
    greedy_decode,
    transformer,
)
from annotated_transformer.optimizer import adam
from annotated_transformer.training import TrainConfig, evaluating, updates

from .bugs import Program, control, no_mask, target_s_mask, upside_down
from .shared.grid import Result, grid, no_text
from .shared.settings import Learning, Sizes

LETTERS = "abcdefghijkl"
VOCABULARY = UNK + 1 + len(LETTERS)
WIDTH = 32
SIZES: Sizes = {
    "layers": 2,
    "d_model": WIDTH,
    "d_ff": 64,
    "heads": 4,
    "dropout": 0.0,
    "pre_norm": True,
}
LEARNING: Learning = {
    "steps": 600,
    "schedule": "linear",
    "warmup": 100,
    "peak_lr": 0.006,
    "label_smoothing": 0.0,
    "clip": 1.0,
}
SHORTEST, LONGEST = 3, 8  # letters
BATCH = 16  # strings
TESTED = 200
EVERY = 25  # updates
RECIPE = {
    "model": {"vocab_size": VOCABULARY, **SIZES},
    "train": LEARNING,
    "letters": LETTERS,
    "lengths": [SHORTEST, LONGEST],
    "batch": BATCH,
    "tested": TESTED,
    "every": EVERY,
}
corpus = no_text("random strings")
BUGS = {
    "right": control,
    "no mask": no_mask,
    "mask upside down": upside_down,
    "target's mask": target_s_mask,
}
String = tuple[int, ...]  # of letters, as ids
TASKS = {"copy": 1, "reverse": -1}


def strings(rng: random.Random) -> Iterator[String]:
    """Strings of letters as ids, without end."""
    while True:
        length = rng.randint(SHORTEST, LONGEST)
        yield tuple(
            rng.randrange(len(LETTERS)) + UNK + 1 for _ in range(length)
        )


def example(string: String, step: int) -> Example:
    """What is read and what is to be written."""
    return [*string, EOS], [*string[::step], EOS]


def batches(seed: int, step: int, left_out: set[String]) -> Iterator[Batch]:
    """Batches of strings, none of them among those left out."""
    drawn = (x for x in strings(random.Random(seed)) if x not in left_out)
    while True:
        yield make_batch([example(next(drawn), step) for _ in range(BATCH)])


def train(bug: Callable[[Program], None], step: int, seed: int) -> Result:
    """Train; the loss and how many strings are right, on the way."""
    new: dict[String, None] = {}
    drawn = strings(random.Random(1000 + seed))
    while len(new) < TESTED:
        new[next(drawn)] = None
    asked = make_batch([example(string, step) for string in new])
    torch.manual_seed(seed)
    program = Program(transformer(ModelConfig(VOCABULARY, **SIZES)))
    bug(program)
    model = program.model
    losses, right = [], []
    for update in updates(
        model,
        batches(seed, step, {*new}),
        adam(model.parameters()),
        TrainConfig(**LEARNING, seed=seed),
        WIDTH,
    ):
        losses.append(update.loss.item())
        if update.step % EVERY == 0:
            with evaluating(model):
                written = greedy_decode(model, asked.source).tolist()
            right.append(
                sum(
                    row[: len(string)] == [*string[::step]]
                    and row[len(string) : len(string) + 1] == [EOS]
                    for string, row in zip(new, written, strict=True)
                )
            )
    means = [
        fmean(losses[i : i + EVERY]) for i in range(0, len(losses), EVERY)
    ]
    return {
        "curve": [round(loss, 4) for loss in means],
        "right": right,
        "last loss": round(means[-1], 4),
        "last right": right[-1],
    }


RUNS = grid(
    train,
    "bug={bug} task={step} seed={seed}",
    bug={name: {"bug": bug} for name, bug in BUGS.items()},
    step={name: {"step": step} for name, step in TASKS.items()},
    seed=range(3),
)
