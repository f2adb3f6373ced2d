"""Models and checkpoints as files: safetensors and JSON, never pickles."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import get_args, get_type_hints

import torch
from safetensors.torch import save_file
from torch import Tensor

from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.files import (
    read_json,
    read_some,
    replacing,
    sha256,
    write_text,
)
from annotated_transformer.limits import LARGEST_ALPHA, MOST_SEARCH
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.records import check_about, model_card
from annotated_transformer.tensors import (
    check_size,
    check_tensors,
    filled,
    part_of,
    read_tensors,
    set_weights,
    weights,
)

__all__ = [
    "check_search",
    "checkpoint_weights",
    "load_checkpoint",
    "load_model",
    "save_checkpoint",
    "save_model",
]

FORMAT = 1
MOMENTS = ("exp_avg", "exp_avg_sq")
MOST_SIZE = 1 << 40  # of whatever a configuration counts
MOST_TOKENIZER = 1 << 26  # bytes
WRONG = (  # what a file that is not what it should be raises
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RuntimeError,
)


def save_checkpoint(
    path: Path,
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    step: int,
) -> None:
    """Weights, Adam's moments and the number of updates, in one file.

    UserError if they are not finite: nothing could go on from them.
    """
    tensors = {f"model.{n}": t for n, t in weights(model).items()}
    for name, parameter in model.named_parameters():
        for moment in MOMENTS:
            tensors[f"{moment}.{name}"] = optimizer.state[parameter][moment]
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise UserError(
                f"{path}: after update {step}, {name} has numbers that are "
                "not finite; train with a lower --peak-rate or a longer "
                "--warmup"
            )
    with replacing(path) as part:
        save_file(tensors, part, {"step": str(step)})


def load_checkpoint(
    path: Path, model: Transformer, optimizer: torch.optim.Optimizer
) -> int:
    """Put a checkpoint back into model and optimizer; return its step."""
    tensors, notes = read_tensors(path)
    parts = {kind: part_of(tensors, kind) for kind in ("model", *MOMENTS)}
    step = notes.get("step", "")
    if not all(parts.values()) or not (step.isdecimal() and len(step) < 16):
        raise UserError(
            f"{path}: not a checkpoint of a training run; delete it to "
            "resume from the one before"
        )
    for kind in MOMENTS:
        check_tensors(model, parts[kind], path)
    set_weights(model, parts["model"], path)
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {
            "step": torch.tensor(float(step), device=parameter.device),
            # a copy: as a view it would keep the file open
            **{
                m: parts[m][name].to(parameter.device, copy=True)
                for m in MOMENTS
            },
        }
    return int(step)


def checkpoint_weights(path: Path) -> dict[str, Tensor]:
    """The weights alone of a checkpoint: what averaging needs."""
    found = part_of(read_tensors(path)[0], "model")
    if not found:
        raise UserError(f"{path}: not a checkpoint of a training run")
    return found


def save_model(
    folder: Path,
    model: Transformer,
    tokenizer: Tokenizer,
    about: dict,
) -> None:
    """Write a model folder; config.json, written last, makes it complete.

    The weights are written in the precision that the model has.
    """
    card = model_card(about, model.config)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").unlink(missing_ok=True)
    with replacing(folder / "model.safetensors") as part:
        save_file(weights(model), part)
    with replacing(folder / "tokenizer.model") as part:
        part.write_bytes(tokenizer.model)
    write_text(folder / "README.md", card)
    files = ("model.safetensors", "tokenizer.model", "README.md")
    config = {
        "format": FORMAT,
        "model": asdict(model.config),
        "about": about,
        "sha256": {name: sha256(folder / name) for name in files},
    }
    write_text(folder / "config.json", json.dumps(config, indent=1) + "\n")


def load_model(
    folder: Path, device: torch.device | str = "cpu"
) -> tuple[Transformer, Tokenizer, dict]:
    """The model in evaluation mode, its tokenizer, and what it is.

    Nothing is parsed before its SHA-256 is that of config.json, and nothing
    is built that the files do not fill; UserError says which file is
    missing, damaged or of another configuration.
    """
    sizes, sums, about = read_config(folder)
    for name in ("model.safetensors", "tokenizer.model"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder}: {name} is missing; copy the whole folder again"
            )
    check_size(folder / "model.safetensors", sizes)
    for name in ("model.safetensors", "tokenizer.model"):
        if sha256(folder / name) != sums.get(name):
            raise UserError(
                f"{folder / name}: not the file that config.json names "
                "(its SHA-256 differs); copy the whole folder again"
            )
    tensors, _ = read_tensors(folder / "model.safetensors")
    try:
        tokenizer = read_tokenizer(folder)
    except WRONG as error:
        raise UserError(
            f"{folder}: tokenizer.model is none ({error}); copy the folder "
            "again"
        ) from error
    if len(tokenizer) != sizes.vocab_size:
        raise UserError(
            f"{folder}: tokenizer.model has {len(tokenizer)} pieces, but "
            f"config.json says {sizes.vocab_size}; copy the folder again"
        )
    model = filled(sizes, tensors, folder / "model.safetensors")
    try:
        return model.to(device).eval(), tokenizer, about
    except torch.OutOfMemoryError:
        raise  # which has a message of its own
    except (AssertionError, RuntimeError) as error:  # torch's, for no device
        raise UserError(
            f"device {str(device)!r} cannot be used ({error!s:.80}); choose "
            "another"
        ) from error


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder; one of WRONG if there is none."""
    data = read_some(folder / "tokenizer.model", MOST_TOKENIZER)
    if not data:
        raise ValueError("tokenizer.model is empty")
    return Tokenizer(data)


def read_sizes(plain: dict) -> ModelConfig:
    """The sizes that JSON gives, each of its own type."""
    for name, value in plain.items():
        kind = get_type_hints(ModelConfig)[name]
        kinds = get_args(kind) or ((int, float) if kind is float else (kind,))
        if type(value) not in kinds or (
            type(value) is int and value > MOST_SIZE
        ):
            raise TypeError(f"{name} is {value!r:.40}")
    return ModelConfig(**plain)


def check_search(
    beam: object = 1, alpha: object = 0.0, no_repeat: object = 0
) -> None:
    """ValueError for options of a search that are none."""
    whole = type(beam) is int and type(no_repeat) is int
    known = whole and isinstance(alpha, int | float)
    if not known or not (
        1 <= beam <= MOST_SEARCH
        and 0 <= alpha <= LARGEST_ALPHA
        and 0 <= no_repeat <= MOST_SEARCH
    ):
        raise ValueError(
            f"a search with beam {beam!r:.40}, alpha {alpha!r:.40} and "
            f"no_repeat {no_repeat!r:.40}: beam is in 1..{MOST_SEARCH}, alpha "
            f"in 0..{LARGEST_ALPHA}, no_repeat in 0..{MOST_SEARCH}"
        )


def read_config(folder: Path) -> tuple[ModelConfig, dict, dict]:
    """The sizes, checksums and history that a model's config.json has."""
    path = folder / "config.json"
    try:
        config = read_json(path)
        if config["format"] != FORMAT:
            raise ValueError(f"its format is {config['format']!r:.40}")
        sizes = read_sizes(config["model"])
        about = dict(config["about"])
        check_search(**about.get("search", {}))
        check_about(about, sizes)
        return sizes, dict(config["sha256"]), about
    except OSError as error:
        raise UserError(
            f"{folder}: no trained model here (config.json: "
            f"{error.strerror}); name another folder, or train to the end "
            "with --resume"
        ) from error
    except WRONG as error:
        raise UserError(
            f"{path}: not the configuration of a model ({error!r:.200}); "
            "copy the folder again"
        ) from error
