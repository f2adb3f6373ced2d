"""Matrix products on a CPU by oneDNN, for whose products PyTorch asks MKL.

Two private functions of PyTorch are called, because no public one gives
float32 to oneDNN: `_linear_pointwise`, which multiplies, and
`_reorder_linear_weight`, which prepares a matrix that is used many times.
Where one is missing, or does something else, F.linear does the work.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from annotated_transformer.embedding import TokenEmbedding

__all__ = [
    "OneDNNEmbedding",
    "OneDNNLinear",
    "available",
    "product",
    "weights_at_rest",
]

TESTED = ("2.13.0",)  # releases of PyTorch with which tests/speed was run
LEAST_PRODUCT = 2**19  # multiplications: for fewer, a call of oneDNN is long

RESTING: ContextVar[dict[Tensor, Tensor] | None] = ContextVar(
    "RESTING", default=None
)


@contextmanager
def weights_at_rest() -> Iterator[None]:
    """Where no weight changes: put each in oneDNN's order once.

    Outside, the library does so for every product. It takes as much memory
    as the weights themselves, until the context ends. Products that oneDNN
    is not asked for stay as they are.
    """
    token = RESTING.set({})
    try:
        yield
    finally:
        RESTING.reset(token)


def onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b."""
    y: Tensor = torch.ops.mkldnn._linear_pointwise(
        x, weight, bias, "none", [], ""
    )
    return y


def reordered(weight: Tensor) -> Tensor:
    """The weight in the order in which oneDNN reads it."""
    found: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
    return found


@cache
def available() -> bool:
    """True if oneDNN can be asked here: the two functions are tried out."""
    if not torch.backends.mkldnn.is_available():
        return False
    x = torch.eye(2, device="cpu")
    try:
        found = onednn(x, reordered(x), x[0])
    except (AttributeError, TypeError, RuntimeError):
        return False
    return torch.equal(found, x + x[0])


class Product(Function):
    """x W^T + b by oneDNN, and so the two products of its gradient."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        """The vectors of x, in any number of dimensions."""
        ctx.save_for_backward(x, weight)
        return onednn(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """The gradients of x, W and b."""
        x, weight = ctx.saved_tensors
        rows = dy.reshape(-1, dy.size(-1))
        # of dy, the larger factor, this order makes no copy
        of_weight = onednn(x.reshape(-1, x.size(-1)).T, rows.T).T
        of_bias = rows.sum(0) if ctx.needs_input_grad[2] else None
        return onednn(dy, weight.T), of_weight, of_bias


differentiable: Callable[..., Tensor] = Product.apply


def resting(weight: Tensor) -> Tensor:
    """The weight in oneDNN's order where it is at rest, else as it is."""
    known = RESTING.get()
    if known is None:
        return weight
    if weight not in known:
        known[weight] = reordered(weight)
    return known[weight]


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b, by oneDNN where that is faster.

    PyTorch asks MKL for products in float32, which takes up to twice as long
    on the processors of other makers than its own. In another precision or on
    another device nothing is faster than F.linear.
    """
    ours = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    if not ours or torch.is_autocast_enabled("cpu"):
        return F.linear(x, weight, bias)
    if x.numel() * len(weight) < LEAST_PRODUCT or not available():
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled():
        return differentiable(x, weight, bias)
    return onednn(x, resting(weight), bias)


class OneDNNLinear(nn.Linear):
    """A linear map that asks oneDNN."""

    def forward(self, x: Tensor) -> Tensor:
        """x W^T + b."""
        return product(x, self.weight, self.bias)


class OneDNNEmbedding(TokenEmbedding):
    """A token embedding whose logits ask oneDNN."""

    def logits(self, x: Tensor) -> Tensor:
        """Compare x with every row: the linear map before the softmax."""
        return product(x, self.weight)
