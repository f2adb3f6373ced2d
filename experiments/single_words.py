"""A word alone: why it breaks a translator of captions, and what cures it.

A translator from English to German learns captions by the fast recipe of
`speed_run_captions`, and from its weights makes 150 more updates, on captions
and, for a fifth of what is read, something short that is made of them. Words
that are judged are held out: their single form is in no training. Six ways of
typing them are translated. Right is what the pairs link three times. `chosen`
asks without a search which of 500 German words has the highest probability,
its end included.
"""

import random
from collections.abc import Callable
from functools import cache, partial

import torch

from annotated_transformer.data import Pair
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator, corpus_scores

from .shared.grid import Result, Runs, grid
from .shared.made_pairs import dealt
from .shared.settings import Learning
from .shared.timed_training import FOLDERS, train_timed
from .shared.training_loops import make_updates
from .shared.word_pairs import Forms, forms, is_held_out, links_of, short_pairs
from .speed_run_captions import NOW, TASK, corpus

FOLDER = FOLDERS / "single_words"
SEEDS = (0, 1, 2)
SHARE = 0.2  # of what is read is short
CANDIDATES = 500
LEARNING: Learning = {
    "steps": 150,
    "batch_tokens": 4096,
    "schedule": "linear",
    "warmup": 15,
    "peak_lr": 1e-3,
    "label_smoothing": 0.1,
    "clip": 1.0,
}
RECIPE = {
    "train": LEARNING,
    "share": SHARE,
    "candidates": CANDIDATES,
}


@cache
def base() -> Translator:
    """A translator by the fast recipe, trained once."""
    made = train_timed(FOLDER / "base", corpus, TASK.with_fields(NOW))
    return Translator.load(made.folder)


@cache
def short() -> tuple[list[Pair], Forms]:
    """What is short in the captions, and the words that are judged."""
    pairs = corpus().train
    links = links_of(base(), pairs)
    return short_pairs(pairs, links), forms(pairs, links)


def of_one_word(pairs: list[Pair]) -> list[Pair]:
    """The pairs of single words."""
    return [pair for pair in pairs if len(pair[0].split()) == 1]


def without_stop(pairs: list[Pair]) -> list[Pair]:
    """The pairs that have no full stop."""
    return [pair for pair in pairs if not pair[0].endswith(".")]


STAGES: dict[str, Callable[[list[Pair]], list[Pair]] | None] = {
    "captions": None,
    "captions without a full stop": lambda _: [
        (source.removesuffix("."), target.removesuffix("."))
        for source, target in corpus().train
    ],
    "phrases": lambda short: [x for x in short if len(x[0].split()) > 1],
    "words, targets dealt out": lambda short: dealt(of_one_word(short)),
    "words without a full stop": lambda short: without_stop(
        of_one_word(short)
    ),
    "words": of_one_word,
    "words and phrases": lambda short: short,
}


def chosen(model: Translator, words: Forms, some: list[str]) -> float:
    """The share of words whose likeliest single word is right."""
    every = sorted({x for found in words.translations.values() for x in found})
    others = random.Random(0).sample(every, CANDIDATES)
    right = 0
    for word in some:
        known = words.translations[word]
        texts = [*{*others, *known}]
        nats = score_pairs(model, [(word, text) for text in texts], 0, 4096)
        best = max(range(len(texts)), key=lambda i: nats[i].log_probability)
        right += texts[best] in known
    return right / len(some)


def measured(model: Translator) -> Result:
    """Single words, chosen words, and BLEU on validation captions."""
    words = short()[1]
    held = sorted(filter(is_held_out, words.translations))
    sources, references = map(list, zip(*corpus().valid, strict=True))
    return {
        "words": len(held),
        "right": words.shares(model, held),
        "chosen": chosen(model, words, held),
        "bleu": corpus_scores(model(sources, beam=1), references).bleu,
    }


def stage(seed: int, name: str) -> Result:
    """Train on from the base with something short, and measure."""
    made, pairs = STAGES[name], corpus().train
    if made is not None:
        some = made(short()[0])
        number = round(SHARE / (1 - SHARE) * len(pairs))
        pairs = pairs + random.Random(seed).choices(some, k=number)
    model = Translator.load(FOLDER / "base")
    torch.manual_seed(seed)
    config = TrainConfig(**LEARNING, seed=seed)
    make_updates(pairs, model.tokenizer, model.model, config)
    return measured(model)


def start(seed: int) -> Result:
    """Measure the base as it is."""
    return measured(base())


RUNS: Runs = {"start seed=0": partial(start, seed=0)}
RUNS |= grid(
    stage,
    "{stage} seed={seed}",
    stage={name: {"name": name} for name in STAGES},
    seed=SEEDS,
)
