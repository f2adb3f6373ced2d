"""Optimizer: Adam and the learning rate's warm-up and decay (5.3); Muon.

Written in book/08_optimizer.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.errors import UserError, check_kind

__all__ = [
    "adam",
    "set_rate",
    "inverse_sqrt_rate",
    "linear_rate",
    "stable_rate",
    "orthogonal",
    "Muon",
    "OPTIMIZERS",
    "layer_matrices",
    "make_optimizer",
]


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


def stable_rate(
    step: int, peak: float, warmup: int, steps: int, decay: float = 0.2
) -> float:
    """Up to the peak, level, and to zero in the last share of the steps."""
    left = (steps - step) / (decay * steps)
    return peak * max(0.0, min(1.0, step / warmup, left))


def orthogonal(
    matrix: Float[Tensor, "rows columns"], dtype: torch.dtype | None = None
) -> Float[Tensor, "rows columns"]:
    """Nearly the matrix with the same directions and singular values of 1.

    The products are in dtype: bfloat16 on a GPU, else float32, if not given.
    """
    dtype = dtype or (torch.bfloat16 if matrix.is_cuda else torch.float32)
    wide = matrix.size(0) <= matrix.size(1)
    x = (matrix if wide else matrix.T).to(dtype)
    x = x / x.norm().clamp(min=1e-7)  # no singular value is above 1
    for _ in range(5):
        square = x @ x.T
        factor = torch.addmm(square, square, square, beta=-4.775, alpha=2.0315)
        x = torch.addmm(x, factor, x, beta=3.4445)
    return x if wide else x.T


class Muon(torch.optim.AdamW):
    """AdamW, with Muon's steps for the groups of matrices that say `muon`."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Make an update; it uses up the gradients of Muon's matrices."""
        loss = closure and torch.enable_grad()(closure)()
        for group in self.param_groups:
            for matrix in group["params"] if group["muon"] else []:
                if matrix.grad is not None:  # a frozen one has none
                    self._move(matrix, group["lr"], group["weight_decay"])
                    matrix.grad = None  # so that AdamW passes it by
        super().step()
        return loss

    def _move(self, matrix: Any, rate: float, weight_decay: float) -> None:
        kept, gradient = self.state[matrix], matrix.grad
        if not kept:
            kept["step"] = torch.zeros(())
            kept["exp_avg"] = torch.zeros_like(matrix)
        kept["step"] += 1
        m = kept["exp_avg"].lerp_(gradient, 1 - 0.95)
        direction = orthogonal(gradient.lerp(m, 0.95))
        matrix.mul_(1 - rate * weight_decay)
        matrix.add_(direction, alpha=-rate * 0.2 * max(matrix.shape) ** 0.5)


OPTIMIZERS = ("adam", "adamw", "muon")


def layer_matrices(model: nn.Module) -> list[nn.Parameter]:
    """What Muon moves; UserError if the model has no such matrices."""
    found = [
        parameter
        for name, parameter in model.named_parameters()
        if ".layers." in name and parameter.dim() == 2
        if parameter.requires_grad
    ]
    if not found:
        raise UserError(
            "`optimizer='muon'` moves the matrices in the layers of a model, "
            "and this one has none: choose `optimizer='adamw'`"
        )
    return found


def make_optimizer(
    model: nn.Module, name: str = "adam", weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """The paper's Adam; or AdamW, also with Muon, as they are used today.

    Matrices decay, and vectors do not.
    """
    check_kind("optimizer", name, str, OPTIMIZERS)
    if name == "adam":
        return adam(model.parameters())
    inner = layer_matrices(model) if name == "muon" else []
    known = {*inner}
    rest = [p for p in model.parameters() if p not in known]
    groups = [
        (inner, weight_decay),
        ([p for p in rest if p.dim() > 1], weight_decay),
        ([p for p in rest if p.dim() < 2], 0.0),
    ]
    return Muon(
        [
            {"params": some, "weight_decay": decay, "muon": some is inner}
            for some, decay in groups
        ],
        lr=0.0,
        betas=(0.9, 0.95),
        fused=True,
    )
