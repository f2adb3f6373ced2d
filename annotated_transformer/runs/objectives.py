"""Objectives: what an update makes smaller."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..data import Batch, Tokenizer
from ..loss import consistency_loss, label_smoothing_loss
from ..risk import ExpectedError
from ..training import Objective, TrainConfig, batch_loss, predict
from .recipes import LabConfig


@dataclass(frozen=True)
class RDrop:
    """The mean loss of two passes, and how far they diverge."""

    weight: float  # of the divergence

    def __call__(
        self, model: Any, batch: Batch, config: TrainConfig
    ) -> Tensor:
        """The sum over a batch's targets, as batch_loss gives it."""
        double = batch.duplicated()
        logits = predict(model, double, config.bf16)
        loss = label_smoothing_loss(
            logits, double.targets, config.label_smoothing
        )
        return (loss + self.weight * consistency_loss(logits)) / 2


def objective_of(
    labs: LabConfig,
    tokenizer: Tokenizer,
    language: str = "",
    stretch: float = 1.0,
) -> Objective:
    """The objective that the settings ask for, for targets of a language.

    stretch is that of the length of outputs; see length_limit.
    """
    if labs.risk:
        return ExpectedError(tokenizer, labs.risk, language, stretch)
    return RDrop(labs.r_drop) if labs.r_drop else batch_loss
