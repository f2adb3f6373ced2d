"""A deep encoder over one decoder layer: as large, and quicker to search with.

Two translators into German learn the same text from nothing: Multi30k's pairs
and what models made, from the same images' descriptions as well. One has four
layers of each kind, the other eight and one. Each is scored on validation
captions, and translates them in turns with the shipped one, the clock for
both. That has four layers of each kind as well, so the time of the first is
the control.

There is one seed of each: the record says how far apart two trainings ended,
and no more. The recorded ones were trained on a GPU, and timed on one core.
"""

import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.errors import UserError
from annotated_transformer.runs.recipes import LabConfig, Recipe
from annotated_transformer.runs.start import Start
from annotated_transformer.runs.train import train
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.translation import Translator, corpus_scores

from .back_translation import BASE as SHORT
from .back_translation import NO_REPEAT, ROOT, WRITERS, written
from .shared.grid import Result, grid
from .shared.settings import Learning, Sizes
from .shared.shipped_translator import MODEL
from .shared.training_loops import validated
from .table3_captions import corpus

WORK = ROOT / "_build" / "deep_encoder"
SHARES = {"round": 0.35, "targets": 0.15, "top 10": 0.25}
LEARN: Learning = {
    "steps": 4500,
    "batch_tokens": 16384,
    "average": 3,
    "checkpoint_every": 500,
}
RISK = 8  # candidates
FINISH: Learning = {
    "steps": 350,
    "batch_tokens": 1024,
    "peak_lr": 3e-4,
    "warmup": 20,
    "checkpoint_every": 100,
    "average": 5,
}
SIZES: dict[str, Sizes] = {
    "four over four": {"layers": 4},
    "eight over one": {"layers": 8, "decoder_layers": 1},
}
DROPOUT = 0.1
TIMED, ROUNDS = 320, 10  # captions, and how often each model translates them
RECIPE = {
    # the weights that were shipped when this was measured, and in turns with
    # which both were timed; nothing else depends on them
    "clock": (
        "fcb70cc1b9beacd57a956aeeff115b3185b817ab2d97fbbd33639cfdfb34218b"
    ),
    "model": SHORT.as_json()["model"] | {"dropout": DROPOUT},
    "train": SHORT.as_json()["train"] | LEARN,
    "labs": SHORT.as_json()["labs"],
    "risk": {"risk": RISK, **FINISH},
    "shares": SHARES,
    "vocab_size": SHORT.vocab_size,
    "no_repeat": NO_REPEAT,
}


def text() -> Corpus:
    """The pairs, and with their shares those that models made.

    A round of pairs is what `extra_pairs` makes of the pairs themselves.
    """
    found = corpus()
    for how, share in SHARES.items():
        path = WRITERS / "4.en-de" if how == "round" else written(how)
        found = found.with_extra(path, share)
    return found


def learned(shape: str, seed: int) -> Path:
    """The folder of a model of that shape, trained if it is not there."""
    first, last = (WORK / f"{shape}, seed {seed}{x}" for x in ("", ", risk"))
    model = replace(SHORT.model, **SIZES[shape], dropout=DROPOUT)
    recipe = replace(
        SHORT, model=model, train=replace(SHORT.train, **LEARN, seed=seed)
    )
    finish = replace(
        recipe,
        train=replace(recipe.train, **FINISH),
        labs=LabConfig(risk=RISK),
    )
    if not is_there(last, finish):
        if not is_there(first, recipe):
            train(first, text(), recipe, resume=first.exists())
        train(last, corpus(), finish, Start(first), resume=last.exists())
    return last


def is_there(folder: Path, recipe: Recipe) -> bool:
    """True if a model is; UserError if it was trained in another way."""
    if not (folder / "config.json").exists():
        return False
    history = read_config(folder).history
    known = Recipe.from_json(history.recipe) if history else None
    if not known or (known.train, known.labs) != (recipe.train, recipe.labs):
        raise UserError(f"{folder}: of another recipe; delete the folder")
    return True


def run(seed: int, shape: str) -> Result:
    """Train and score; seconds of translating, beside the shipped one's."""
    folder = learned(shape, seed)
    pairs = corpus().valid
    sources, references = map(list, zip(*pairs, strict=True))
    timed = {
        name: Translator.load(path)
        for name, path in (("", folder), ("shipped ", find_model(MODEL)))
    }
    taken: dict[str, list[float]] = {name: [] for name in timed}
    for turn in range(ROUNDS + 1):  # each is first in every other round
        for name in sorted(timed, reverse=turn % 2 == 1):
            start = time.process_time()
            timed[name](sources[:TIMED], no_repeat=NO_REPEAT)
            taken[name].append(time.process_time() - start)
    ours = timed[""]
    limits = SHORT.train.max_length, SHORT.train.batch_tokens
    found = validated(ours.model, ours.tokenizer, pairs, *limits)
    outputs = ours(sources, no_repeat=NO_REPEAT)
    history = read_config(folder).history
    assert history is not None  # else it would not be there
    return {
        "trained_on": history.machine.processor,
        "parameters": sum(p.numel() for p in ours.model.parameters()),
        "perplexity": found.perplexity,
        "bleu": corpus_scores(outputs, references, "de").bleu_lowercase,
        # of one core; without the first round, which warms up
        **{f"{name}seconds": median(s[1:]) for name, s in taken.items()},
    }


RUNS = grid(
    run,
    "{shape} seed={seed}",
    shape={shape: {"shape": shape} for shape in SIZES},
    seed=[0],
)
