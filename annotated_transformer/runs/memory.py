"""What a training needs of memory, tried before it begins."""

import math

import torch
from torch import nn

from annotated_transformer.data import Batch, Example, make_batch
from annotated_transformer.embedding import UNK
from annotated_transformer.errors import UserError
from annotated_transformer.runs.batches import TrainingText
from annotated_transformer.runs.windows import TextWindows
from annotated_transformer.training import Objective, TrainConfig

__all__ = ["largest_batches", "out_of_memory_error", "try_batch"]


def longest(examples: list[Example]) -> int:
    """The most tokens of a side of some examples."""
    return max(max(map(len, example)) for example in examples)


def largest_batches(text: TrainingText | TextWindows) -> list[Batch]:
    """Two made batches: no batch of the text needs more than one of them.

    One has as many sentences as any batch of the text, the other has
    sentences as long as its longest, and all their cells are labels. Most of
    what a model keeps grows with the number of cells, but fused attention
    pads short sentences, and the plain one keeps a weight for each pair of
    tokens. BPE-dropout makes sentences longer after batches were cut, and a
    risk reads each of them with as many candidates.
    """
    if isinstance(text, TextWindows):
        return [next(text.batches())]  # all are alike
    epoch, tokens = text.first_epoch(), text.config.batch_tokens
    found = []
    for examples in (max(epoch, key=len), max(epoch, key=longest)):
        rows = max(len(examples), math.ceil(tokens / longest(examples)))
        if text.change:
            examples = text.change(examples, "trial")
        source, target = (
            max(math.ceil(tokens / rows), *map(len, side))
            for side in zip(*examples, strict=True)
        )
        rows *= max(1, text.labs.risk)
        found.append(make_batch([([UNK] * source, [UNK] * target)] * rows))
    return found


def try_batch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    objective: Objective,
    config: TrainConfig,
    batch: Batch,
) -> None:
    """Read a batch and go back, with all that an update has in memory.

    Where all gradients are zero, a step of Adam allocates its moments and
    changes no weight; it is not counted.
    """
    for weight in model.parameters():
        if weight.requires_grad:
            weight.grad = torch.zeros_like(weight)
    optimizer.step()
    for state in optimizer.state.values():
        state["step"].zero_()
    model.train()
    batch = batch.to(next(model.parameters()).device)
    objective(model, batch, config).backward()
    optimizer.zero_grad()


def out_of_memory_error(where: str, error: BaseException) -> UserError:
    """The error for a training that wants more memory than there is."""
    # how much of a GPU others use; what follows is about PyTorch's allocator
    told = str(error).partition("\n")[0].partition(" Of the allocated")[0]
    where += f" ({told})" if told else ""
    return UserError(
        f"out of memory {where}: in a new run lower `batch_tokens`, and raise "
        "`accumulation_steps` by as much, which keeps the tokens of an "
        "update; else use `bf16=True`, lower `max_length`, leave out `risk` "
        "or `r_drop`, or choose a smaller model"
    )
