"""What a training needs of memory, counted, and tried at once."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.data import Batch, make_batch
from annotated_transformer.embedding import UNK
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.risk import ExpectedError
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import Objective, TrainConfig, updates

__all__ = [
    "largest_batch",
    "loss_bytes",
    "out_of_memory_error",
    "try_batch",
]

# What a loss holds at its peak, in bytes for each logit of one pass: float32
# numbers, of which bfloat16 saves none. Plain: logits, and their gradient.
# R-Drop: two passes' logits and gradients, both log-probabilities, the halves
# of its own gradient, and what the second half is made of. Risk, going back:
# log-probabilities, the gradient of the labels', that of all logits.
PLAIN, R_DROP, RISK = 2 * 4, 13 * 4, 3 * 4


def loss_bytes(config: TrainConfig) -> int:
    """What the loss holds at its peak, in bytes for each label's logit."""
    if config.risk:
        return RISK * config.risk  # each candidate has labels of its own
    return R_DROP if config.r_drop else PLAIN


def largest_batch(
    tokens: int, longest: int, grown: Sequence[Batch] = ()
) -> Batch:
    """A made batch, as large as any of at most so many tokens a side.

    All its cells are labels. Its sentences are as long as the longest of
    the text: most of what a model keeps grows with the number of cells, but
    attention that is not fused keeps a row of weights for each of them.
    BPE-dropout, which comes after batches are cut, may have grown them.
    """
    source = max([tokens, *(batch.source.numel() for batch in grown)])
    target = max([tokens, *(batch.labels.numel() for batch in grown)])
    for batch in grown:
        longest = max(longest, batch.source.size(1), batch.labels.size(1))
    rows = math.ceil(max(source, target) / longest)
    example = (
        [UNK] * math.ceil(source / rows),
        [UNK] * math.ceil(target / rows),
    )
    return make_batch([example] * rows)


class NoOpOptimizer(torch.optim.Optimizer):
    """An optimizer that holds Adam's moments, and moves nothing."""

    def __init__(self, parameters: list[nn.Parameter], moments: int):
        super().__init__(parameters, {"lr": 0.0})
        self.moments = [
            torch.zeros_like(p) for p in parameters for _ in range(moments)
        ]

    def step(self, closure: Any = None) -> Any:
        """Leave the weights as they are."""


class Unsearched(ExpectedError):
    """The risk of the references themselves, in place of a search."""

    def candidates(
        self, model: EncoderDecoder, batch: Batch, number: int
    ) -> tuple[Tensor, Tensor]:
        """Each reference as often as there would be candidates."""
        labels = batch.labels.repeat_interleave(number, 0)
        return labels, labels.new_zeros(len(batch.labels), number).float()


def try_batch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    objective: Objective,
    config: TrainConfig,
    batch: Batch,
) -> None:
    """Make an update of a batch that changes nothing but takes its memory.

    Gradients are there while a second batch is computed, if updates
    accumulate, and Adam's moments as after its first step. Weights, the
    optimizer and random numbers are afterwards what they were before.
    With a risk the candidates are as long as the batch's sentences, and the
    search for them, which keeps no gradients, is left out.
    """
    parameters = list(model.parameters())
    device, number = parameters[0].device, min(config.accumulate, 2)
    if isinstance(objective, ExpectedError):
        objective = Unsearched(objective.tokenizer)
    with (
        torch.random.fork_rng([device] if device.type == "cuda" else []),
        suppress(FloatingPointError),  # of made text, which tells nothing
    ):
        next(
            updates(
                model,
                iter([batch] * number),
                NoOpOptimizer(parameters, 0 if optimizer.state else 2),
                # another seed: dropout begins anew only where it changes
                replace(config, accumulate=number, seed=config.seed + 1),
                1,  # d_model, for a rate that nothing reads
                objective=objective,
            )
        )
    optimizer.zero_grad()


def out_of_memory_error(
    where: str, recipe: Recipe, error: BaseException
) -> UserError:
    """The error for a training that wants more memory than there is."""
    config = recipe.train
    # how much of a GPU others use; what follows is about PyTorch's allocator
    told = str(error).partition("\n")[0].partition(" Of the allocated")[0]
    where += f" ({told})" if told else ""
    less = ["leave out `r_drop`"] * bool(config.r_drop)
    less += ["lower `risk`"] * bool(config.risk)
    less += ["use `bf16=True`"] * (not config.bf16)
    less += ["lower `max_length`", "choose a smaller model"]
    return UserError(
        f"out of memory {where}: in a new run lower `batch_tokens`, and raise "
        "`accumulate` by as much, which keeps the tokens of an update; else "
        f"{', or '.join(less)}"
    )
