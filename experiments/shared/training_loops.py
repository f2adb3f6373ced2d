"""The two training loops: of a loss that draws its batches, and of pairs."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from annotated_transformer.data import Example, training_batches
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.optimizer import adam, linear_rate, set_rate
from annotated_transformer.runs.batches import Change
from annotated_transformer.training import (
    Objective,
    TrainConfig,
    Update,
    batch_loss,
    updates,
)


def fit(
    loss: Callable[[], Tensor],
    optimizer: torch.optim.Optimizer,
    steps: int,
    peak_lr: float | None = None,
    warmup: int = 1,
) -> list[float]:
    """Minimise a loss that draws a new batch each time; all its values.

    With a peak the rate rises to it in warmup steps and falls to zero;
    without one it is the optimizer's own.
    """
    losses = []
    for step in range(1, steps + 1):
        now = loss()
        if peak_lr:
            set_rate(optimizer, linear_rate(step, peak_lr, warmup, steps))
        optimizer.zero_grad()
        now.backward()
        optimizer.step()
        losses.append(now.item())
    return losses


def updates_on(
    examples: list[Example],
    model: nn.Module,
    config: TrainConfig,
    d_model: int,
    resplit: Change | None = None,
    objective: Objective = batch_loss,
) -> Iterator[Update]:
    """The updates of a recipe on pairs, in the order of its seed, by Adam."""
    batches = training_batches(
        examples, config.batch_tokens, config.seed, resplit=resplit
    )
    optimizer = adam(model.parameters())
    return updates(
        model, batches, optimizer, config, d_model, objective=objective
    )


def make_updates(
    examples: list[Example],
    model: EncoderDecoder,
    config: TrainConfig,
    objective: Objective = batch_loss,
) -> None:
    """Make all updates of a recipe on pairs."""
    width = model.config.d_model
    for _ in updates_on(examples, model, config, width, objective=objective):
        pass
