"""From the model of 2017 to today's, a rung a change, on Shakespeare's plays.

A language model of letters. "alone" runs make one change to the model of
2017, "added" runs keep all changes so far; "again" is the model of 2017 with
other seeds, which says what chance does. Every row has its own learning rate:
one more seed trains at a rate, at twice and at half of it, and goes on in the
better direction while the loss on the first half of the held-out text falls.
The seeds that count are measured on the second half.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import accumulate
from operator import or_
from typing import Any, TypedDict, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.corpora.running_text import plays
from annotated_transformer.model import ModelConfig
from annotated_transformer.optimizer import adam, make_optimizer
from annotated_transformer.training import TrainConfig
from annotated_transformer.writing import LanguageModel

from .shared.grid import Arguments, Result, grid
from .shared.settings import Sizes
from .shared.training_loops import fit, lowest

Model = TypeVar("Model", bound=nn.Module)
VOCABULARY = 65  # letters and signs of the plays
SIZES: Sizes = {
    "layers": 4,
    "d_model": 64,
    "d_ff": 256,
    "heads": 4,
    "dropout": 0.0,
}


class Schedule(TypedDict):
    """How often a model is updated, and at which rate."""

    steps: int
    warmup: int  # updates
    decay: int  # the last updates of "warm-up, stable, decay"
    first_rate: float
    tuned_with_seed: int


class Learning(Schedule):
    """What is read, and how far, too."""

    batch: int  # windows
    context: int  # letters
    weight_decay: float  # of AdamW and Muon, on matrices
    cap: float  # of the logits


LEARNING: Learning = {
    "steps": 600,
    "batch": 16,
    "context": 64,
    "warmup": 60,
    "decay": 120,
    "first_rate": 0.004,
    "tuned_with_seed": 1000,
    "weight_decay": 0.1,
    "cap": 30.0,
}
RECIPE = {"model": {"vocab_size": VOCABULARY, **SIZES}, "train": LEARNING}
corpus = plays
# Groups of heads save weights, which the inner layers get.
WIDER = SIZES["d_ff"] + SIZES["d_model"] // 2
CHANGES: dict[str, dict[str, Any]] = {
    "pre-norm": {"pre_norm": True},
    "RMSNorm": {"norm": "rms"},
    "rotary positions": {"positions": "rotary"},
    "SwiGLU": {"feed_forward": "swiglu"},
    "two groups": {"kv_heads": 2, "d_ff": WIDER},
    "QK-norm": {"qk_norm": True},
    "AdamW": {"adamw": True},
    "stable, then decay": {"schedule": "stable"},
    "Muon": {"muon": True},
    "soft cap": {"cap": True},
}
RIVAL = {"feed_forward": "relu2"}  # of SwiGLU
ADDED = dict(zip(CHANGES, accumulate(CHANGES.values(), or_), strict=True))
ROWS: dict[str, Arguments] = {
    "2017": {},
    **{f"alone: {name}": change for name, change in CHANGES.items()},
    "alone: squared ReLU": RIVAL,
    # the first rung is the first change alone
    **{f"added: {name}": all_ for name, all_ in [*ADDED.items()][1:]},
    "added: squared ReLU for SwiGLU": ADDED["soft cap"] | RIVAL,
}
SEEDS = (0, 1, 2)


@cache
def letters() -> tuple[Tensor, Tensor, Tensor]:
    """Numbers of letters to learn from, to tune on and to be tested on."""
    text = "".join(plays().lines())
    known = {letter: place for place, letter in enumerate(sorted(set(text)))}
    numbers = torch.tensor([known[letter] for letter in text])
    half = len(numbers) // 20
    parts = numbers.split([len(numbers) - 2 * half, half, half])
    learned, tuned, tested = parts
    return learned, tuned, tested


def softly_capped(logits: Tensor) -> Tensor:
    """Logits within ±cap, by a hyperbolic tangent (Gemma 2)."""
    cap = LEARNING["cap"]
    return cap * torch.tanh(logits / cap)


def mean_loss(
    model: LanguageModel, windows: Tensor, cap: bool = False
) -> Tensor:
    """Nats per letter of windows, of which the first letter is only read."""
    logits = model.next_logits(windows[:, :-1])
    logits = softly_capped(logits) if cap else logits
    return F.cross_entropy(logits.mT, windows[:, 1:])


@torch.no_grad()
def held_out_loss(
    model: LanguageModel, text: Tensor, cap: bool = False
) -> float:
    """The loss on a text, in windows that follow one another."""
    size = LEARNING["context"]
    parts = text.unfold(0, size + 1, size).split(64)
    losses = [mean_loss(model, some, cap) * len(some) for some in parts]
    return float(sum(losses) / sum(map(len, parts)))


def chosen_optimizer(
    model: nn.Module, adamw: bool, muon: bool
) -> torch.optim.Optimizer:
    """Adam as in 2017, or AdamW; with Muon for the matrices of the layers."""
    if not adamw and not muon:
        return make_optimizer(model)
    name = "muon" if muon else "adamw"
    optimizer = make_optimizer(model, name, LEARNING["weight_decay"])
    if not adamw:  # what Muon leaves is moved as in 2017
        usual = adam(model.parameters()).defaults
        for group in optimizer.param_groups[1:]:
            for constant in ("betas", "eps", "weight_decay"):
                group[constant] = usual[constant]
    return optimizer


def learn(
    model: nn.Module,
    next_loss: Callable[[], Tensor],
    rate: float,
    learning: Schedule,
    adamw: bool = False,
    muon: bool = False,
    schedule: str = "inverse_sqrt",
) -> Result:
    """Make all updates, each of a loss of its own, and say what they took."""
    optimizer = chosen_optimizer(model, adamw, muon)
    config = TrainConfig(
        steps=learning["steps"],
        warmup=learning["warmup"],
        schedule=schedule,
        peak_lr=rate,
        decay=learning["decay"] / learning["steps"],
    )
    rates = partial(config.rate, d_model=SIZES["d_model"])
    begin = time.process_time()
    losses = fit(next_loss, optimizer, config.steps, rate=rates)
    seconds = time.process_time() - begin
    with FlopCounterMode(display=False) as counter:
        next_loss().backward()
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "operations": counter.get_total_flops(),  # of an update's gradients
        "training_seconds": round(seconds, 2),
        "curve": [
            round(sum(some) / len(some), 4)
            for some in zip(*[iter(losses)] * 40, strict=True)
        ],
    }


def on_plays(
    build: Callable[[], LanguageModel],
    seed: int,
    rate: float,
    loss: Callable[[LanguageModel, Tensor], Tensor] = mean_loss,
    warmup: int = LEARNING["warmup"],
    **how: Any,
) -> tuple[LanguageModel, Result]:
    """Train a new model on windows of the plays, and say what it took."""
    torch.manual_seed(seed)
    learned, _, _ = letters()
    model = build()
    windows = learned.unfold(0, LEARNING["context"] + 1, 1)

    def next_loss() -> Tensor:
        batch = windows[torch.randint(len(windows), (LEARNING["batch"],))]
        return loss(model, batch)

    learning: Learning = {**LEARNING, "warmup": warmup}
    took = learn(model, next_loss, rate, learning, **how)
    return model.eval(), took


def tuned_rate(
    train: Callable[[int, float], tuple[Model, Result]],
    loss: Callable[[Model], float],
) -> float:
    """The rate at which a model of one more seed has the lowest loss."""

    def reached(rate: float) -> float:
        model, _ = train(LEARNING["tuned_with_seed"], rate)
        return loss(model)

    return lowest(reached, LEARNING["first_rate"])


def train(
    seed: int,
    rate: float,
    cap: bool = False,
    warmup: int = LEARNING["warmup"],
    **change: Any,
) -> tuple[LanguageModel, Result]:
    """Train the model of 2017 with a change, and say what it took."""
    how, parts = split(change)
    sizes = replace(ModelConfig(VOCABULARY, **SIZES), **parts)
    build, loss = partial(LanguageModel, sizes), partial(mean_loss, cap=cap)
    return on_plays(build, seed, rate, loss, warmup, **how)


def split(change: Arguments) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a change says of the updates, and what of the model's parts."""
    how = {"adamw", "muon", "schedule"}
    return (
        {name: x for name, x in change.items() if name in how},
        {name: x for name, x in change.items() if name not in how},
    )


@cache
def best_rate(row: str) -> float:
    """The learning rate of a row of the ladder."""
    _, tuned, _ = letters()
    loss = partial(held_out_loss, text=tuned, cap="cap" in ROWS[row])
    return tuned_rate(partial(train, **ROWS[row]), loss)


def climb(seed: int, row: str) -> Result:
    """Tune a row's rate, train it with a seed, and test it."""
    rate = best_rate(row)
    model, took = train(seed, rate, **ROWS[row])
    _, _, tested = letters()
    loss = round(held_out_loss(model, tested, "cap" in ROWS[row]), 4)
    return {"loss": loss, "rate": rate} | took


def again(seed: int) -> Result:
    """The model of 2017 with another seed."""
    return climb(seed + 100, "2017")


RUNS = grid(climb, "{row} seed={seed}", row=[*ROWS], seed=SEEDS)
RUNS |= grid(again, "again seed={seed}", seed=SEEDS)
