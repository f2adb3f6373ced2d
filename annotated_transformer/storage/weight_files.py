"""Tensors as files: what a stranger wrote is measured before it is built."""

import re
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from annotated_transformer.errors import UserError
from annotated_transformer.model import (
    ModelConfig,
    Transformer,
    parameter_count,
    transformer,
)

__all__ = [
    "check_size",
    "check_tensors",
    "filled",
    "from_format_1",
    "part_of",
    "read_tensors",
    "set_weights",
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


def weights(model: Transformer) -> dict[str, Tensor]:
    """The trained tensors by name; a tied matrix appears once."""
    return {
        name: parameter.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
    }


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file in float32, and its notes."""
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
            tensors = {x: file.get_tensor(x).float() for x in file.keys()}
            return tensors, file.metadata() or {}
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path}: not a whole safetensors file ({error}); copy it again, "
            "or delete it if it is a checkpoint"
        ) from error


def check_size(path: Path, sizes: ModelConfig) -> None:
    """UserError if a file is too small or too large for such a model."""
    size, numbers = path.stat().st_size, parameter_count(sizes)
    if not 2 * numbers < size <= 4 * numbers + 8 + MOST_HEADER:
        raise UserError(
            f"{path}: the weights are those of another configuration "
            f"({size:,} bytes for {numbers:,} numbers); copy the whole "
            "folder again"
        )


def check_tensors(
    model: Transformer, tensors: dict[str, Tensor], path: Path
) -> None:
    """UserError unless each parameter has its own, of its shape, finite."""
    own = dict(model.named_parameters())
    if missing := own.keys() ^ tensors.keys():
        raise UserError(
            f"{path}: the weights are those of another configuration "
            f"({min(missing)!r} is on one side only); copy the whole folder "
            "again"
        )
    for name, parameter in own.items():
        if parameter.shape != tensors[name].shape:
            raise UserError(
                f"{path}: {name} has shape {tuple(tensors[name].shape)}, "
                f"the configuration says {tuple(parameter.shape)}; copy the "
                "whole folder again"
            )
        if not tensors[name].isfinite().all():
            raise UserError(
                f"{path}: {name} has numbers that are not finite; copy the "
                "whole folder again, or train it anew"
            )


def set_weights(
    model: Transformer, tensors: dict[str, Tensor], path: Path
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


def filled(
    sizes: ModelConfig, tensors: dict[str, Tensor], path: Path
) -> Transformer:
    """A model with these weights, built only if they are as many as it has."""
    numbers = sum(tensor.numel() for tensor in tensors.values())
    layers = max(sizes.layers, sizes.decoder_layers or 0)
    if numbers != parameter_count(sizes) or len(tensors) < layers:
        raise UserError(
            f"{path}: the weights are those of another configuration "
            f"({numbers:,} numbers in {len(tensors):,} tensors); copy the "
            "whole folder again"
        )
    model = transformer(sizes)
    set_weights(model, tensors, path)
    return model
