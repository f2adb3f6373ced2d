"""What little text needs: one change at a time on 4,000 captions.

The first 4,000 captions of Multi30k are read thirteen times, so that what
helps against learning by heart has something to help against. One thing is
changed at a time, then some with twice the updates, and at last those that
paid there, together. With the targets shuffled a model cannot know what it
reads and must write far worse: the negative control.
"""

from dataclasses import replace
from functools import cache

from torch import Tensor

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.data import (
    Pair,
    Tokenizer,
    encode_pairs,
)
from annotated_transformer.model import (
    EncoderDecoder,
    ModelConfig,
    Transformer,
)
from annotated_transformer.runs.batches import (
    batch_change,
    fixed_batches,
)
from annotated_transformer.runs.objectives import objective_of
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import LabConfig, Recipe
from annotated_transformer.training import TrainConfig, average, validate

from .shared.grid import Arguments, Result, grid
from .shared.made_pairs import dealt
from .shared.settings import Learning, Sizes
from .shared.small_translator import LEARNING as SHORT
from .shared.small_translator import SIZES
from .shared.training_loops import begun, greedy_bleu

PAIRS = 4000
SAVED = 5  # checkpoints over the last quarter, for their mean
LEARNING: Learning = {
    **SHORT,
    "steps": 1000,
    "batch_tokens": 1024,
    "warmup": 100,
}
LONG: Learning = {"steps": 2000}
PIECES = 4000
RECIPE = {
    "pairs": PAIRS,
    "model": SIZES,
    "train": LEARNING,
    "vocab_size": PIECES,
}
BASE = Recipe(
    ModelConfig(**SIZES), TrainConfig(**LEARNING), PIECES, normalize=False
)


@cache
def corpus() -> Corpus:
    """The first captions of Multi30k, from English to German."""
    text = multi30k()
    return replace(text, train=text.train[:PAIRS])


@cache
def tokenizer(size: int) -> Tokenizer:
    """The pieces, learned from both sides of these captions."""
    return learn_tokenizer(corpus(), replace(BASE, vocab_size=size))


def trained(
    learned: list[Pair],
    pieces: Tokenizer,
    train: TrainConfig,
    labs: LabConfig,
    sizes: Sizes | None = None,
) -> tuple[Transformer, list[dict[str, Tensor]]]:
    """A model of the pairs, and its weights over the last quarter."""
    config = replace(BASE.model, **(sizes or {}))
    model, turns = begun(
        replace(BASE, model=config, train=train),
        train.seed,
        learned,
        pieces,
        resplit=batch_change(pieces, replace(BASE, labs=labs)),
        objective=objective_of(labs, pieces),
    )
    every, saved = train.steps // (4 * SAVED), []
    for update in turns:
        left = train.steps - update.step
        if left % every == 0 and left < every * SAVED:
            state = model.state_dict()
            saved.append({name: x.clone() for name, x in state.items()})
    return model, saved


def measured(
    model: EncoderDecoder, pieces: Tokenizer, learned: list[Pair]
) -> Result:
    """Losses and BLEU of a model that has learned the pairs.

    Losses are nats a sentence, since pieces of different vocabularies cannot
    be compared: of validation text, and of what was learned from.
    """
    text = corpus()
    tested = text.tests["test_2016_flickr"]

    def nats(some: list[Pair]) -> float:
        encoded, _ = encode_pairs(some, pieces, BASE.train.max_length)
        found = validate(model, fixed_batches(encoded, 2048))
        tokens = sum(len(target) for _, target in encoded)
        return found.loss * tokens / len(encoded)

    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "nats": nats(text.valid),
        "nats of learned": nats(learned[: len(text.valid)]),
        "bleu": greedy_bleu(model, pieces, text.valid),
        "test bleu": greedy_bleu(model, pieces, tested),
    }


def run(
    seed: int,
    sizes: Sizes | None = None,
    learning: Learning | None = None,
    labs: LabConfig = BASE.labs,
    vocab_size: int = BASE.vocab_size,
    shuffled: bool = False,
) -> Result:
    """Train with a change; losses, and BLEU, also of the mean of weights."""
    pieces, learned = tokenizer(vocab_size), corpus().train
    if shuffled:
        learned = dealt(learned)
    train = replace(BASE.train, seed=seed, **(learning or {}))
    model, saved = trained(learned, pieces, train, labs, sizes)
    found = measured(model, pieces, learned)
    model.load_state_dict(average(saved))
    return found | {"bleu of mean": greedy_bleu(model, pieces, corpus().valid)}


VARIATIONS: dict[str, Arguments] = {
    "base": {},
    "dropout 0": {"sizes": {"dropout": 0.0}},
    "dropout 0.2": {"sizes": {"dropout": 0.2}},
    "dropout 0.3": {"sizes": {"dropout": 0.3}},
    "no smoothing": {"learning": {"label_smoothing": 0.0}},
    "smoothing 0.2": {"learning": {"label_smoothing": 0.2}},
    "BPE-dropout": {"labs": LabConfig(bpe_dropout=0.1)},
    "R-Drop": {"labs": LabConfig(r_drop=5.0)},
    "1,000 pieces": {"vocab_size": 1000},
    "8,000 pieces": {"vocab_size": 8000},
    "not tied": {"sizes": {"tied": False}},
    "1 wide layer": {"sizes": {"layers": 1, "d_model": 80, "d_ff": 160}},
    "4 narrow layers": {"sizes": {"layers": 4, "d_model": 48, "d_ff": 96}},
    "post-norm": {"sizes": {"pre_norm": False}},
    "half batches": {"learning": {"batch_tokens": 512, "steps": 2000}},
    "double batches": {"learning": {"batch_tokens": 2048, "steps": 500}},
    "half the rate": {"learning": {"peak_lr": 3e-3}},
    "inverse sqrt": {"learning": {"schedule": "inverse_sqrt"}},
    "twice as long": {"learning": LONG},
    "long, dropout 0.2": {"sizes": {"dropout": 0.2}, "learning": LONG},
    "long, BPE-dropout": {
        "learning": LONG,
        "labs": LabConfig(bpe_dropout=0.1),
    },
    "long, R-Drop": {"learning": LONG, "labs": LabConfig(r_drop=5.0)},
    "long, half batch": {"learning": {"batch_tokens": 512, "steps": 4000}},
    "long, what paid": {
        "sizes": {"dropout": 0.2},
        "learning": {"batch_tokens": 512, "steps": 4000},
        "labs": LabConfig(r_drop=5.0),
    },
    "shuffled": {"shuffled": True},
}
SEEDS = (0, 1, 2)

RUNS = grid(run, "{name} seed={seed}", seed=SEEDS, name=VARIATIONS)
