"""Depth, width and dropout on all captions, around the shipped model's shape.

All 29,000 captions of Multi30k are read about nine times. Each of eight cells
is trained once; the two with the lowest validation perplexity get two seeds
more.
"""

from functools import cache

from annotated_transformer.data import Tokenizer
from annotated_transformer.model import ModelConfig
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import TrainConfig

from .shared.grid import Result, grid
from .shared.settings import Learning, Sizes
from .shared.small_translator import LEARNING as SHORT
from .shared.small_translator import SIZES as SMALL
from .shared.small_translator import measured
from .table3_captions import HELD_OUT, corpus

SIZES: Sizes = {**SMALL, "layers": 4, "d_model": 128, "d_ff": 512}
LEARNING: Learning = {
    **SHORT,
    "steps": 2000,
    "batch_tokens": 2048,
    "warmup": 200,
    "peak_lr": 3e-3,
}
PIECES = 4000
RECIPE = {"model": SIZES, "train": LEARNING, "vocab_size": PIECES}
BASE = Recipe(
    ModelConfig(**SIZES), TrainConfig(**LEARNING), PIECES, normalize=False
)
SHAPES: dict[str, Sizes] = {
    "as shipped": {},
    "8 layers": {"layers": 8},
    "192 wide": {"d_model": 192, "d_ff": 768},
}
CELLS = {
    f"{shape}, dropout {rate}": {"shape": shape, "dropout": rate}
    for shape in SHAPES
    for rate in (0.1, 0.2, 0.3)
}
del CELLS["as shipped, dropout 0.2"]  # its neighbours tell enough
BEST = {  # by perplexity of seed 0
    cell: CELLS[cell]
    for cell in ("192 wide, dropout 0.1", "192 wide, dropout 0.2")
}


@cache
def tokenizer() -> Tokenizer:
    """The one vocabulary of all cells."""
    return learn_tokenizer(corpus(), BASE)


def train(seed: int, shape: str, dropout: float) -> Result:
    """Train a cell; validation perplexity, and BLEU of the test captions."""
    text = corpus()
    return measured(
        BASE,
        text,
        tokenizer(),
        text.tests[HELD_OUT],
        seed,
        sizes=SHAPES[shape] | {"dropout": dropout},
    )


RUNS = grid(train, "{cell} seed={seed}", cell=CELLS, seed=[0])
RUNS |= grid(train, "{cell} seed={seed}", cell=BEST, seed=[1, 2])
