"""Tensors as files: what a stranger wrote is measured before it is built."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.storage.builders import outline

__all__ = [
    "check_fit",
    "check_shapes",
    "damaged",
    "read_shapes",
    "read_tensors",
    "set_weights",
    "weights",
]

UNREADABLE = MemoryError, OSError, RuntimeError, SafetensorError, ValueError

Shapes = dict[str, tuple[int, ...]]


def damaged(path: Path, why: object) -> UserError:
    """The error for a file that is not what its folder needs."""
    return UserError(f"{path}: {why!s:.200}; copy the whole folder again")


def weights(model: nn.Module) -> dict[str, Tensor]:
    """The trained tensors by name; a tied matrix appears once."""
    return {
        name: parameter.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
    }


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file of float32 or float16; UserError if it is none."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is no file")  # and might never end
        with safe_open(path, "pt") as file:
            kinds = {file.get_slice(x).get_dtype() for x in file.keys()}
            if others := kinds - {"F32", "F16"}:
                raise ValueError(f"it holds {min(others)}, not F32 or F16")
            yield file
    except UNREADABLE as error:
        if out_of_memory(error):  # which says nothing of the file
            raise
        raise UserError(
            f"{path}: not a whole safetensors file ({error}); copy the whole "
            "folder again, or delete the file if it is a checkpoint"
        ) from error


def read_shapes(path: Path) -> Shapes:
    """The shapes of the tensors in a file, by name; none is read."""
    with opened(path) as file:
        return {x: tuple(file.get_slice(x).get_shape()) for x in file.keys()}


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file in float32, and its notes."""
    with opened(path) as file:
        tensors = {x: file.get_tensor(x).float() for x in file.keys()}
        return tensors, file.metadata() or {}


def check_fit(config: Any, shapes: Shapes, path: Path) -> None:
    """UserError unless tensors of these shapes make a model of the sizes.

    Nothing as large as the sizes is allocated: they may be a stranger's.
    """
    layers = sum(
        getattr(config, field.name) or 0
        for field in fields(config)
        if field.name.endswith("layers")
    )
    try:
        if layers > len(shapes):
            raise ValueError(f"{layers} layers in {len(shapes)} tensors")
        model = outline(config)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise of_another(path, error) from error
    check_shapes(model, shapes, path)


def check_shapes(model: nn.Module, shapes: Shapes, path: Path) -> None:
    """UserError unless each parameter has a tensor of its name and shape."""
    own = {x: tuple(y.shape) for x, y in model.named_parameters()}
    if differing := own.items() ^ shapes.items():
        name = min(name for name, _ in differing)
        given, wanted = shapes.get(name), own.get(name)
        raise of_another(path, f"{name} is {given}, not {wanted}")


def of_another(path: Path, why: object) -> UserError:
    """The error for weights that are not those of the model."""
    return UserError(
        f"{path}: the weights are not those of this model ({why!s:.120}); "
        "copy the whole folder again, or build a model of your own as it was "
        "built when it was saved"
    )


def set_weights(
    model: nn.Module, tensors: dict[str, Tensor], path: Path
) -> None:
    """Copy tensors into the model; UserError unless they fit, all finite."""
    check_shapes(model, {x: tuple(y.shape) for x, y in tensors.items()}, path)
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise damaged(path, f"{name} has numbers that are not finite")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
