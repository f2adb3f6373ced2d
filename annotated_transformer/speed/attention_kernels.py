"""Attention on a CPU: where PyTorch's fused kernel is the slower way."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

__all__ = ["attention", "attention_kernel"]

SHORT = 16  # keys: for fewer, the formula is faster than the fused kernel
SHORT_FOR_ONE = 64  # keys, where there is one query
LEAST_QUERIES = 2**13  # numbers in them: for fewer, calls cost more than sums


def attention_kernel(
    device: torch.device, bf16: bool
) -> AbstractContextManager[object]:
    """A context in which attention takes the kernel that trains faster.

    PyTorch's fused kernel for CPUs is slow on the way back in bfloat16; there
    plain matrix products make a whole update 1.5 to 1.7 times as fast.
    """
    if bf16 and device.type == "cpu":
        return sdpa_kernel(SDPBackend.MATH)
    return nullcontext()


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
    scores: Tensor = query / query.size(-1) ** 0.5 @ keys.mT
    if attn_mask is not None:
        scores.masked_fill_(~attn_mask, -torch.inf)
    # the two clamps are for a query that sees no key: its answer is zero
    limits = torch.finfo(scores.dtype)
    largest = scores.amax(-1, keepdim=True).clamp_(min=limits.min)
    weights = scores.sub_(largest).exp_()
    weights /= weights.sum(-1, keepdim=True).clamp_(min=limits.tiny)
    if queries == 1:  # the library is slow at products of few numbers
        return (weights.mT * values).sum(-2, keepdim=True)
    return weights @ values
