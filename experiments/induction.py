"""Induction: pairs of tokens that are met only in the prompt, and heads.

A row is made of four pairs in random order, each as often as it is drawn. The
pairs are drawn for each row, so that none of them can be learned beforehand.
Where a pair comes again, its first token decides the second one; all else is
left to chance. The models have one layer, or two, or one layer that has as
many parameters as two.

Scores say what a head does, each of them a mean of its weights: what the
second token of a pair gives to the first one beside it ("previous"), what a
token gives to itself ("own"), and what a first token that has occurred before
gives to those that followed it then ("following"). A finished model is tested
without each of its heads, without all of those whose score is at least a half,
and without all others.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.attention import causal_mask
from annotated_transformer.model import ModelConfig
from annotated_transformer.optimizer import adam
from annotated_transformer.training import evaluating
from annotated_transformer.writing import LanguageModel

from .shared.grid import Result, grid, no_text
from .shared.removed_heads import without
from .shared.settings import Sizes
from .shared.training_loops import fit

VOCABULARY, PAIRS = 16, 4
LENGTH = 16  # tokens of a row
SIZES: Sizes = {
    "d_model": 64,
    "heads": 4,
    "dropout": 0.0,
    "pre_norm": True,
    "positions": "learned",
    "max_length": LENGTH,
}
MODELS: dict[str, Sizes] = {
    "one layer": {"layers": 1, "d_ff": 128},
    "two layers": {"layers": 2, "d_ff": 128},
    "one wide layer": {"layers": 1, "d_ff": 388},
}
BATCH, UPDATES = 64, 1200
RATE, WARMUP = 2e-3, 100
TESTED = 512  # rows
EVERY = 50  # updates
HIGH = 0.5  # the least score of a head that does what it measures
SEEDS = range(3)
RECIPE = {
    "vocabulary": VOCABULARY,
    "pairs": PAIRS,
    "length": LENGTH,
    "model": SIZES,
    "models": MODELS,
    "batch": BATCH,
    "updates": UPDATES,
    "rate": RATE,
    "warmup": WARMUP,
    "tested": TESTED,
    "every": EVERY,
    "high": HIGH,
}
corpus = no_text("random pairs")
Rows = Int[Tensor, "rows length"]
Known = Bool[Tensor, "rows pairs"]  # whether a pair has occurred before
Weights = Float[Tensor, "rows heads length length"]
Head = tuple[int, int]  # layer and head, from 0
Scores = dict[str, list[list[float]]]  # of each layer's heads


def drawn(count: int) -> tuple[Rows, Known]:
    """Rows of pairs, and which of the pairs have occurred before."""
    order = torch.rand(count, VOCABULARY).argsort(1)
    pairs = order[:, : 2 * PAIRS].unflatten(1, (PAIRS, 2))
    which = torch.randint(PAIRS, (count, LENGTH // 2))
    rows = pairs[torch.arange(count)[:, None], which].flatten(1)
    same = which[:, :, None] == which[:, None]
    return rows, same.tril(-1).any(-1)


def token_losses(
    model: LanguageModel, rows: Rows
) -> Float[Tensor, "rows labels"]:
    """The loss of each token but the first, in nats."""
    logits = model.next_logits(rows[:, :-1])
    return F.cross_entropy(logits.mT, rows[:, 1:], reduction="none")


def pair_losses(
    model: LanguageModel, rows: Rows, known: Known
) -> dict[str, float]:
    """The mean loss of a pair's second token: the first time, and again."""
    losses = token_losses(model, rows)[:, ::2]
    return {
        "first": losses[~known].mean().item(),
        "again": losses[known].mean().item(),
    }


@torch.no_grad()
def looks(model: LanguageModel, rows: Rows) -> list[Weights]:
    """The attention weights of each layer."""
    x, mask = model.target(rows), causal_mask(rows.size(1), rows.device)
    weights = []
    for layer in model.decoder.layers:
        y = layer.around_attention.before(x)
        weights.append(layer.self_attention.weights(y, y, mask))
        x, _ = layer(x, target_mask=mask)
    return weights


def to_previous(weights: Weights) -> Float[Tensor, "heads"]:
    """What second tokens give to the first ones beside them."""
    return weights.diagonal(-1, -2, -1)[..., ::2].mean((0, 2))


def to_following(
    weights: Weights, rows: Rows, known: Known
) -> Float[Tensor, "heads"]:
    """What first tokens that have occurred give to what followed them."""
    firsts = rows[:, ::2]
    same = (firsts[:, :, None] == firsts[:, None]).tril(-1)
    given = weights[:, :, ::2, 1::2] * same[:, None].to(weights)
    return given.sum((0, 2, 3)) / known.sum()


def scores(model: LanguageModel, rows: Rows, known: Known) -> Scores:
    """All scores of all heads."""
    each = looks(model, rows)
    found = {
        "previous": [to_previous(x) for x in each],
        "own": [x.diagonal(0, -2, -1).mean((0, 2)) for x in each],
        "following": [to_following(x, rows, known) for x in each],
    }
    return {
        name: [[round(y, 3) for y in x.tolist()] for x in layers]
        for name, layers in found.items()
    }


def roles(found: Scores) -> dict[str, list[Head]]:
    """The heads whose score is high, by what it measures, and the others."""
    every = [
        (layer, head)
        for layer, heads in enumerate(found["own"])
        for head in range(len(heads))
    ]
    high = {
        name: [(i, j) for i, j in every if layers[i][j] >= HIGH]
        for name, layers in found.items()
    }
    some = {head for heads in high.values() for head in heads}
    return high | {"other": [head for head in every if head not in some]}


def run(name: str, seed: int) -> Result:
    """Train; losses and scores on the way, and without heads at the end."""
    torch.manual_seed(seed)
    sizes: Sizes = {**SIZES, **MODELS[name]}
    model = LanguageModel(ModelConfig(VOCABULARY, **sizes))
    test = drawn(TESTED)
    curves: dict[str, list[float]] = {"first": [], "again": []}
    way: list[Scores] = []
    updates = 0

    @torch.no_grad()
    def tested() -> dict[str, float]:
        with evaluating(model):
            return pair_losses(model, *test)

    def measure() -> None:
        for kind, value in tested().items():
            curves[kind].append(round(value, 4))
        way.append(scores(model, *test))

    def loss() -> Tensor:
        nonlocal updates
        if updates % EVERY == 0:
            measure()
        updates += 1
        return token_losses(model, drawn(BATCH)[0]).mean()

    fit(loss, adam(model.parameters()), UPDATES, RATE, WARMUP)
    measure()
    result: Result = {f"last {kind}": x[-1] for kind, x in curves.items()}
    attentions = [layer.self_attention for layer in model.decoder.layers]
    for role, heads in roles(way[-1]).items():
        result[f"{role} heads"] = len(heads)
        with without((attentions[i], j) for i, j in heads):
            for kind, value in tested().items():
                result[f"{kind} without {role}"] = round(value, 4)
    alone = []
    for attention in attentions:
        for head in range(attention.heads):
            with without([(attention, head)]):
                alone.append(round(tested()["again"], 4))
    return result | {
        "parameters": sum(x.numel() for x in model.parameters()),
        **curves,
        "again without each": alone,
        "scores": way,
    }


RUNS = grid(run, "{name} seed={seed}", name=[*MODELS], seed=SEEDS)
