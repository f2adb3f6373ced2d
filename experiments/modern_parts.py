"""The parts exchanged after 2017: each alone, all together, and at length.

"translate" runs are those of Table 3 in miniature, with the same recipe: the
model of 2017, with one part exchanged and with all of them. Without positions
it must be clearly worse: the negative control. "2017 redrawn" is the model of
2017 with other initial numbers, drawn as those of the others are: it says
what chance does. "read" runs train a decoder
alone on English text in windows of 32 tokens, and test it on windows of 256:
what happens to positions that no training has seen?
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.data import Pair
from annotated_transformer.modern import MODERN
from annotated_transformer.optimizer import adam
from annotated_transformer.writing import LanguageModel

from .shared import small_translator
from .shared.grid import Arguments, Result, grid
from .shared.settings import Sizes
from .shared.small_translator import BASE, LEARNING, corpus, tokenizer
from .shared.training_loops import fit

READING = {
    "trained": 32,  # tokens of a window
    "tested": 256,
    "block": 32,  # positions whose losses are one figure
    "steps": 300,
    "batch": 24,  # windows, as many tokens as the translators' batches
    "held_out": 3000,  # sentences
}
RECIPE = small_translator.RECIPE | {"reading": READING}
PARTS: dict[str, Arguments] = {
    "2017": {},
    "2017 redrawn": {"kv_heads": BASE.model.heads},
    "RMSNorm": {"norm": "rms"},
    "SwiGLU": {"feed_forward": "swiglu"},
    "RoPE": {"positions": "rotary"},
    "two groups": {"kv_heads": 2},
    "all four": MODERN | {"kv_heads": 2},
    "no positions": {"positions": "none"},
}
POSITIONS = ("sinusoidal", "rotary", "alibi", "none")
SEEDS = (0, 1, 2)


def translate(seed: int, parts: Sizes) -> Result:
    """Train and score the model of 2017 with these parts."""
    return small_translator.train(seed, sizes=parts)


@cache
def text() -> tuple[Tensor, Tensor]:
    """English tokens to learn from and to be tested on, each in a row."""

    def row(pairs: Iterable[Pair]) -> Tensor:
        """The ids of all sources; each ends with EOS."""
        encoded = (tokenizer().encode(source) for source, _ in pairs)
        return torch.tensor([token for ids in encoded for token in ids])

    pairs, held_out = corpus().train, READING["held_out"]
    return row(pairs[:-held_out]), row(pairs[-held_out:])


def read(seed: int, positions: str) -> Result:
    """Train a decoder alone; its test losses, by block of positions."""
    torch.manual_seed(seed)
    sizes = {"vocab_size": len(tokenizer()), "positions": positions}
    model = LanguageModel(replace(BASE.model, **sizes))
    model.target.dropout.p = 0.0  # else it weighs on what is added to words
    learned, tested = text()
    windows = learned.unfold(0, READING["trained"] + 1, 1)

    def loss() -> Tensor:
        chosen = torch.randint(len(windows), (READING["batch"],))
        batch = windows[chosen]
        logits = model.next_logits(batch[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    schedule = LEARNING["peak_lr"], LEARNING["warmup"]
    fit(loss, adam(model.parameters()), READING["steps"], *schedule)
    length = READING["tested"]
    model.eval()
    with torch.no_grad():
        losses = torch.cat(
            [
                F.cross_entropy(
                    model.next_logits(some[:, :-1]).mT,
                    some[:, 1:],
                    reduction="none",
                )
                for some in tested.unfold(0, length + 1, length).split(32)
            ]
        )
    blocks = losses.unflatten(1, (-1, READING["block"])).mean((0, 2))
    return {"losses": [round(loss, 4) for loss in blocks.tolist()]}


RUNS = grid(
    translate,
    "translate {name} seed={seed}",
    seed=SEEDS,
    name={name: {"parts": parts} for name, parts in PARTS.items()},
)
RUNS |= grid(
    read, "read {positions} seed={seed}", seed=SEEDS, positions=POSITIONS
)
