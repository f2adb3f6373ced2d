"""What a training needs of memory, tried before it begins."""

import torch
from torch import nn

from annotated_transformer.data import Batch
from annotated_transformer.errors import UserError
from annotated_transformer.training import Objective, TrainConfig

__all__ = ["out_of_memory_error", "try_batch"]


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
