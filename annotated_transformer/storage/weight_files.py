"""Tensors as files: what a stranger wrote is measured before it is built."""

from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from ..errors import UserError, out_of_memory

WHOLE = "copy the whole folder again"
UNREADABLE = MemoryError, OSError, RuntimeError, SafetensorError, ValueError


def damaged(path: Path, why: object) -> UserError:
    """The error for a file that is not what its folder needs."""
    return UserError(f"{path}: {why!s:.200}; {WHOLE}")


def weights(model: nn.Module) -> dict[str, Tensor]:
    """The trained tensors by name; a tied matrix appears once."""
    return {
        name: parameter.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
    }


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file in float32, and its notes.

    UserError unless they are of float32 or float16.
    """
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is no file")  # and might never end
        with safe_open(path, "pt") as file:
            kinds = {file.get_slice(x).get_dtype() for x in file.keys()}
            if others := kinds - {"F32", "F16"}:
                raise ValueError(f"it holds {min(others)}, not F32 or F16")
            tensors = {x: file.get_tensor(x).float() for x in file.keys()}
            return tensors, file.metadata() or {}
    except UNREADABLE as error:
        if out_of_memory(error):  # which says nothing of the file
            raise
        raise UserError(
            f"{path}: not a whole safetensors file ({error}); copy the whole "
            "folder again, or delete the file if it is a checkpoint"
        ) from error


def check_fit(
    make: Callable[[], nn.Module], tensors: dict[str, Tensor], path: Path
) -> None:
    """UserError unless each parameter has a tensor of its name and shape.

    That is, of the model that is made: of a stranger's sizes, an outline.
    """
    given = {x: tuple(y.shape) for x, y in tensors.items()}
    try:
        own = {x: tuple(y.shape) for x, y in make().named_parameters()}
        if differing := own.items() ^ given.items():
            name = min(name for name, _ in differing)
            told = f"{name} is {given.get(name)}, not {own.get(name)}"
            raise ValueError(told)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise UserError(
            f"{path}: the weights are not those of this model ({error!s:.120})"
            "; copy the whole folder again, or build a model of your own as "
            "it was built when it was saved"
        ) from error


def set_weights(
    model: nn.Module, tensors: dict[str, Tensor], path: Path
) -> None:
    """Copy tensors into the model; UserError unless they fit, all finite."""
    check_fit(lambda: model, tensors, path)
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise damaged(path, f"{name} has numbers that are not finite")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
