"""The shipped translators on Multi30k: texts, and BLEU on drawn sentences."""

import random
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeVar

from sacrebleu.metrics import BLEU
from sacrebleu.metrics.bleu import BLEUScore

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.translation import Translator

from .settings import Search


def weights(name: str) -> str:
    """The SHA-256 of a shipped model's weights."""
    return read_config(find_model(name)).sha256["model.safetensors"]


Item = TypeVar("Item")
MODEL = "multi30k-en-de"
PARTS = 5  # of a text
SEARCH: Search = {"beam": 5, "alpha": 0.6, "no_repeat": 3}  # the model's own
RECIPE = {"model": MODEL, "weights": weights(MODEL)}


@cache
def translator(name: str = MODEL) -> Translator:
    """A shipped translator."""
    return Translator.load(name)


@cache
def corpus(target: str = "de") -> Corpus:
    """Multi30k, into German or English; downloaded where it is absent."""
    return multi30k("en" if target == "de" else "de", target)


def texts(target: str = "de") -> dict[str, list[tuple[str, str]]]:
    """The pairs of each text that the models have not learned from."""
    return {"valid": corpus(target).valid, **corpus(target).tests}


def redrawn(items: Sequence[Item], seed: int) -> list[Item]:
    """As many of some items as there are, drawn with replacement."""
    return random.Random(seed).choices(items, k=len(items))


def bleu(scored: Iterable[tuple[str, str]]) -> BLEUScore:
    """Lower-cased BLEU of outputs, each with its reference."""
    scored = list(scored)
    ours, references = ([pair[side] for pair in scored] for side in (0, 1))
    return BLEU(lowercase=True).corpus_score(ours, [references])


def drawn(
    ours: list[str], pairs: list[tuple[str, str]], seed: int
) -> BLEUScore:
    """The same on sentences drawn from a text, with replacement."""
    references = [reference for _, reference in pairs]
    return bleu(redrawn([*zip(ours, references, strict=True)], seed))


def part(items: Sequence[Item], seed: int) -> list[Item]:
    """The fifth of some items that a seed stands for.

    Seeds 0 to 4 share them out in one order, 5 to 9 in another.
    """
    order = random.Random(seed // PARTS).sample(range(len(items)), len(items))
    return [items[i] for i in order[seed % PARTS :: PARTS]]
