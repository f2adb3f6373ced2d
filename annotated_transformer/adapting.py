"""Adapting a trained model: adapters of low rank, and groups of heads.

Written in book/adapting.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrize import (
    is_parametrized,
    register_parametrization,
    remove_parametrizations,
)

from annotated_transformer.errors import COUNT, UserError, check_kind
from annotated_transformer.model import Transformer, transformer

__all__ = [
    "LowRank",
    "LINEAR_MAPS",
    "add_adapters",
    "merge_adapters",
    "mean_head",
    "group_heads",
]


class LowRank(nn.Module):
    """W + B A, where only B and A are trained; B starts at zero."""

    def __init__(self, weight: Float[Tensor, "rows columns"], rank: int):
        super().__init__()
        rows, columns = weight.shape
        self.up = nn.Parameter(weight.new_zeros(rows, rank))  # B
        self.down = nn.Parameter(weight.new_empty(rank, columns))  # A
        nn.init.orthogonal_(self.down)

    def forward(
        self, weight: Float[Tensor, "rows columns"]
    ) -> Float[Tensor, "rows columns"]:
        """The adapted weight."""
        return weight + self.up @ self.down


LINEAR_MAPS = ("query", "key_value", "output", "inner", "outer")


def add_adapters(
    model: nn.Module, rank: int, names: Iterable[str] = LINEAR_MAPS
) -> None:
    """Freeze a model and add adapters to its linear maps of these names.

    UserError for a rank below 1, and for a name that no linear map has.
    """
    maps = [
        (path.rpartition(".")[2], layer)
        for path, layer in model.named_modules()
        if isinstance(layer, nn.Linear)
    ]
    check_kind("rank", rank, int, COUNT)
    wanted, known = {*names}, {name for name, _ in maps}
    if isinstance(names, str) or not wanted or wanted - known:
        raise UserError(
            f"`names={names!r:.80}`: must be a list of names of linear maps; "
            f"this model has {', '.join(sorted(known)) or 'none'}"
        )
    model.requires_grad_(False)
    for name, layer in maps:
        if name in wanted:
            adapter = LowRank(layer.weight, rank)
            register_parametrization(layer, "weight", adapter)


def merge_adapters(model: nn.Module) -> None:
    """Add each B A to its W, which restores the model's original form.

    A deep copy of an adapted model shares its classes and is merged with it.
    """
    for layer in model.modules():
        if is_parametrized(layer):
            remove_parametrizations(layer, "weight")
    model.requires_grad_(True)


def mean_head(heads: Tensor) -> Tensor:
    """One head for each group: the mean of [groups, heads, ...]."""
    return heads.mean(1)


@torch.no_grad()
def group_heads(
    model: Transformer,
    groups: int,
    pool: Callable[[Tensor], Tensor] = mean_head,
) -> Transformer:
    """A copy of a model whose heads share keys and values in groups.

    pool turns each group into one head, for weights and for biases.
    """
    grouped = transformer(replace(model.config, kv_heads=groups))
    grouped.to(next(model.parameters()))  # same dtype and device
    attention = model.decoder.layers[0].self_attention
    widths = [attention.heads * attention.d_k, attention.heads * attention.d_v]
    size = attention.heads // groups
    state = model.state_dict()
    for name, given in state.items():
        if ".key_value." in name:
            keys, values = (
                pool(x.unflatten(0, (groups, size, -1))).flatten(0, 1)
                for x in given.split(widths)
            )
            state[name] = torch.cat([keys, values])
    grouped.load_state_dict(state)
    return grouped.train(model.training)
