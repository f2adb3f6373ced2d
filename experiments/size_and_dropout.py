"""Depth, width and dropout on all captions, around the shipped model's shape.

All 29,000 captions of Multi30k are read about nine times. Each of eight cells
is trained once; the two with the lowest validation perplexity get two seeds
more.
"""

from collections.abc import Callable
from functools import cache, partial

from annotated_transformer.data import Tokenizer
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.speed.allocator import keep_freed_memory
from annotated_transformer.speed.dropout import draw_fewer_numbers
from annotated_transformer.speed.fast_kernels import use_fast_kernels
from annotated_transformer.training import TrainConfig

from .shared.small_translator import LEARNING, SIZES, measured
from .table3_captions import HELD_OUT, corpus

__all__ = ["BASE", "RECIPE", "RUNS", "corpus"]

SHAPE = {"layers": 4, "d_model": 128, "d_ff": 512}
MORE = {
    "steps": 2000,
    "batch_tokens": 2048,
    "warmup": 200,
    "peak_lr": 3e-3,
}
RECIPE = {
    "model": SIZES | SHAPE,
    "train": LEARNING | MORE,
    "vocab_size": 4000,
}
BASE = Recipe(
    ModelConfig(**RECIPE["model"]),
    TrainConfig(**RECIPE["train"]),
    RECIPE["vocab_size"],
    normalize=False,
)
SHAPES = {
    "as shipped": {},
    "8 layers": {"layers": 8},
    "192 wide": {"d_model": 192, "d_ff": 768},
}
CELLS = [(shape, rate) for shape in SHAPES for rate in (0.1, 0.2, 0.3)]
CELLS.remove(("as shipped", 0.2))  # its neighbours tell enough
BEST = [("192 wide", 0.1), ("192 wide", 0.2)]  # by perplexity of seed 0


@cache
def tokenizer() -> Tokenizer:
    """The one vocabulary of all cells."""
    return learn_tokenizer(corpus(), BASE)


def prepare(model: Transformer) -> None:
    """Give a model the faster products that `train` gives it."""
    keep_freed_memory()
    use_fast_kernels(model)
    draw_fewer_numbers(model)


def train(seed: int, shape: str, dropout: float) -> dict:
    """Train a cell; validation perplexity, and BLEU of the test captions."""
    text = corpus()
    return measured(
        BASE,
        text,
        tokenizer(),
        text.tests[HELD_OUT],
        seed,
        sizes=SHAPES[shape] | {"dropout": dropout},
        change=prepare,
    )


RUNS: dict[str, Callable[[], dict]] = {
    f"{shape}, dropout {dropout} seed={seed}": partial(
        train, seed=seed, shape=shape, dropout=dropout
    )
    for cells, seeds in ((CELLS, (0,)), (BEST, (1, 2)))
    for shape, dropout in cells
    for seed in seeds
}
