"""Training: updates, validation and the average of checkpoints (5, 6.1).

Written in book/09_training.ipynb: edit the chapter, then `make package`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.func import functional_call

from annotated_transformer.data import Batch
from annotated_transformer.errors import UserError, check_fields
from annotated_transformer.loss import label_smoothing_loss
from annotated_transformer.optimizer import (
    OPTIMIZERS,
    inverse_sqrt_rate,
    linear_rate,
    set_rate,
    stable_rate,
)

__all__ = [
    "LARGEST_SEED",
    "TrainConfig",
    "predict",
    "batch_loss",
    "Objective",
    "Update",
    "accumulate",
    "Accumulate",
    "updates",
    "Validation",
    "evaluating",
    "validate",
    "average",
    "rounded",
]


LARGEST_SEED = 2**32 - 1  # of 32 bits


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained; the defaults are the paper's base model."""

    steps: int = 100_000  # updates in all
    batch_tokens: int = 25_000  # at most, on each side, padding included
    accumulation_steps: int = 1  # batches per update
    optimizer: str = "adam"  # or "adamw", "muon"
    weight_decay: float = 0.0  # of AdamW and Muon, on matrices
    schedule: str = "inverse_sqrt"  # or "linear", "stable": end at zero
    decay: float = 0.2  # share of the updates in which "stable" falls
    warmup: int = 4000  # updates with a rising rate
    peak_lr: float | None = None  # None: the paper's, d_model and warmup
    label_smoothing: float = 0.1  # epsilon_ls
    clip: float = math.inf  # largest norm of an update's gradient
    bf16: bool = False  # matrix products in bfloat16
    checkpoint_every: int = 1000  # updates
    average: int = 5  # how many of the last checkpoints to average
    patience: int = 0  # checkpoints that are no better, then it ends; 0: never
    max_length: int = 256  # tokens; longer pairs are left out and reported
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            accumulation_steps=(1, 10**4),
            optimizer=OPTIMIZERS,
            weight_decay=(0, 10),
            schedule=("inverse_sqrt", "linear", "stable"),
            decay=(1e-9, 1),
            peak_lr=(1e-9, 1e38),
            label_smoothing=(0, 0.99),
            clip=(1e-9, math.inf),
            patience=(0, 10**12),
            max_length=(2, 10**12),
            seed=(0, LARGEST_SEED),
        )
        if self.weight_decay and self.optimizer == "adam":
            raise UserError(
                "`weight_decay`: Adam has none; choose `optimizer='adamw'`"
            )

    def rate(self, step: int, d_model: int) -> float:
        """The learning rate of an update, counted from 1."""
        top = inverse_sqrt_rate(self.warmup, d_model, self.warmup)
        peak = self.peak_lr or top
        if self.schedule == "linear":
            return linear_rate(step, peak, self.warmup, self.steps)
        if self.schedule == "stable":
            fall = self.steps, self.decay
            return stable_rate(step, peak, self.warmup, *fall)
        return inverse_sqrt_rate(step, d_model, self.warmup, peak / top)


def predict(
    model: nn.Module, batch: Batch, bf16: bool = False
) -> Float[Tensor, "tokens vocab_size"]:
    """Logits for the targets, with bfloat16 products if asked for."""
    inputs = batch.source, batch.inputs, batch.places
    if not bf16:
        return model(*inputs)
    with torch.autocast(batch.source.device.type, torch.bfloat16):
        weights = rounded(model)
        return functional_call(
            model, weights, inputs, tie_weights=False
        ).float()


def batch_loss(model: nn.Module, batch: Batch, config: TrainConfig) -> Tensor:
    """The smoothed loss summed over a batch's targets."""
    logits = predict(model, batch, config.bf16)
    return label_smoothing_loss(logits, batch.targets, config.label_smoothing)


Objective = Callable[[Any, Batch, TrainConfig], Tensor]  # Any: a model


@dataclass(frozen=True)
class Update:
    """The result of one update."""

    step: int
    loss: Float[Tensor, ""]  # nats per target token, smoothed
    rate: float
    norm: Float[Tensor, ""]  # of the gradient, before clipping
    tokens: int  # target tokens
    finite: Bool[Tensor, ""]  # were all losses and norms up to here?

    def check(self) -> None:
        """Raise FloatingPointError if a loss or norm so far is not finite.

        Waits until the device has finished this update.
        """
        if not self.finite:
            raise FloatingPointError(
                f"by update {self.step} a loss or a gradient was not finite"
            )


def accumulate(
    model: nn.Module,
    batches: Sequence[Batch],
    config: TrainConfig,
    objective: Objective = batch_loss,
) -> tuple[Float[Tensor, ""], int]:
    """Add up the gradients of batches, as if they were one.

    The mean loss over their target tokens, and the number of these.
    """
    device = next(model.parameters()).device
    tokens = sum(batch.tokens for batch in batches)
    loss = torch.zeros((), device=device)
    for batch in batches:
        part = objective(model, batch.to(device), config) / tokens
        part.backward()
        loss += part.detach()
    return loss, tokens


Accumulate = Callable[
    [Any, Sequence[Batch], TrainConfig, Objective], tuple[Tensor, int]
]


def updates(
    model: nn.Module,
    batches: Iterator[Batch],
    optimizer: torch.optim.Optimizer,
    config: TrainConfig,
    d_model: int,
    done: int = 0,
    objective: Objective = batch_loss,
    accumulate: Accumulate = accumulate,
) -> Iterator[Update]:
    """Train, one update per iteration; stopping between two is safe.

    No hidden state is carried from update to update: batches and random
    numbers depend only on the seed and the step.
    """
    device = next(model.parameters()).device
    finite = torch.ones((), dtype=torch.bool, device=device)
    for step in range(done + 1, config.steps + 1):
        if not model.training:  # setting it again takes milliseconds
            model.train()
        torch.manual_seed(config.seed * 10_000_019 + step)
        group = list(islice(batches, config.accumulation_steps))
        if not group:
            raise ValueError(f"update {step}: there are no more batches")
        loss, tokens = accumulate(model, group, config, objective)
        norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        rate = config.rate(step, d_model)
        set_rate(optimizer, rate)
        optimizer.step()
        optimizer.zero_grad()
        finite = finite & torch.isfinite(loss + norm)
        update = Update(step, loss, rate, norm, tokens, finite)
        yield update
    if done < config.steps:
        update.check()


@dataclass(frozen=True)
class Validation:
    """How well a model predicts text that it was not trained on."""

    loss: float  # nats per target token, not smoothed
    accuracy: float  # share of target tokens predicted correctly

    @property
    def perplexity(self) -> float:
        """exp(loss): as unsure as a uniform choice among that many tokens."""
        return math.exp(min(self.loss, 700))  # avoids overflow


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode; then each part has its own again, whatever happens."""
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training


@torch.no_grad()
def validate(model: nn.Module, batches: Iterable[Batch]) -> Validation:
    """Teacher-forced loss and accuracy, without gradients or dropout."""
    device = next(model.parameters()).device
    losses, hits, tokens = [], [], 0
    with evaluating(model):
        for batch in batches:
            batch = batch.to(device)
            logits = predict(model, batch)
            losses.append(label_smoothing_loss(logits, batch.targets, 0.0))
            hits.append((logits.argmax(-1) == batch.targets).sum())
            tokens += batch.tokens
    loss, right = (sum(torch.stack(x).tolist()) for x in (losses, hits))
    return Validation(loss / tokens, right / tokens)


def average(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights, name by name (6.1).

    Where all have the same number, so has the mean.
    """
    mean = {name: weight.float().clone() for name, weight in states[0].items()}
    for number, state in enumerate(states[1:], 2):
        for name, weight in mean.items():
            weight.lerp_(state[name].float(), 1 / number)
    return mean


def rounded(model: nn.Module) -> dict[str, Tensor]:
    """The weights and biases of all linear maps in bfloat16, by name.

    They are rounded as one vector, and so are their gradients on the way
    back: that takes four calls to the device, not two for each of them.
    """
    weights = {
        f"{name}.{part}": weight
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear)
        for part, weight in layer.named_parameters()
    }
    vector = torch.cat([w.flatten() for w in weights.values()]).bfloat16()
    parts = vector.split([w.numel() for w in weights.values()])
    return {
        name: part.view_as(weight)
        for (name, weight), part in zip(weights.items(), parts, strict=True)
    }
