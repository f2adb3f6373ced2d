"""What a training needs of memory, tried before it begins."""

import math
from contextlib import suppress
from dataclasses import replace
from itertools import islice, repeat

import torch
from torch import Tensor, nn

from annotated_transformer.data import Batch, Example, make_batch
from annotated_transformer.embedding import UNK
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.optimizer import adam
from annotated_transformer.risk import ExpectedError
from annotated_transformer.runs.batches import TrainingText
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import Objective, TrainConfig, updates

__all__ = ["largest_batches", "out_of_memory_error", "try_batch"]


def longest(examples: list[Example]) -> int:
    """The most tokens of a side of some examples."""
    return max(max(map(len, example)) for example in examples)


def largest_batches(text: TrainingText) -> list[Batch]:
    """Two made batches: no batch of the text needs more than one of them.

    One has as many sentences as any batch of the text, the other has
    sentences as long as its longest, and all their cells are labels. Most of
    what a model keeps grows with the number of cells, but fused attention
    pads short sentences, and the plain one keeps a weight for each pair of
    tokens. BPE-dropout makes sentences longer after batches were cut.
    """
    epoch, tokens = text.first_epoch(), text.config.batch_tokens
    found = []
    for examples in (max(epoch, key=len), max(epoch, key=longest)):
        rows = max(len(examples), math.ceil(tokens / longest(examples)))
        if text.resplit:
            examples = text.resplit(examples, "trial")
        source, target = (
            max(math.ceil(tokens / rows), *map(len, side))
            for side in zip(*examples, strict=True)
        )
        found.append(make_batch([([UNK] * source, [UNK] * target)] * rows))
    return found


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
    objective: Objective,
    config: TrainConfig,
    d_model: int,
    batch: Batch,
) -> None:
    """Make two updates of a batch, and put the weights back.

    In the second one Adam's moments are there, and, if updates accumulate,
    gradients too. The moments go with their optimizer: a run loads its own
    afterwards. With a risk the candidates are as long as the batch's
    sentences, and the search for them, which keeps no gradients, is left out.
    """
    kept = [
        weight.detach().to("cpu", copy=True) for weight in model.parameters()
    ]
    if isinstance(objective, ExpectedError):
        objective = Unsearched(objective.tokenizer)
    few = replace(
        config,
        accumulation_steps=min(config.accumulation_steps, 2),
        seed=config.seed ^ 1,  # dropout begins anew only where it changes
    )
    optimizer = adam(model.parameters())
    turns = updates(
        model, repeat(batch), optimizer, few, d_model, objective=objective
    )
    with suppress(FloatingPointError):  # of made text, which tells nothing
        for _ in islice(turns, 2):
            pass
    with torch.no_grad():
        for weight, old in zip(model.parameters(), kept, strict=True):
            weight.copy_(old)


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
        "`accumulation_steps` by as much, which keeps the tokens of an "
        "update; else "
        f"{', or '.join(less)}"
    )
