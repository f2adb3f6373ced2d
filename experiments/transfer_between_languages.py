"""From one language to another: what a child takes over from its parent.

The parent is the shipped translator from English to German, the child learns
to write French, from 2,000 captions or from all of them, in subwords of its
own. It takes over all weights ("all", as `train --from --new-subwords` does),
only the layers, only the vectors of subwords that both have, or nothing. The
control takes over all, but with the vectors dealt out to the wrong subwords.
"""

from dataclasses import asdict, replace
from functools import cache, partial

import torch

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import UNK
from annotated_transformer.model import EncoderDecoder, ModelConfig
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.start import Parent, copy_parent_weights
from annotated_transformer.storage.history import Origin
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.training import TrainConfig

from .shared.grid import Result, grid
from .shared.settings import Learning
from .shared.shipped_translator import weights
from .shared.small_translator import measured
from .table3_captions import HELD_OUT

PARENT = "multi30k-en-de"
SEEDS = (0, 1, 2, 3, 4, 5)
FEW = 2000  # captions of a child that has little to learn from
DROPOUT, PIECES = 0.3, 4000
LEARNING: Learning = {
    "steps": 600,
    "batch_tokens": 1024,
    "schedule": "linear",
    "warmup": 60,
    "peak_lr": 3e-3,
    "label_smoothing": 0.1,
    "clip": 1.0,
}
RECIPE = {
    "parent": PARENT,
    "weights": weights(PARENT),
    "dropout": DROPOUT,
    "train": LEARNING,
    "vocab_size": PIECES,
    "few": FEW,
}
WAYS = ("nothing", "all", "layers", "vectors", "wrong vectors")


@cache
def parent() -> tuple[EncoderDecoder, Tokenizer]:
    """The shipped translator into German."""
    return load_model(find_model(PARENT))[:2]


@cache
def base() -> Recipe:
    """The child's recipe: its parent's sizes, and pieces of its own."""
    sizes = asdict(parent()[0].config) | {"dropout": DROPOUT}
    return Recipe(
        ModelConfig(**sizes),
        TrainConfig(**LEARNING),
        PIECES,
        normalize=False,
    )


@cache
def corpus(pairs: int | None = None) -> Corpus:
    """Multi30k, from English to French, or the first pairs of it."""
    text = multi30k("en", "fr")
    return replace(text, train=text.train[:pairs])


@cache
def tokenizer(pairs: int | None) -> Tokenizer:
    """The pieces of the child's training text."""
    return learn_tokenizer(corpus(pairs), base())


def of_vectors(name: str) -> bool:
    """Whether the parameter of that name is a table of subword vectors."""
    return name.endswith("tokens.weight") or name == "output.weight"


@torch.no_grad()
def take_over(child: EncoderDecoder, pieces: Tokenizer, way: str) -> None:
    """Give a child, as it was drawn, one part of its parent or another."""
    drawn = {name: w.clone() for name, w in child.state_dict().items()}
    model, known = parent()
    copy_parent_weights(child, pieces, Parent(model, known, Origin("")))
    for name, weight in child.state_dict().items():
        if way == "wrong vectors" and name == "source.tokens.weight":
            # the one table of a tied model; special tokens stay in place
            taken = (weight != drawn[name]).any(dim=1)
            rows = taken.nonzero().flatten()
            rows = rows[rows > UNK]
            weight[rows] = weight[rows[torch.randperm(len(rows))]]
        elif way == ("layers" if of_vectors(name) else "vectors"):
            weight.copy_(drawn[name])


def shared(pieces: Tokenizer) -> float:
    """The share of the pieces that the parent has too."""
    _, known = parent()
    names = pieces.pieces.id_to_piece(list(range(UNK + 1, len(pieces))))
    return sum(known.pieces.piece_to_id(n) != UNK for n in names) / len(names)


def run(way: str, seed: int, pairs: int | None = None) -> Result:
    """Train a child that takes something over; its perplexity and BLEU."""
    text, pieces = corpus(pairs), tokenizer(pairs)

    def prepare(child: EncoderDecoder) -> None:
        if way != "nothing":
            take_over(child, pieces, way)

    found = measured(
        base(),
        text,
        pieces,
        text.tests[HELD_OUT],
        seed,
        change=prepare,
    )
    return {"shared": shared(pieces), **found}


RUNS = grid(
    partial(run, pairs=FEW),
    f"{{way}}, {FEW} seed={{seed}}",
    seed=SEEDS,
    way=WAYS,
)
RUNS |= grid(
    run, "{way}, 29000 seed={seed}", seed=SEEDS[:3], way=["nothing", "all"]
)
