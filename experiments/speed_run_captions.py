"""What is tried to reach the recipe of 2017 on captions in less time.

All 29,000 pairs of Multi30k, English to German, from nothing. Each run has
one seed and is scored on the validation sentences alone: nats a character of
the reference, and BLEU.
"""

from collections.abc import Iterable

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.data import Pair
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.runs.recipes import recipe_of
from annotated_transformer.translation import Translator, corpus_scores

from .shared.grid import Result, grid
from .shared.timed_training import FOLDERS, train_timed

FOLDER = FOLDERS / "speed_run_captions"
# as it is typed: what follows --set
MUON = (
    "train.optimizer=muon",
    "train.weight_decay=0.1",
    "train.schedule=stable",
    "train.decay=0.5",
    "train.steps=2000",
    "train.warmup=200",
)
FEWER = (*MUON, "vocab_size=4000")
ROTARY = (*FEWER, "model.positions=rotary")
# and a preset before it
TRIALS: dict[str, tuple[str, ...]] = {
    "Muon": ("tiny", *MUON),
    "4,000 subwords": ("tiny", *FEWER),
    "rotary positions": ("tiny", *ROTARY),
    "parts of today": ("modern", *FEWER),
    "rate 0.008": ("tiny", *ROTARY, "train.peak_lr=0.008"),
    "no smoothing": ("tiny", *ROTARY, "train.label_smoothing=0"),
    "dropout 0.2": ("tiny", *ROTARY, "model.dropout=0.2"),
    "2017": ("tiny",),
}
RECIPE = {"preset": "tiny"}


def corpus() -> Corpus:
    """Captions in English and German."""
    return multi30k()


def scores(translator: Translator, pairs: list[Pair]) -> dict[str, float]:
    """Nats a character of the reference, and cased BLEU with beam 5."""
    sources, references = map(list, zip(*pairs, strict=True))
    scored = score_pairs(translator, pairs)
    nats = -sum(one.log_probability for one in scored)
    outputs = translator(sources, beam=5, alpha=0.6)
    return {
        "nats": nats / sum(map(len, references)),
        "bleu": corpus_scores(outputs, references).bleu,
    }


def learned(key: str, preset: str, fields: Iterable[str]) -> Result:
    """Train a translator by a recipe, and validate it."""
    recipe = recipe_of("multi30k", preset).with_fields(fields)
    made = train_timed(FOLDER / key, corpus, recipe)
    translator = Translator.load(made.folder)
    return {
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "training_seconds": made.seconds,
        "curve": made.curve,
        "valid": scores(translator, corpus().valid),
    }


def tried(seed: int, name: str, preset: str, fields: Iterable[str]) -> Result:
    """Train with other settings than those of 2017."""
    given = [*fields, f"train.seed={seed}"]
    return learned(f"{name} {seed}", preset, given)


RUNS = grid(
    tried,
    "tried={trial} seed={seed}",
    trial={
        name: {"name": name, "preset": preset, "fields": fields}
        for name, (preset, *fields) in TRIALS.items()
    },
    seed=[0],
)
