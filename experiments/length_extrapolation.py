"""Positions, and rows longer than in training: sinusoidal, learned or none.

The task is to write a row of letters backwards. Trained on rows of 4 to 10
letters, tested on rows of 6 to 14. Learned positions exist for all lengths;
those beyond the eleventh are never trained. No positions are the control.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.embedding import BOS, EOS, PAD
from annotated_transformer.model import (
    ModelConfig,
    Transformer,
    greedy_decode,
    transformer,
)
from annotated_transformer.optimizer import adam

from .shared.grid import Result, grid, no_text
from .shared.settings import Sizes
from .shared.small_translator import no_positions
from .shared.training_loops import fit

SIZES: Sizes = {
    "layers": 2,
    "d_model": 64,
    "d_ff": 128,
    "heads": 4,
    "dropout": 0.0,
    "max_length": 128,
}
LETTERS = 10
SHORTEST, LONGEST = 4, 10
BATCH = 64  # rows
STEPS, WARMUP, PEAK_LR = 800, 60, 3e-3
RECIPE = {
    "model": SIZES,
    "letters": LETTERS,
    "lengths": [SHORTEST, LONGEST],
    "batch": BATCH,
    "steps": STEPS,
    "warmup": WARMUP,
    "peak_lr": PEAK_LR,
}
corpus = no_text("random letters")
TESTED = (6, 8, 10, 11, 12, 14)
FIRST = EOS + 2  # the id of the first letter


def build(positions: str) -> Transformer:
    """The model; learned positions exist beyond the training's longest."""
    kind = "learned" if positions == "learned" else "sinusoidal"
    sizes: Sizes = {**SIZES, "positions": kind}
    model = transformer(ModelConfig(FIRST + LETTERS, **sizes))
    if positions == "none":
        no_positions(model)
    return model


def rows(count: int, length: int) -> tuple[Tensor, Tensor]:
    """Random letters [count, length], and the same backwards."""
    letters = FIRST + torch.randint(LETTERS, (count, length))
    return letters, letters.flip(1)


def closed(letters: Tensor) -> Tensor:
    """The letters, EOS after the last."""
    return F.pad(letters, (0, 1), value=EOS)


def run(positions: str, seed: int) -> Result:
    """Train; by length, the share of 200 new rows written without a slip."""
    torch.manual_seed(seed)
    model = build(positions)

    def loss() -> Tensor:
        length = int(torch.randint(SHORTEST, LONGEST + 1, ()))
        source, target = rows(BATCH, length)
        inputs = F.pad(target, (1, 0), value=BOS)
        logits = model(closed(source), inputs)
        return F.cross_entropy(logits.flatten(0, 1), closed(target).flatten())

    fit(loss, adam(model.parameters()), STEPS, PEAK_LR, WARMUP)
    model.eval()
    result = {}
    for length in TESTED:
        source, target = rows(200, length)
        written = greedy_decode(model, closed(source))[:, : length + 1]
        written = F.pad(written, (0, length + 1 - written.size(1)), value=PAD)
        right = (written == closed(target)).all(1)
        result[f"exact at {length}"] = right.float().mean().item()
    return result


RUNS = grid(
    run,
    "positions={positions} seed={seed}",
    positions=["sinusoidal", "learned", "none"],
    seed=range(4),
)
