"""Captions: the quality of the recipe of 2017 in a fraction of its time.

All 29,000 pairs of Multi30k, English to German, from nothing. A trial has one
seed and is scored on the validation sentences alone: nats a character of the
reference, and BLEU. Recipes that are compared have three, and are scored on
the test sets too, once.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.data import Pair
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.runs.recipes import Recipe, recipe_of
from annotated_transformer.translation import Translator, corpus_scores

from .shared.grid import Result, grid
from .shared.timed_training import FOLDERS, train_timed

FOLDER = FOLDERS / "speed_run_captions"
# as it is typed after --set, with the recipe of 2017
MUON = (
    "train.optimizer=muon",
    "train.weight_decay=0.1",
    "train.schedule=stable",
    "train.decay=0.5",
    "train.steps=2000",
    "train.warmup=200",
)
ROTARY = (*MUON, "vocab_size=4000", "model.positions=rotary")
FAST = (*ROTARY, "train.peak_lr=0.008")
FIRM = (*FAST, "train.label_smoothing=0", "model.dropout=0.15")
NOW = (
    *FIRM,
    "train.batch_tokens=2048",
    "train.steps=4000",
    "train.warmup=300",
)
TRIALS: dict[str, tuple[str, ...]] = {
    "rotary positions": ROTARY,
    "rate 0.008": FAST,
    "no smoothing, dropout 0.15": FIRM,
}
COMPARED: dict[str, tuple[str, ...]] = {"now": NOW, "2017": ()}
SEEDS = (0, 1, 2)
TASK = recipe_of("multi30k-2017")
RECIPE = {"task": TASK.as_json()}
corpus = multi30k


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


def learned(
    folder: Path,
    read: Callable[[], Corpus],
    task: Recipe,
    fields: Iterable[str],
) -> Result:
    """Train a translator with some other settings; validate."""
    made = train_timed(folder, read, task.with_fields(fields))
    translator, valid = Translator.load(made.folder), read().valid
    targets = [target for _, target in valid]
    tokens = sum(len(translator.tokenizer.encode(x)) for x in targets)
    a_letter = tokens / sum(map(len, targets))
    return {
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "training_seconds": made.seconds,
        "curve": [(time, loss * a_letter) for time, loss in made.curve],
        "valid": scores(translator, valid),
    }


def tried(seed: int, name: str) -> Result:
    """A trial."""
    fields = *TRIALS[name], f"train.seed={seed}"
    return learned(FOLDER / f"{name} {seed}", corpus, TASK, fields)


def compared(seed: int, name: str) -> Result:
    """A recipe that is compared, scored on the test sets, too."""
    folder = FOLDER / f"{name} {seed}"
    fields = *COMPARED[name], f"train.seed={seed}"
    found = learned(folder, corpus, TASK, fields)
    translator = Translator.load(folder)
    tests = {
        test: scores(translator, pairs)
        for test, pairs in corpus().tests.items()
    }
    return found | {"tests": tests}


RUNS = grid(
    tried, "tried={name} seed={seed}", name=[*TRIALS], seed=[0]
) | grid(compared, "recipe={name} seed={seed}", seed=SEEDS, name=[*COMPARED])
