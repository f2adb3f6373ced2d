"""The parts exchanged after 2017: each alone, all together, and at length.

"translate" runs are those of Table 3 in miniature: the model of 2017, with one
part exchanged and with all of them, each with its own learning rate. Two more
seeds learn at a rate, at 1.5 times and at two thirds of it, and go on in the
better direction while their loss falls on test sentences that BLEU leaves
out; the seeds that count are measured on the validation sentences. Without
positions it must be clearly worse: the negative control. "2017 redrawn" is
the model of 2017 with other initial numbers, drawn as those of the others are:
it says what chance does. So do further seeds of the model of 2017. "read" runs
train a decoder alone on English text in windows of 32 tokens, and test it on
windows of 256: what happens to positions that no training has seen?
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.data import Pair
from annotated_transformer.optimizer import adam
from annotated_transformer.writing import LanguageModel

from .shared import small_translator
from .shared.grid import Result, grid
from .shared.settings import Learning, Sizes
from .shared.small_translator import (
    BASE,
    LEARNING,
    TRANSLATED,
    corpus,
    measured,
    tokenizer,
)
from .shared.training_loops import fit, lowest

READING = {
    "trained": 32,  # tokens of a window
    "tested": 256,
    "block": 32,  # positions whose losses are one figure
    "steps": 300,
    "batch": 24,  # windows, as many tokens as the translators' batches
    "held_out": 3000,  # sentences
}
TUNED_WITH, FACTOR = [1000, 1001], 1.5
TUNING = {"seeds": TUNED_WITH, "factor": FACTOR}
RECIPE = small_translator.RECIPE | {"reading": READING, "tuning": TUNING}
PARTS: dict[str, Sizes] = {
    "2017": {},
    "2017 redrawn": {"kv_heads": BASE.model.heads},
    "RMSNorm": {"norm": "rms"},
    "SwiGLU": {"feed_forward": "swiglu"},
    "RoPE": {"positions": "rotary"},
    "two groups": {"kv_heads": 2},
    "all four": {
        "norm": "rms",
        "feed_forward": "swiglu",
        "positions": "rotary",
        "kv_heads": 2,
    },
    "no positions": {"positions": "none"},
}
POSITIONS = ("sinusoidal", "rotary", "alibi", "none")
SEEDS = (0, 1, 2)
TRANSLATORS = range(5)  # seeds
FURTHER = range(5, 10)  # of the model of 2017


@cache
def best_rate(name: str) -> float:
    """The learning rate of a row, found with seeds and text of its own."""
    text = corpus()
    text = replace(text, valid=text.tests["test"][TRANSLATED:])
    few = text.valid[:2]  # nobody asks for their BLEU

    def loss(rate: float) -> float:
        found = [
            measured(
                BASE,
                text,
                tokenizer(),
                few,
                seed,
                sizes=PARTS[name],
                learning={"peak_lr": rate},
            )
            for seed in TUNED_WITH
        ]
        return sum(math.log(x["perplexity"]) for x in found)

    return lowest(loss, LEARNING["peak_lr"], FACTOR)


def translate(seed: int, name: str) -> Result:
    """Tune the rate of the model with these parts, train and score it."""
    learning: Learning = {"peak_lr": best_rate(name)}
    found = small_translator.train(seed, sizes=PARTS[name], learning=learning)
    return found | {"rate": learning["peak_lr"]}


@cache
def text() -> tuple[Tensor, Tensor]:
    """English tokens to learn from and to be tested on, each in a row."""

    def row(pairs: Iterable[Pair]) -> Tensor:
        """The ids of all sources; each ends with EOS."""
        encoded = (tokenizer().encode(source) for source, _ in pairs)
        return torch.tensor([token for ids in encoded for token in ids])

    pairs, held_out = corpus().train, READING["held_out"]
    return row(pairs[:-held_out]), row(pairs[-held_out:])


def read(
    seed: int,
    positions: str,
    rate: float = LEARNING["peak_lr"],
    warmup: int = LEARNING["warmup"],
) -> Result:
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

    fit(loss, adam(model.parameters()), READING["steps"], rate, warmup)
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
    seed=TRANSLATORS,
    name=[*PARTS],
)
RUNS |= grid(
    translate, "translate {name} seed={seed}", seed=FURTHER, name=["2017"]
)
RUNS |= grid(
    read, "read {positions} seed={seed}", seed=SEEDS, positions=POSITIONS
)
