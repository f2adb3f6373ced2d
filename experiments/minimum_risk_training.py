"""Training for the score: what goes on for BLEU, and what for likelihood.

A small model of the captions is trained, and then trained on in three ways,
each with as many updates of the same sentences: as before, for likelihood;
to make the expected error of its own translations small; and, as a control,
with those errors dealt out to the wrong candidates of each sentence. The
scores are of greedy translations and of a beam, on captions held out.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from torch import Tensor

from annotated_transformer.data import Batch, Tokenizer
from annotated_transformer.model import (
    EncoderDecoder,
    Transformer,
)
from annotated_transformer.risk import ExpectedError
from annotated_transformer.training import Objective, batch_loss
from annotated_transformer.translation import Translator, corpus_scores

from .shared.grid import Arguments, Result, grid
from .shared.settings import Learning
from .shared.training_loops import make_updates, trained, validated
from .table3_captions import BASE, HELD_OUT, corpus, tokenizer
from .table3_captions import RECIPE as CAPTIONS

SEEDS = (0, 1, 2)
CANDIDATES = 4
ON: Learning = {
    "steps": 300,
    "batch_tokens": 768,
    "peak_lr": 5e-4,
    "warmup": 20,
}
RECIPE = CAPTIONS | {"on": ON, "candidates": CANDIDATES}


class WrongErrors(ExpectedError):
    """The control: each candidate has the error of another."""

    def candidates(
        self, model: EncoderDecoder, batch: Batch
    ) -> tuple[Tensor, Tensor]:
        """The same candidates, and their errors moved on by one."""
        labels, errors = super().candidates(model, batch)
        return labels, errors.roll(1, dims=1)


OBJECTIVES: dict[str, Callable[[Tokenizer, int], Objective]] = {
    "likelihood": lambda *_: batch_loss,
    "risk": ExpectedError,
    "wrong errors": WrongErrors,
}


@cache
def first(seed: int) -> Transformer:
    """The model that all of a seed's runs go on from."""
    return trained(BASE, seed, corpus().train, tokenizer())


def measured(model: Transformer) -> Result:
    """How likely the references are, and how good the translations."""
    text, pieces = corpus(), tokenizer()
    limits = BASE.train.max_length, BASE.train.batch_tokens
    result = validated(model, pieces, text.valid, *limits)
    translator = Translator(model, pieces)
    sources, references = zip(*text.tests[HELD_OUT], strict=True)
    found = {"perplexity": result.perplexity}
    for name, beam in {"greedy": 1, "beam": 5}.items():
        outputs = translator(list(sources), beam=beam)
        scores = corpus_scores(outputs, references, text.target)
        words = sum(len(output.split()) for output in outputs)
        found |= {
            f"{name}_bleu": scores.bleu_lowercase,
            f"{name}_chrf": scores.chrf,
            f"{name}_words": words / len(outputs),
        }
    return found


def run(seed: int, way: str | None = None) -> Result:
    """Train the first model, go on in one way or not at all, and measure."""
    model = first(seed)
    if way is not None:
        model = copy.deepcopy(model)
        on = replace(BASE.train, **ON, seed=seed)
        objective = OBJECTIVES[way](tokenizer(), CANDIDATES)
        make_updates(corpus().train, tokenizer(), model, on, objective)
    return measured(model)


WAYS: dict[str, Arguments] = {
    "first": {},
    **{way: {"way": way} for way in OBJECTIVES},
}
RUNS = grid(run, "{way} seed={seed}", seed=SEEDS, way=WAYS)
