"""Loss: cross-entropy with label smoothing, summed over tokens (5.4).

Written in book/07_loss.ipynb: edit the chapter, then `make package`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from annotated_transformer.embedding import PAD

__all__ = [
    "SmoothedCrossEntropy",
    "label_smoothing_loss",
    "log_probabilities",
    "SymmetricDivergence",
    "consistency_loss",
]


class SmoothedCrossEntropy(torch.autograd.Function):
    """The smoothed loss, and its gradient p - q in the same pass (5.4)."""

    @staticmethod
    def forward(ctx, logits: Tensor, labels: Tensor, smoothing: float):
        """The sum over tokens of -(1 - eps) log p(y) - eps / V sum log p."""
        log_p = logits.log_softmax(-1)
        kept, share = 1 - smoothing, smoothing / logits.size(-1)
        label = labels[:, None]
        right = log_p.gather(-1, label)
        loss = -kept * right.sum()
        if smoothing:  # 0 * log 0 would be NaN
            loss = loss - share * log_p.sum()
        if ctx.needs_input_grad[0]:
            gradient = log_p.exp_().sub_(share)  # p - eps / V, in place
            part = torch.full_like(right, -kept)
            ctx.save_for_backward(gradient.scatter_add_(-1, label, part))
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx, scale: Tensor):
        """The gradient that forward saved, times that of the loss itself."""
        (gradient,) = ctx.saved_tensors
        return gradient * scale, None, None


def label_smoothing_loss(
    logits: Float[Tensor, "tokens vocab_size"],
    labels: Int[Tensor, "tokens"],
    smoothing: float = 0.1,
) -> Float[Tensor, ""]:
    """Cross-entropy in nats against smoothed labels, summed over tokens.

    The label keeps 1 - smoothing; the rest is spread evenly over the whole
    vocabulary, the label included. Sums, not means, so that batches of
    different sizes add up; the caller divides by the number of tokens before
    its step (5.4).
    """
    return SmoothedCrossEntropy.apply(logits, labels, smoothing)


def log_probabilities(
    logits: Float[Tensor, "tokens vocab_size"],
    labels: Int[Tensor, "rows length"],
) -> Float[Tensor, "rows"]:
    """The log-probability of each row's labels, in nats, without padding."""
    where = labels != PAD
    nats = F.cross_entropy(logits, labels[where], reduction="none")
    log_p = torch.zeros_like(labels, dtype=nats.dtype)
    return log_p.masked_scatter(where, -nats).sum(-1)


class SymmetricDivergence(torch.autograd.Function):
    """How far two passes diverge, and the gradient along with it."""

    @staticmethod
    def forward(ctx, logits: Tensor):
        """The sum over tokens of (KL(p, q) + KL(q, p)) / 2."""
        log_p, log_q = logits.log_softmax(-1).chunk(2)
        gap = log_p - log_q
        p, q = log_p.exp(), log_q.exp()
        from_p = (p * gap).sum(-1, keepdim=True)
        from_q = -(q * gap).sum(-1, keepdim=True)
        if ctx.needs_input_grad[0]:
            first = p * (gap - from_p) + p - q
            second = -q * (gap + from_q) + q - p
            ctx.save_for_backward(torch.cat([first, second]))
        return (from_p + from_q).sum() / 2

    @staticmethod
    @once_differentiable
    def backward(ctx, scale: Tensor):
        """The gradient that forward saved, times that of the loss itself."""
        (gradient,) = ctx.saved_tensors
        return gradient * (scale / 2)


def consistency_loss(
    logits: Float[Tensor, "tokens vocab_size"],
) -> Float[Tensor, ""]:
    """How far apart the predictions of the batch's two halves are.

    The halves are two passes over the same tokens, with different dropout;
    the symmetric divergence of R-Drop, in nats, summed over tokens.
    """
    return SymmetricDivergence.apply(logits)
