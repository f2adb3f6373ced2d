"""The shipped translators on Multi30k: texts, and BLEU on drawn sentences."""

import random
from collections.abc import Sequence
from functools import cache

from sacrebleu.metrics import BLEU
from sacrebleu.metrics.bleu import BLEUScore

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.storage.shipped import find_model

# The same weights as a file of format 1, whose sum the records name.
IN_FORMAT_1 = {
    "099717ad21017fd5eac30df77dc569b3d884be94dc8ac4f8eda152e0a527958a": (
        "14403c5f90997fdba40c817d752b9ef462fe4c5fcf48d3a36c795976287c831d"
    ),
    "55fc2044c7efd3b03247cfcf96b2cf566571ff178c3c2d9de30c75bc9cbe2204": (
        "ff399f927f2bf82de4eafc9d56d6fb6e8c72b78e9abebcdac5c720e975238a91"
    ),
    "e15a15e4eb77de97c1707ec93f7174e4b3a00c64747746d551a5ab54b01de8c9": (
        "9c8673b868225fec34b6f9136db4cffd62659dffc2d0879ca0b0da58794ef8e0"
    ),
}


def weights(name: str) -> str:
    """The SHA-256 of a shipped model's weights."""
    found = read_config(find_model(name)).sha256["model.safetensors"]
    return IN_FORMAT_1.get(found, found)


MODEL = "multi30k-en-de"
PARTS = 5  # of a text
RECIPE = {"model": MODEL, "weights": weights(MODEL)}


@cache
def corpus(target: str = "de") -> Corpus:
    """Multi30k, into German or English; downloaded where it is absent."""
    return multi30k("en" if target == "de" else "de", target)


def texts(target: str = "de") -> dict[str, list[tuple[str, str]]]:
    """The pairs of each text that the models have not learned from."""
    return {"valid": corpus(target).valid, **corpus(target).tests}


def drawn(
    ours: list[str], pairs: list[tuple[str, str]], seed: int
) -> BLEUScore:
    """Lower-cased BLEU on sentences drawn from a text, with replacement."""
    places = random.Random(seed).choices(range(len(pairs)), k=len(pairs))
    return BLEU(lowercase=True).corpus_score(
        [ours[i] for i in places], [[pairs[i][1] for i in places]]
    )


def part(items: Sequence, seed: int) -> list:
    """The fifth of some items that a seed stands for.

    Seeds 0 to 4 share them out in one order, 5 to 9 in another.
    """
    order = random.Random(seed // PARTS).sample(range(len(items)), len(items))
    return [items[i] for i in order[seed % PARTS :: PARTS]]
