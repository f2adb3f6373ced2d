"""Tensors as files: what a stranger wrote is measured before it is built."""

import re
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
    "from_format_1",
    "part_of",
    "read_shapes",
    "read_tensors",
    "set_weights",
    "shapes_of",
    "weights",
]

MOST_HEADER = 1 << 22  # bytes that say what is in a safetensors file
FORMAT_1 = (  # what a name began with, and what it begins with now
    (r"(source|target)_embedding\.", r"\1.tokens."),
    (r"(source|target)_positions\.", r"\1.positions."),
    (r"output_embedding\.", r"output."),
    (r"(encoder|decoder)\.(\d+)\.", r"\1.layers.\2."),
    (r"(encoder|decoder)_norm\.", r"\1.norm."),
)


def from_format_1(name: str) -> str:
    """A parameter's name today; names of today stay as they are."""
    for before, now in FORMAT_1:
        name = re.sub(rf"^{before}", now, name)
    return name


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
        with path.open("rb") as file:
            if int.from_bytes(file.read(8), "little") > MOST_HEADER:
                raise ValueError("its header is too long")
        try:
            mapped = safe_open(path, "pt")
        except RuntimeError as error:  # no room, or just gone
            kind = MemoryError if out_of_memory(error) else ValueError
            raise kind(str(error)) from error
        with mapped as file:
            kinds = {file.get_slice(x).get_dtype() for x in file.keys()}
            if others := kinds - {"F32", "F16"}:
                raise ValueError(f"it holds {min(others)}, not F32 or F16")
            yield file
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except MemoryError as error:  # which says nothing of the file
        raise UserError(
            f"{path}: out of memory while it was read ({error}); end other "
            "programs, or give this one a higher limit, and try again"
        ) from error
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path}: not a whole safetensors file ({error}); copy the whole "
            "folder again, or delete the file if it is a checkpoint"
        ) from error


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors in a file, by name; none is read."""
    with opened(path) as file:
        return {
            name: tuple(file.get_slice(name).get_shape())
            for name in file.keys()
        }


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file in float32, and its notes."""
    with opened(path) as file:
        tensors = {x: file.get_tensor(x).float() for x in file.keys()}
        return tensors, file.metadata() or {}


def shapes_of(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """The shapes of tensors, by name."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def check_fit(
    config: Any, shapes: dict[str, tuple[int, ...]], path: Path
) -> None:
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
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise of_another(path, f"{error!s:.80}") from error
    check_shapes(own, shapes, path)


def check_shapes(
    own: dict[str, tuple[int, ...]],
    given: dict[str, tuple[int, ...]],
    path: Path,
) -> None:
    """UserError unless each parameter has a tensor of its name and shape."""
    if missing := own.keys() ^ given.keys():
        raise of_another(path, f"{min(missing)!r} is on one side only")
    for name, shape in own.items():
        if shape != given[name]:
            raise of_another(
                path,
                f"{name} has shape {given[name]}, the configuration says "
                f"{shape}",
            )


def of_another(path: Path, why: str) -> UserError:
    """The error for weights that are not those of the configuration."""
    return UserError(
        f"{path}: the weights are those of another configuration ({why}); "
        "copy the whole folder again"
    )


def check_tensors(
    model: nn.Module, tensors: dict[str, Tensor], path: Path
) -> None:
    """UserError unless each parameter has its own, of its shape, finite."""
    own = shapes_of(dict(model.named_parameters()))
    check_shapes(own, shapes_of(tensors), path)
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise UserError(
                f"{path}: {name} has numbers that are not finite; copy the "
                "whole folder again, or train it anew"
            )


def set_weights(
    model: nn.Module, tensors: dict[str, Tensor], path: Path
) -> None:
    """Copy tensors into the model; names and shapes must be its own."""
    check_tensors(model, tensors, path)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])


def part_of(tensors: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    """The tensors whose name begins with the kind, by their names today."""
    return {
        from_format_1(name.removeprefix(f"{kind}.")): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{kind}.")
    }
