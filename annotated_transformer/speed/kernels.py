"""Which kernels multiply and attend on a CPU: those that are fast there."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F

from annotated_transformer.attention import MultiHeadAttention, additive
from annotated_transformer.embedding import TokenEmbedding
from annotated_transformer.speed.cpu import one_thread_in_forks

__all__ = [
    "bf16_slowdown",
    "product",
    "use_fast_kernels",
    "weights_at_rest",
]

LEAST_PRODUCT = 2**19  # multiplications: for fewer, a call of oneDNN is long
SHORT = 16  # keys: for fewer, the formula is faster than the fused kernel
SHORT_FOR_ONE = 64  # keys, where there is one query
LEAST_QUERIES = 2**13  # numbers in them: for fewer, calls cost more than sums
TRIAL = 256  # rows and columns: 50 ms a turn where bfloat16 is emulated

RESTING: ContextVar[dict[Tensor, Tensor] | None] = ContextVar(
    "RESTING", default=None
)


@contextmanager
def weights_at_rest() -> Iterator[None]:
    """Where no weight changes: put each in oneDNN's order once.

    Outside, the library does so for every product. It takes as much memory
    as the weights themselves, until the context ends.
    """
    token = RESTING.set({})
    try:
        yield
    finally:
        RESTING.reset(token)


def onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b."""
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class Product(Function):
    """x W^T + b by oneDNN, and so the two products of its gradient."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        """The vectors of x, in any number of dimensions."""
        ctx.save_for_backward(x, weight)
        return onednn(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: FunctionCtx, dy: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """The gradients of x, W and b."""
        x, weight = ctx.saved_tensors
        rows = dy.reshape(-1, dy.size(-1))
        # of dy, the larger factor, this order makes no copy
        of_weight = onednn(x.reshape(-1, x.size(-1)).T, rows.T).T
        of_bias = rows.sum(0) if ctx.needs_input_grad[2] else None
        return onednn(dy, weight.T), of_weight, of_bias


def resting(weight: Tensor) -> Tensor:
    """The weight in oneDNN's order where it is at rest, else as it is."""
    known = RESTING.get()
    if known is None:
        return weight
    if weight not in known:
        reorder = torch.ops.mkldnn._reorder_linear_weight
        known[weight] = reorder(weight.detach())
    return known[weight]


def product(layer: nn.Module, x: Tensor) -> Tensor:
    """x W^T + b of a layer, by oneDNN where that is faster.

    PyTorch asks MKL for products in float32, which takes up to twice as long
    on the processors of other makers than its own. In another precision or on
    another device the layer does what it always did.
    """
    weight, bias = layer.weight, getattr(layer, "bias", None)
    ours = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    if not ours or torch.is_autocast_enabled("cpu"):
        return F.linear(x, weight, bias)
    if x.numel() * len(weight) < LEAST_PRODUCT:
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled():
        return Product.apply(x, weight, bias)
    return onednn(x, resting(weight), bias)


def attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
) -> Tensor:
    """Equation 1 as it is written, where PyTorch's fused kernel is slower.

    That kernel computes a row's exponentials sixteen at a time and what is
    left over one by one. It is for long rows; the beams of a short sentence
    have many short ones.
    """
    queries, n = query.size(-2), keys.size(-2)
    ours = query.device.type == "cpu" and query.dtype == torch.float32
    short = n < SHORT or (queries == 1 and n < SHORT_FOR_ONE)
    many = query.numel() >= LEAST_QUERIES
    if torch.is_grad_enabled() or dropout_p or not (ours and short and many):
        return F.scaled_dot_product_attention(
            query, keys, values, attn_mask=attn_mask, dropout_p=dropout_p
        )
    scores = query / query.size(-1) ** 0.5 @ keys.mT
    if attn_mask is not None:
        scores += additive(attn_mask, scores)
    # the two clamps are for a query that sees no key: its answer is zero
    limits = torch.finfo(scores.dtype)
    largest = scores.amax(-1, keepdim=True).clamp_(min=limits.min)
    weights = scores.sub_(largest).exp_()
    weights /= weights.sum(-1, keepdim=True).clamp_(min=limits.tiny)
    if queries == 1:  # the library is slow at products of few numbers
        return (weights.mT * values).sum(-2, keepdim=True)
    return weights @ values


def use_fast_kernels(model: nn.Module) -> None:
    """Have a model multiply and attend by what is fastest here.

    It holds for float32 on a CPU, in a build of PyTorch that has oneDNN;
    elsewhere nothing changes. The parameters stay as they are.
    """
    one_thread_in_forks()
    here = torch.backends.mkldnn.is_available()
    if not (here and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")):
        return
    methods = {nn.Linear: "forward", TokenEmbedding: "logits"}
    for layer in model.modules():
        fused = F.scaled_dot_product_attention  # a kernel of its own stays
        if isinstance(layer, MultiHeadAttention) and layer.kernel is fused:
            layer.kernel = attention
        if method := methods.get(type(layer)):
            setattr(layer, method, partial(product, layer))


def bf16_slowdown() -> float:
    """How many times as long as in float32 a product in bfloat16 takes here.

    A trial, of a linear map and its gradients as in training: processors
    that lack the instructions compute as if they had them, and nothing that
    PyTorch says of a processor tells how slowly. It takes less than a second
    and draws random numbers.
    """
    layer, x = nn.Linear(TRIAL, TRIAL), torch.randn(TRIAL, TRIAL)
    use_fast_kernels(layer)
    x.requires_grad_()
    shortest = {}
    for bf16 in (False, True):
        seconds = []
        for _ in range(4):
            began = time.process_time()
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                y = layer(x)
            y.backward(y.detach())
            seconds.append(time.process_time() - began)
        shortest[bf16] = min(seconds)
    return shortest[True] / shortest[False]
