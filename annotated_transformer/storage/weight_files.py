"""Tensors as files: what a stranger wrote is measured before it is built."""

import hashlib
from collections.abc import Iterator, Mapping
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
    "check_tensors",
    "damaged",
    "part_of",
    "read_shapes",
    "read_tensors",
    "set_weights",
    "shapes_of",
    "signs_of",
    "weights",
]

MOST_HEADER = 1 << 22  # bytes that say what is in a safetensors file
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


def signs_of(model: nn.Module) -> str:
    """The SHA-256 of the signs of all weights.

    They stay in half precision, and some change when a model is trained.
    """
    found = hashlib.sha256()
    for _, tensor in sorted(weights(model).items()):
        found.update(tensor.signbit().numpy().data)
    return found.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file of float32 or float16; UserError if it is none."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is no file")  # and might never end
        with path.open("rb") as file:
            if int.from_bytes(file.read(8), "little") > MOST_HEADER:
                raise ValueError("its header is too long")
        with safe_open(path, "pt") as file:
            kinds = {file.get_slice(x).get_dtype() for x in file.keys()}
            if others := kinds - {"F32", "F16"}:
                raise ValueError(f"it holds {min(others)}, not F32 or F16")
            yield file
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UNREADABLE as error:
        if out_of_memory(error):  # which says nothing of the file
            raise UserError(
                f"{path}: out of memory while it was read ({error}); end "
                "other programs, or give this one a higher limit, and try "
                "again"
            ) from error
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


def shapes_of(tensors: Mapping[str, Tensor]) -> Shapes:
    """The shapes of tensors, by name."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


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
        own = shapes_of(dict(outline(config).named_parameters()))
        check_shapes(own, shapes)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise of_another(path, error) from error


def check_shapes(own: Shapes, given: Shapes) -> None:
    """ValueError unless each parameter has a tensor of its name and shape."""
    if missing := own.keys() ^ given.keys():
        raise ValueError(f"{min(missing)!r} is on one side only")
    for name, shape in own.items():
        if shape != given[name]:
            raise ValueError(
                f"{name} has shape {given[name]}, the configuration says "
                f"{shape}"
            )


def of_another(path: Path, why: object) -> UserError:
    """The error for weights that are not those of the configuration."""
    told = "the weights are those of another configuration"
    return damaged(path, f"{told} ({why!s:.120})")


def check_tensors(
    model: nn.Module, tensors: dict[str, Tensor], path: Path
) -> None:
    """UserError unless each parameter has its own, of its shape, finite."""
    own = shapes_of(dict(model.named_parameters()))
    try:
        check_shapes(own, shapes_of(tensors))
    except ValueError as error:
        raise of_another(path, error) from error
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise damaged(path, f"{name} has numbers that are not finite")


def set_weights(
    model: nn.Module, tensors: dict[str, Tensor], path: Path
) -> None:
    """Copy tensors into the model; names and shapes must be its own."""
    check_tensors(model, tensors, path)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])


def part_of(tensors: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    """The tensors whose name begins with the kind, without it."""
    return {
        name.removeprefix(f"{kind}."): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{kind}.")
    }
