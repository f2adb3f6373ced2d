"""Fine-tuning on two hundred pairs: what is gained, and what is forgotten.

The shipped translator of captions into German goes on with 200 pairs of the
built-in grammar, drawn by the seed, in 100 updates: at three rates; at the
highest with 200 old captions mixed in, half of what it reads; and with an
adapter of rank 4 instead of its own matrices. Perplexity and BLEU (cased,
greedy) are measured on new text, which the grammar makes, and on captions.
"""

import copy
import random
from functools import cache, partial

import torch

from annotated_transformer.adapting import add_adapters, merge_adapters
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import Pair
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.training import TrainConfig

from .shared.grid import Arguments, Result, Runs, grid
from .shared.settings import Learning
from .shared.shipped_translator import MODEL, translator, weights
from .shared.training_loops import greedy_bleu, make_updates, validated
from .table3_captions import HELD_OUT, corpus

SEEDS = (0, 1, 2)
PAIRS = 200
SCORED = 150  # sentences of a text
LEARNING: Learning = {
    "steps": 100,
    "batch_tokens": 512,
    "schedule": "linear",
    "warmup": 10,
    "clip": 1.0,
}
WAYS: dict[str, Arguments] = {
    "rate 0.0003": {"rate": 3e-4},
    "rate 0.001": {"rate": 1e-3},
    "rate 0.003": {"rate": 3e-3},
    "rate 0.003, half old": {"rate": 3e-3, "old": PAIRS},
    "rank 4, rate 0.01": {"rate": 1e-2, "rank": 4},
}
RECIPE = {
    "model": MODEL,
    "weights": weights(MODEL),
    "train": LEARNING,
    "pairs": PAIRS,
    "scored": SCORED,
}


@cache
def texts() -> dict[str, tuple[list[Pair], list[Pair], list[Pair]]]:
    """New and old text: to learn from, to validate on and to translate."""
    new, old = builtin_corpus(), corpus()
    return {
        "new": (new.train, new.valid[:SCORED], new.tests["test"][:SCORED]),
        "old": (old.train, old.valid[:SCORED], old.tests[HELD_OUT][:SCORED]),
    }


def measured(model: EncoderDecoder) -> Result:
    """How well a model predicts and translates new text and old."""
    pieces, found = translator().tokenizer, {}
    for name, (_, valid, pairs) in texts().items():
        result = validated(model, pieces, valid, 256)
        found[f"{name}_perplexity"] = result.perplexity
        found[f"{name}_bleu"] = greedy_bleu(model, pieces, pairs)
    return found


def run(seed: int, rate: float = 0.0, old: int = 0, rank: int = 0) -> Result:
    """Fine-tune in one way, or not at all without a rate; and measure."""
    model = copy.deepcopy(translator().model)
    if not rate:
        return measured(model)
    drawn = random.Random(seed)
    pairs = drawn.sample(texts()["new"][0], PAIRS)
    pairs += drawn.sample(texts()["old"][0], old)
    torch.manual_seed(seed)
    if rank:
        add_adapters(model, rank)
    trained = [x.numel() for x in model.parameters() if x.requires_grad]
    learning: Learning = {**LEARNING, "peak_lr": rate}
    config = TrainConfig(**learning, seed=seed)
    make_updates(pairs, translator().tokenizer, model, config)
    if rank:
        merge_adapters(model)
    return {"trained": sum(trained), **measured(model)}


RUNS: Runs = {"start seed=0": partial(run, seed=0)}
RUNS |= grid(run, "{way} seed={seed}", seed=SEEDS, way=WAYS)
