"""Table 3 on real captions: rows of it on Multi30k, each with three seeds.

The model is the small one of the variations, on 29,000 pairs of English and
German captions instead of the built-in corpus, which it reads 2.8 times.
Without positions it must be clearly worse: the negative control. "again" is
the base with three other seeds, and shows what chance does.
"""

from functools import cache
from typing import Unpack

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.data import Tokenizer
from annotated_transformer.model import ModelConfig
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import TrainConfig

from .shared.grid import Result, grid
from .shared.settings import Learning
from .shared.small_translator import LEARNING as SHORT
from .shared.small_translator import SIZES, Variation, measured
from .table3_variations import VARIATIONS

LEARNING: Learning = {
    **SHORT,
    "steps": 1500,
    "batch_tokens": 1024,
    "warmup": 150,
}
PIECES = 4000
RECIPE = {"model": SIZES, "train": LEARNING, "vocab_size": PIECES}
BASE = Recipe(
    ModelConfig(**SIZES), TrainConfig(**LEARNING), PIECES, normalize=False
)
HELD_OUT = "test_2016_flickr"
ROWS = (
    "base",
    "A heads=1",
    "A heads=2",
    "A heads=8",
    "A heads=16",
    "B d_k=4",
    "B d_k=8",
    "C layers=1",
    "C layers=4",
    "C d_model=32",
    "C d_model=128",
    "C d_ff=64",
    "C d_ff=256",
    "D dropout=0.0",
    "D dropout=0.2",
    "D smoothing=0.0",
    "D smoothing=0.2",
    "E learned positions",
    "no positions",
)
SEEDS = (0, 1, 2)
AGAIN = (3, 4, 5)


@cache
def corpus() -> Corpus:
    """Multi30k, from English to German; downloaded where it is absent."""
    return multi30k()


@cache
def tokenizer() -> Tokenizer:
    """The one vocabulary of all rows."""
    return learn_tokenizer(corpus(), BASE)


def train(
    seed: int,
    pieces: Tokenizer | None = None,
    **variation: Unpack[Variation],
) -> Result:
    """Measure a variation."""
    text, pieces = corpus(), pieces or tokenizer()
    held_out = text.tests[HELD_OUT]
    return measured(BASE, text, pieces, held_out, seed, **variation)


RUNS = grid(
    train,
    "{row} seed={seed}",
    seed=SEEDS,
    row={name: VARIATIONS[name] for name in ROWS},
)
RUNS |= grid(train, "again seed={seed}", seed=AGAIN)
