"""Loss: cross-entropy with label smoothing, summed over tokens (5.4).

Written in book/07_loss.ipynb: edit the chapter, then `make package`.
"""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

__all__ = ["label_smoothing_loss"]


def label_smoothing_loss(
    logits: Float[Tensor, "tokens vocab_size"],
    labels: Int[Tensor, "tokens"],
    smoothing: float = 0.1,
) -> Float[Tensor, ""]:
    """Cross-entropy in nats against smoothed labels, summed over tokens.

    The label keeps 1 - smoothing; the rest is spread evenly over the whole
    vocabulary, the label included. Sums, not means, so that batches of
    different sizes add up; whoever steps divides by the tokens (5.4).
    """
    return F.cross_entropy(
        logits, labels, reduction="sum", label_smoothing=smoothing
    )
