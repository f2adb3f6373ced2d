"""Text in one language: what sources made for it give, English to German.

A model learns Multi30k's pairs and, beside them, descriptions of the same
images, whose other side one of `make translators` has written, the best of
pairs alone in its direction. One thing is varied at a time: how it wrote,
whether what it made is marked, how much of an epoch it is, and how many lines
there are. Sources dealt out anew among their targets teach German, but no
translating: the control.

Each side was made once, for all seeds. Subwords are learned from the pairs,
so a tag is cut into several. The recorded runs had a GPU, less than an hour of
it; a CPU wants half a day.
"""

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

from annotated_transformer.corpora.parallel_text import (
    read_parallel,
    write_tsv,
)
from annotated_transformer.data import Tokenizer
from annotated_transformer.pairs.back_translation import back_translate
from annotated_transformer.runs.devices import choose_device
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import recipe_of
from annotated_transformer.runs.start import Start
from annotated_transformer.runs.train import train
from annotated_transformer.translation import Translator, corpus_scores

from .shared.drawn_translations import draw_translations
from .shared.grid import Arguments, Result, grid
from .shared.made_pairs import dealt
from .shared.multi30k_descriptions import multi30k_descriptions
from .shared.training_loops import validated
from .table3_captions import corpus

ROOT = Path(__file__).parents[1]
WRITERS = ROOT / "runs" / "translators"  # as `make translators` makes them
WORK = ROOT / "_build" / "back_translation"
DEVICE = choose_device()
TASK = recipe_of("multi30k-2017")
BASE = replace(
    TASK,
    model=replace(TASK.model, d_ff=512),
    train=replace(TASK.train, steps=2500),
    normalize=False,
    tf32=True,
)
SHARE, FEW, TAG, NO_REPEAT = 0.5, 29_000, "<made>", 3
RECIPE = {
    "model": BASE.as_json()["model"],
    "train": BASE.as_json()["train"],
    "labs": BASE.as_json()["labs"],
    "vocab_size": BASE.vocab_size,
    "few": FEW,
    "tag": TAG,
    "tf32": BASE.tf32,
    "no_repeat": NO_REPEAT,
    # SHA-256 of their weights; yours, made on another machine, are alike
    "writers": {
        "de-en": (
            "55fc2044c7efd3b03247cfcf96b2cf566571ff178c3c2d9de30c75bc9cbe2204"
        ),
        "en-de": (
            "099717ad21017fd5eac30df77dc569b3d884be94dc8ac4f8eda152e0a527958a"
        ),
    },
}
TOP_K = {"sampling": 0, "top 10": 10}  # to draw from; 0: all


@cache
def pieces() -> Tokenizer:
    """The one vocabulary of all runs, learned from the pairs."""
    return learn_tokenizer(corpus(), BASE)


def written(how: str) -> Path:
    """The pairs with a side that a model wrote: beam, sampling, top 10.

    Sources for the German descriptions, or targets for the English ones.
    """
    path = WORK / f"{how}.tsv"
    WORK.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return path
    forward = how == "targets"
    name, language = ("en-de", "en") if forward else ("de-en", "de")
    writer = Translator.load(WRITERS / f"multi30k-{name}-pairs", DEVICE)
    lines = multi30k_descriptions(language)
    budget = 32768 if DEVICE == "cuda" else 4096
    if how in TOP_K:
        sources = draw_translations(writer, lines, budget, TOP_K[how])
        pairs = [
            pair
            for pair in zip(sources, lines, strict=True)
            if all(map(str.strip, pair))
        ]
    else:
        pairs = back_translate(
            writer, lines, forward=forward, batch_tokens=budget
        )
    write_tsv(path, pairs)
    return path


def changed(path: Path, change: str) -> Path:
    """A file beside another: of its pairs, tagged, a few or dealt anew."""
    pairs = read_parallel([path])
    if change == "tagged":
        pairs = [(f"{TAG} {source}", target) for source, target in pairs]
    elif change == "few":
        pairs = random.Random(0).sample(pairs, FEW)
    else:
        pairs = dealt(pairs)
    path = path.with_name(f"{path.stem}, {change}.tsv")
    write_tsv(path, pairs)
    return path


def run(seed: int, made: dict[str, float | None], change: str = "") -> Result:
    """Learn the pairs and what was made; validation perplexity, and BLEU."""
    text = corpus()
    for how, share in made.items():
        path = written(how)
        text = text.with_extra(
            changed(path, change) if change else path, share
        )
    recipe = replace(BASE, train=replace(BASE.train, seed=seed))
    parts = [f"{how} {share}" for how, share in made.items()]
    folder = WORK / ", ".join([*parts, change or "as made", f"seed {seed}"])
    start = Start(tokenizer=pieces())
    train(folder, text, recipe, start, resume=folder.exists())
    found = Translator.load(folder, DEVICE)
    sources, references = zip(*text.valid, strict=True)
    outputs = found([*sources], no_repeat=NO_REPEAT)
    limits = recipe.train.max_length, recipe.train.batch_tokens
    result = validated(found.model, found.tokenizer, text.valid, *limits)
    return {
        "extra": len(text.train) - len(corpus().train),
        "made": {
            name: its_sum
            for name, its_sum in text.checksums.items()
            if name.startswith("extra")
        },
        "perplexity": result.perplexity,
        "bleu": corpus_scores(outputs, references, "de").bleu_lowercase,
    }


VARIATIONS: dict[str, Arguments] = {
    "pairs alone": {"made": {}},
    "beam": {"made": {"beam": SHARE}},
    "sampling": {"made": {"sampling": SHARE}},
    "top 10": {"made": {"top 10": SHARE}},
    "top 10, tagged": {"made": {"top 10": SHARE}, "change": "tagged"},
    "top 10, no share": {"made": {"top 10": None}},
    "top 10, few": {"made": {"top 10": SHARE}, "change": "few"},
    "top 10, dealt": {"made": {"top 10": SHARE}, "change": "dealt"},
    "targets": {"made": {"targets": SHARE}},
    "top 10 and targets": {
        "made": {"top 10": SHARE / 2, "targets": SHARE / 2}
    },
}
SEEDS = (0, 1, 2)

RUNS = grid(run, "{name} seed={seed}", seed=SEEDS, name=VARIATIONS)
