"""Exercises of chapter 7: smoothed labels."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.teaching.exercises.judge import Exercise

PAD = 0


def loss_inputs() -> list[tuple[Tensor, Tensor, float]]:
    """Labels without padding, with some, and logits far apart."""
    draw = torch.Generator().manual_seed(4)
    cases = []
    for tokens, size, smoothing, padded in (
        *((5, 1.0, 0.3, 2), (4, 2.0, 0.1, 0), (6, 1.0, 0.0, 1)),
        (3, 200.0, 0.1, 0),
    ):
        logits = size * torch.randn(tokens, 7, generator=draw)
        labels = torch.randint(1, 7, (tokens,), generator=draw)
        labels[tokens - padded :] = PAD
        cases.append((logits, labels, smoothing))
    return cases


def label_smoothing(
    logits: Tensor, labels: Tensor, smoothing: float
) -> Tensor:
    """PyTorch's own."""
    return F.cross_entropy(
        logits,
        labels,
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )


def against(
    target: Callable[[Tensor, float, int], Tensor],
    of: Callable[[Tensor, int], Tensor] = torch.Tensor.log_softmax,
) -> Callable[[Tensor, Tensor, float], Tensor]:
    """The loss against another target distribution or another log p."""

    def loss(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        hot = F.one_hot(labels, logits.size(-1)).float()
        q = target(hot, smoothing, logits.size(-1))
        rows = -(q * of(logits, -1)).sum(-1)
        return rows[labels != PAD].sum()

    return loss


def smoothed(hot: Tensor, eps: float, size: int) -> Tensor:
    """The target distribution."""
    return (1 - eps) * hot + eps / size


def divergence(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """The loss without the entropy of the target."""
    hot = F.one_hot(labels[labels != PAD], logits.size(-1)).float()
    q = smoothed(hot, smoothing, logits.size(-1))
    return label_smoothing(logits, labels, smoothing) + q.xlogy(q).sum()


def unsmooth_inputs() -> list[tuple[Tensor, float]]:
    """Smoothed distributions over 3, 5 and 40 tokens."""
    draw = torch.Generator().manual_seed(5)
    return [
        (smoothed(torch.rand(*shape, generator=draw).softmax(-1), eps, V), eps)
        for *shape, V, eps in ((3, 3, 0.3), (2, 5, 5, 0.1), (40, 40, 0.5))
    ]


def unsmooth(q: Tensor, smoothing: float) -> Tensor:
    """Token by token: how far above the least possible, of all the room."""
    least = smoothing / q.size(-1)
    most = least + 1 - smoothing
    return (q - least) / (most - least)


EXERCISES = [
    Exercise(
        "label-smoothing",
        "07_loss",
        "write f(logits, labels, smoothing), the smoothed loss in nats for "
        "logits [tokens, vocabulary], summed over the labels that are not "
        "padding, id 0.",
        "padding, none, and logits far apart",
        loss_inputs,
        label_smoothing,
        {
            "Padding is counted.": lambda z, y, e: F.cross_entropy(
                z, y, reduction="sum", label_smoothing=e
            ),
            "This is the mean. Sums can be added over batches.": (
                lambda z, y, e: label_smoothing(z, y, e) / (y != PAD).sum()
            ),
            "This is the mean over all positions, padding included.": (
                lambda z, y, e: label_smoothing(z, y, e) / len(y)
            ),
            "The labels are not smoothed.": (
                lambda z, y, e: label_smoothing(z, y, 0.0)
            ),
            "The label does not get its share of what is spread, so the "
            "target sums to less than one.": against(
                lambda hot, e, V: hot * (1 - e) + (1 - hot) * e / V
            ),
            "The smoothing is spread over the other tokens only. Here it "
            "is spread over all of them.": against(
                lambda hot, e, V: hot * (1 - e) + (1 - hot) * e / (V - 1)
            ),
            "Padding gets no share of the smoothing. Here all columns get "
            "one, as in PyTorch.": against(
                lambda hot, e, V: (
                    hot * (1 - e) + (1 - hot) * e / (V - 2)
                ).index_fill(-1, torch.tensor([PAD]), 0.0)
            ),
            "Label and rest are exchanged: the label keeps 1 - smoothing.": (
                against(lambda hot, e, V: e * hot + (1 - e) / V)
            ),
            "A logarithm is missing: surprise is -log p.": (
                against(smoothed, torch.Tensor.softmax)
            ),
            "The sign is wrong: a loss falls as the model improves.": (
                lambda z, y, e: -label_smoothing(z, y, e)
            ),
            "The logits must pass a log-softmax first.": (
                against(smoothed, lambda z, axis: z)
            ),
            "This is the divergence of model and target, which lacks the "
            "entropy of the target.": divergence,
            "The unit is bits: take natural logarithms.": (
                lambda z, y, e: label_smoothing(z, y, e) / math.log(2)
            ),
        },
    ),
    Exercise(
        "undo-smoothing",
        "07_loss",
        "write f(q, smoothing), the distribution p whose smoothed version "
        "is q, along the last axis.",
        "vocabularies of 3, 5 and 40",
        unsmooth_inputs,
        unsmooth,
        {
            "What was spread is not taken away first.": (
                lambda q, e: q / (1 - e)
            ),
            "After subtracting, scale up again: the result must sum to one.": (
                lambda q, e: q - e / q.size(-1)
            ),
            "Each token got only its part of the smoothing: it is divided "
            "by V.": lambda q, e: (q - e) / (1 - e),
            "The smoothing was spread over all V tokens, not V - 1.": (
                lambda q, e: (q - e / (q.size(-1) - 1)) / (1 - e)
            ),
            "The order is wrong: undo last what was done first.": (
                lambda q, e: q / (1 - e) - e / q.size(-1)
            ),
            "This smooths once more.": lambda q, e: smoothed(q, e, q.size(-1)),
        },
    ),
]
