"""Optimizer: Adam and the learning rate's warm-up and decay (5.3).

Written in book/08_optimizer.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Iterable

import torch
from torch import nn

__all__ = ["adam", "set_rate", "inverse_sqrt_rate", "linear_rate"]


def adam(
    parameters: Iterable[nn.Parameter],
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
) -> torch.optim.Adam:
    """Adam with the paper's constants; the schedule sets its rate (5.3)."""
    return torch.optim.Adam(
        parameters, lr=0.0, betas=betas, eps=eps, fused=True
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next update."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def inverse_sqrt_rate(
    step: int, d_model: int, warmup: int = 4000, factor: float = 1.0
) -> float:
    """factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (eq. 3)."""
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def linear_rate(step: int, peak: float, warmup: int, steps: int) -> float:
    """Up to the peak in warmup steps, then straight down to zero."""
    if step <= warmup:
        return peak * step / warmup
    return peak * max(0.0, (steps - step) / (steps - warmup))
