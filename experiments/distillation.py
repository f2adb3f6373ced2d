"""Distillation: a third of the shipped translator's size, taught by it.

The student is half as wide as the translator into German, and has its
subwords. Two things that a teacher gives are varied apart. The text: German by
people ("references"), or what the teacher writes for the same captions
("outputs"). The signal: the text's own words, smoothed, or the teacher's
probabilities of every next subword, whatever the text goes on with.

Expected before the first run: outputs alone gain more than probabilities
alone, since a regular text is easier for a small model; both together most,
but less than the sum of the two; and whoever learns outputs predicts people's
words worse than one that learns these words, though it translates better.
"""

from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.corpora.parallel_text import (
    read_parallel,
    write_tsv,
)
from annotated_transformer.data import Batch, Pair
from annotated_transformer.model import EncoderDecoder, ModelConfig
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import TrainConfig, batch_loss, predict
from annotated_transformer.translation import Translator, corpus_scores

from .shared.grid import Result, grid
from .shared.settings import Learning, Search, Sizes
from .shared.shipped_translator import RECIPE as TEACHER
from .shared.shipped_translator import SEARCH, corpus, translator
from .shared.training_loops import begun, validated
from .table3_captions import HELD_OUT

WORK = Path(__file__).parents[1] / "_build" / "distillation"
SIZES: Sizes = {
    "layers": 4,
    "d_model": 64,
    "d_ff": 256,
    "heads": 4,
    "dropout": 0.0,
    "pre_norm": True,
}
LEARNING: Learning = {
    "steps": 800,
    "batch_tokens": 1024,
    "schedule": "linear",
    "warmup": 80,
    "peak_lr": 8e-3,
    "label_smoothing": 0.1,
    "clip": 1.0,
}
# a beam of two writes as well as one of five, in half the time
WRITES: Search = {**SEARCH, "beam": 2}
RECIPE = {**TEACHER, "search": WRITES, "model": SIZES, "train": LEARNING}
BASE = Recipe(ModelConfig(**SIZES), TrainConfig(**LEARNING))
BEAMS = (1, 5)


@cache
def text(part: str, by: str) -> list[Pair]:
    """Captions with German by people, or by the teacher, which is kept."""
    pairs = {"train": corpus().train, "valid": corpus().valid}[part]
    if by == "references":
        return pairs
    path = WORK / f"{part} by {TEACHER['weights'][:8]}.tsv"
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        english = [source for source, _ in pairs]
        german = translator()(english, **WRITES)
        write_tsv(path, zip(english, german, strict=True))
    return read_parallel([path])


def taught_loss(model: EncoderDecoder, batch: Batch, _: TrainConfig) -> Tensor:
    """Nats of the teacher's probabilities, summed over a batch's places."""
    teacher = translator().model
    with torch.no_grad():
        wanted = predict(teacher, batch).softmax(-1)
    return F.cross_entropy(predict(model, batch), wanted, reduction="sum")


def scores(model: EncoderDecoder) -> Result:
    """How well a model predicts both texts, and its BLEU by beam width."""
    pieces = translator().tokenizer
    found: Result = {"parameters": sum(p.numel() for p in model.parameters())}
    for by in TEXTS:
        limit = BASE.train.max_length
        known = validated(model, pieces, text("valid", by), limit)
        found[f"nats of {by}"] = known.loss
    sources, references = zip(*corpus().tests[HELD_OUT], strict=True)
    for beam in BEAMS:
        outputs = Translator(model, pieces)([*sources], beam=beam)
        found[f"bleu, beam {beam}"] = corpus_scores(outputs, references).bleu
    return found


def train(seed: int, by: str, signal: str) -> Result:
    """Teach a student, and score it."""
    objective = {"words": batch_loss, "probabilities": taught_loss}[signal]
    model, turns = begun(
        BASE,
        seed,
        text("train", by),
        translator().tokenizer,
        objective=objective,
    )
    losses = [update.loss.item() for update in turns]
    curve = [round(loss, 4) for loss in losses[49::50]]
    return scores(model.eval()) | {"curve": curve}


def teach(seed: int) -> Result:
    """The teacher by the same measures."""
    del seed
    return scores(translator().model)


TEXTS = ("references", "outputs")
RUNS = grid(teach, "teacher seed={seed}", seed=[0])
RUNS |= grid(
    train,
    "{by}, {signal} seed={seed}",
    seed=range(3),
    by=TEXTS,
    signal=("words", "probabilities"),
)
