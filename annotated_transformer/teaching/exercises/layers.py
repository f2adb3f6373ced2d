"""Exercises of chapter 4: sizes, a mask for a cache, layer norm."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.teaching.exercises.judge import Exercise


def norm_inputs() -> list[tuple[Tensor, Tensor, Tensor, float]]:
    """Ordinary vectors first, then some that are nearly constant."""
    draw = torch.Generator().manual_seed(2)
    cases = []
    for size, width, eps in ((3.0, 6, 1e-5), (3e-3, 4, 1e-5), (0.1, 16, 1e-3)):
        x = 1 + size * torch.randn(2, 3, width, generator=draw).double()
        gain, shift = torch.rand(2, width, generator=draw).double() + 0.5
        cases.append((x, gain, shift, eps))
    return cases


def layer_norm(x: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
    """PyTorch's own."""
    return F.layer_norm(x, gain.shape, gain, shift, eps)


def normalise(
    x: Tensor,
    gain: Tensor,
    shift: Tensor,
    eps: float,
    *,
    over: int | tuple[int, ...] = -1,
    unbiased: bool = False,
    outside: float = 0.0,
) -> Tensor:
    """By hand: moments over an axis, eps inside the root or outside it."""
    mean = x.mean(over, keepdim=True)
    variance = x.var(over, unbiased=unbiased, keepdim=True)
    return gain * (x - mean) / ((variance + eps).sqrt() + outside) + shift


def parameters(module: nn.Module) -> int:
    """How many numbers a module learns."""
    return sum(parameter.numel() for parameter in module.parameters())


def layer_size(d_model: int) -> int:
    """Counted in PyTorch's layer."""
    return parameters(nn.TransformerEncoderLayer(d_model, 1, 4 * d_model))


def cached_mask(cached: int, new: int) -> Tensor:
    """One cell at a time."""
    rows = [
        [key <= cached + query for key in range(cached + new)]
        for query in range(new)
    ]
    return torch.tensor(rows, dtype=torch.bool)


def triangle(length: int) -> Tensor:
    """The causal mask."""
    return cached_mask(0, length)


EXERCISES = [
    Exercise(
        "layer-size",
        "04_layers",
        "write f(d_model), the number of parameters of an encoder layer "
        "with d_ff = 4 d_model.",
        "widths 6, 16 and 64",
        lambda: [(6,), (16,), (64,)],
        layer_size,
        {
            "Biases and norms are missing.": lambda d: 12 * d**2,
            "The biases are missing: every linear map has one.": (
                lambda d: 12 * d**2 + 4 * d
            ),
            "The norms are missing.": lambda d: 12 * d**2 + 9 * d,
            "There are two norms, and each has a gain and a shift.": (
                lambda d: 12 * d**2 + 11 * d
            ),
            "Attention has a fourth matrix, after the heads.": (
                lambda d: 11 * d**2 + 12 * d
            ),
            "Only attention is counted.": lambda d: 4 * d**2 + 4 * d,
            "This is a decoder layer, with a second attention.": (
                lambda d: 16 * d**2 + 19 * d
            ),
        },
    ),
    Exercise(
        "cached-mask",
        "04_layers",
        "write f(cached, new), the boolean mask [new, cached + new] of new "
        "positions that arrive together after the cached ones.",
        "3 new ones after 2, 4 after 0, 1 after 5",
        lambda: [(2, 3), (0, 4), (5, 1)],
        cached_mask,
        {
            "The new positions see each other but not the cache: keys are "
            "cached and new.": lambda c, n: triangle(n),
            "Nothing is hidden: the new positions see the later ones among "
            "them.": lambda c, n: cached_mask(c, n).fill_(True),
            "These are the rows of the first positions. The new ones are "
            "the last.": lambda c, n: triangle(c + n)[:n],
            "The polarity is inverted: True means that a key may be looked "
            "at.": lambda c, n: ~cached_mask(c, n),
            "Queries and keys are exchanged: rows are queries.": (
                lambda c, n: cached_mask(c, n).T
            ),
            "The cached keys are hidden.": lambda c, n: torch.cat(
                [torch.zeros(n, c, dtype=torch.bool), triangle(n)], 1
            ),
            "A new position does not see itself.": (
                lambda c, n: cached_mask(c, n).tril(c - 1)
            ),
            "The queries are the new positions only, so there are fewer "
            "rows.": lambda c, n: triangle(c + n),
        },
        {
            "The mask holds numbers. Ours is boolean.": (
                lambda mask, c, n: mask.dtype != torch.bool
            ),
        },
    ),
    Exercise(
        "layer-norm",
        "04_layers",
        "write f(x, gain, shift, eps), the layer norm of x [batch, length, "
        "d_model].",
        "wide and nearly constant vectors",
        norm_inputs,
        layer_norm,
        {
            "The variance is divided by d - 1. It is not an estimate from a "
            "sample: divide by d.": (lambda *x: normalise(*x, unbiased=True)),
            "eps is added to the standard deviation. It belongs inside the "
            "root.": lambda x, g, b, e: normalise(x, g, b, 0.0, outside=e),
            "eps is left out, or too small to matter.": (
                lambda x, g, b, e: normalise(x, g, b, 0.0)
            ),
            "Both at once: the variance is divided by d - 1, and eps stands "
            "outside the root.": lambda x, g, b, e: normalise(
                x, g, b, 0.0, unbiased=True, outside=e
            ),
            "Mean and variance run over the positions. Each position is "
            "normalised by itself.": lambda *x: normalise(*x, over=1),
            "Mean and variance run over all positions of a sentence. Each "
            "is normalised by itself.": lambda *x: normalise(*x, over=(1, 2)),
            "Mean and variance run over the whole batch. A sentence must "
            "not depend on its batch.": (
                lambda *x: normalise(*x, over=(0, 1, 2))
            ),
            "The mean is not subtracted.": lambda x, g, b, e: (
                g * x / (x.square().mean(-1, keepdim=True) + e).sqrt() + b
            ),
            "Divided by the variance: its root is missing.": (
                lambda x, g, b, e: (
                    g
                    * (x - x.mean(-1, keepdim=True))
                    / (x.var(-1, unbiased=False, keepdim=True) + e)
                    + b
                )
            ),
            "Gain and shift are not applied.": lambda x, g, b, e: layer_norm(
                x, torch.ones_like(g), torch.zeros_like(b), e
            ),
        },
    ),
]
