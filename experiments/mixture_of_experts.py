"""A mixture of experts on the ladder's plays, at equal operations.

The ladder's model of 2017, but with four feed-forward networks in each layer,
of which a router chooses one for each letter. The router also learns to share
the letters out, or it does not. A network that is four times as wide has as
many parameters, all of which work for every letter.

Rates are chosen and losses measured as on the ladder, whose record has the
model with one network, and its rate. Experts without a balance learn at the
rate of those with one, and a wide network at the rate of a narrow one. "loads"
has, for each layer, the share of the held-out letters that each expert gets,
and "by letter" how many of them go where most of their kind go.
"""

from functools import cache, partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.layers import FeedForward
from annotated_transformer.model import ModelConfig
from annotated_transformer.writing import LanguageModel

from .ladder import (
    LEARNING,
    SIZES,
    VOCABULARY,
    held_out_loss,
    letters,
    mean_loss,
    on_plays,
    tuned_rate,
)
from .ladder import corpus as corpus
from .shared.grid import Arguments, Result, grid
from .shared.settings import Sizes

EXPERTS = 4
BALANCE = 0.01  # the weight of the routers' loss, as in the Switch Transformer
NARROW, WIDE = SIZES["d_ff"], EXPERTS * SIZES["d_ff"]
MODELS: dict[str, Arguments] = {
    "experts": {"experts": EXPERTS, "d_ff": NARROW, "balance": BALANCE},
    "experts, no balance": {"experts": EXPERTS, "d_ff": NARROW, "balance": 0},
    "four times as wide": {"experts": 1, "d_ff": WIDE, "balance": 0},
}
RECIPE = {
    "model": {"vocab_size": VOCABULARY, **SIZES},
    "models": MODELS,
    "train": LEARNING,
}


class MixtureOfExperts(nn.Module):
    """Feed-forward networks, of which a router chooses one for each token."""

    def __init__(self, d_model: int, d_ff: int, experts: int):
        super().__init__()
        self.router = nn.Linear(d_model, experts, bias=False)
        self.experts = nn.ModuleList(
            FeedForward(d_model, d_ff) for _ in range(experts)
        )

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """The chosen expert's output, times its probability."""
        tokens = x.flatten(0, -2)
        p = self.router(tokens).softmax(-1)  # [tokens, experts]
        best, self.chosen = p.max(-1)
        y = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            here = (self.chosen == i).nonzero().squeeze(1)
            y[here] = best[here, None] * expert(tokens[here])
        load = F.one_hot(self.chosen, len(self.experts)).to(p).mean(0)
        self.imbalance = len(load) * (load * p.mean(0)).sum()
        return y.view_as(x)


def mixtures(model: LanguageModel) -> list[MixtureOfExperts]:
    """A model's mixtures of experts, from the lowest layer on."""
    return [x for x in model.modules() if isinstance(x, MixtureOfExperts)]


def build(experts: int, d_ff: int) -> LanguageModel:
    """The model of 2017, with so many networks of a width in each layer."""
    sizes: Sizes = {**SIZES, "d_ff": d_ff}
    model = LanguageModel(ModelConfig(VOCABULARY, **sizes))
    if experts > 1:
        for layer in model.decoder.layers:
            layer.feed_forward = MixtureOfExperts(
                SIZES["d_model"], d_ff, experts
            )
    return model


def active(model: LanguageModel) -> int:
    """The parameters that work for one letter."""
    idle = [x for mixture in mixtures(model) for x in mixture.experts[1:]]
    total, unused = (
        sum(p.numel() for x in some for p in x.parameters())
        for some in ([model], idle)
    )
    return total - unused


def train(
    seed: int, rate: float, experts: int, d_ff: int, balance: float
) -> tuple[LanguageModel, Result]:
    """Train a model, and say what it took."""

    def loss(model: LanguageModel, windows: Tensor) -> Tensor:
        found = mean_loss(model, windows)
        for mixture in mixtures(model):
            found = found + balance * mixture.imbalance
        return found

    made = partial(build, experts, d_ff)
    model, took = on_plays(made, seed, rate, loss)
    return model, took | {"active": active(model)}


@cache
def best_rate() -> float:
    """The learning rate of experts that share the letters out."""
    _, tuned, _ = letters()
    learn = partial(train, **MODELS["experts"])
    return tuned_rate(learn, partial(held_out_loss, text=tuned))


def shares(
    chosen: Int[Tensor, "tokens"], text: Int[Tensor, "tokens"]
) -> tuple[list[float], float]:
    """What each expert gets, and what goes where most of its kind go."""
    counts = torch.zeros(VOCABULARY, EXPERTS)
    counts.index_put_((text, chosen), torch.ones(len(text)), accumulate=True)
    counts /= len(text)
    return [round(x, 3) for x in counts.sum(0).tolist()], round(
        counts.amax(1).sum().item(), 3
    )


@torch.no_grad()
def routed(model: LanguageModel, text: Tensor) -> Result:
    """Where the letters of a text go, in each layer."""
    size = LEARNING["context"]
    rows = text[: len(text) // size * size].view(-1, size)
    model.next_logits(rows)
    found = [shares(x.chosen, rows.flatten()) for x in mixtures(model)]
    return {
        "loads": [loads for loads, _ in found],
        "by letter": [same for _, same in found],
    }


def climb(seed: int, name: str) -> Result:
    """Train a model at its rate with a seed, and test it."""
    rate = LEARNING["first_rate"]  # that of one network, too
    if MODELS[name]["experts"] > 1:
        rate = best_rate()
    model, took = train(seed, rate, **MODELS[name])
    _, _, tested = letters()
    loss = round(held_out_loss(model, tested), 4)
    return {"loss": loss, "rate": rate} | took | routed(model, tested)


RUNS = grid(climb, "{name} seed={seed}", name=[*MODELS], seed=range(3))
