"""Preferences beside minimum risk: pairs of a list, or all its errors.

A small model of the built-in grammar is trained, and then trained on in three
ways: for likelihood, as before; for the risk of four candidates; and for the
best of the first model's four candidates against the worst, by direct
preference optimization. The numbers of updates are such that all take about
as long as those for the risk, which each run records. Errors and BLEU are of
sentences held out.
"""

import copy
import time
from dataclasses import replace
from functools import cache
from statistics import fmean

import torch

from annotated_transformer.data import encode_pairs, make_batch
from annotated_transformer.model import (
    EncoderDecoder,
    Transformer,
)
from annotated_transformer.risk import ExpectedError, Preferences
from annotated_transformer.training import Objective, batch_loss
from annotated_transformer.translation import Translator, corpus_scores

from .shared.grid import Arguments, Result, grid
from .shared.settings import Learning
from .shared.small_translator import BASE, corpus, tokenizer
from .shared.small_translator import RECIPE as SMALL
from .shared.training_loops import make_updates, trained, validated

SEEDS = (0, 1, 2)
NUMBER = 4  # candidates
HELD_OUT = 200  # sentences
BETA = 0.1
ON: Learning = {"batch_tokens": 512, "peak_lr": 5e-4, "warmup": 10}
STEPS = {"likelihood": 460, "risk": 60, "preferences": 67}
RECIPE = SMALL | {"on": ON, "steps": STEPS, "candidates": NUMBER, "beta": BETA}


@cache
def first(seed: int) -> Transformer:
    """The model that all of a seed's runs go on from."""
    return trained(BASE, seed, corpus().train, tokenizer())


def mean_error(model: EncoderDecoder) -> float:
    """The mean error of what the search finds."""
    pairs = corpus().tests["test"][:HELD_OUT]
    batch = make_batch(encode_pairs(pairs, tokenizer(), 128)[0])
    with torch.no_grad():
        _, errors = ExpectedError(tokenizer(), NUMBER).candidates(model, batch)
    return errors.mean().item()


def measured(model: EncoderDecoder) -> Result:
    """How good translations are, and how likely the references."""
    pieces = tokenizer()
    result = validated(model, pieces, corpus().valid, 128)
    found = {"error": mean_error(model), "perplexity": result.perplexity}
    pairs = corpus().tests["test"][:HELD_OUT]
    sources, references = zip(*pairs, strict=True)
    for name, beam in {"greedy": 1, "beam": 5}.items():
        outputs = Translator(model, pieces)(list(sources), beam=beam)
        scores = corpus_scores(outputs, references)
        words = fmean(len(output.split()) for output in outputs)
        found |= {f"{name}_bleu": scores.bleu, f"{name}_words": words}
    return found


def run(seed: int, way: str | None = None) -> Result:
    """Train the first model, go on in one way or not at all, and measure."""
    begun = first(seed)
    if way is None:
        return {"updates": 0, "seconds": 0.0, **measured(begun)}
    model, before = copy.deepcopy(begun), time.process_time()
    objectives: dict[str, Objective] = {
        "likelihood": batch_loss,
        "risk": ExpectedError(tokenizer(), NUMBER),
        "preferences": Preferences(
            tokenizer(), NUMBER, copy.deepcopy(begun), BETA
        ),
    }
    steps = STEPS[way]
    learning: Learning = {**ON, "steps": steps}
    on = replace(BASE.train, **learning, seed=seed)
    make_updates(corpus().train, tokenizer(), model, on, objectives[way])
    seconds = time.process_time() - before
    return {"updates": steps, "seconds": seconds, **measured(model)}


WAYS: dict[str, Arguments] = {
    "first": {},
    **{way: {"way": way} for way in STEPS},
}
RUNS = grid(run, "{way} seed={seed}", seed=SEEDS, way=WAYS)
