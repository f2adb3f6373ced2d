"""Models and checkpoints as files: safetensors and JSON, never pickles."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.files import replacing, sha256, write_text
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.records import model_card
from annotated_transformer.training import average

__all__ = [
    "average_checkpoints",
    "checkpoint_weights",
    "load_checkpoint",
    "load_model",
    "save_checkpoint",
    "save_model",
    "set_weights",
]

FORMAT = 1
MOMENTS = ("exp_avg", "exp_avg_sq")


def weights(model: Transformer) -> dict[str, Tensor]:
    """The trained tensors by name; a tied matrix appears once."""
    return {
        name: parameter.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
    }


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file and its notes."""
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            return tensors, file.metadata() or {}
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path}: not a whole safetensors file ({error}); copy it again, "
            "or delete it if it is a checkpoint"
        ) from error


def set_weights(
    model: Transformer, tensors: dict[str, Tensor], path: Path
) -> None:
    """Copy tensors into the model; names and shapes must be its own."""
    own = dict(model.named_parameters())
    if missing := own.keys() ^ tensors.keys():
        raise UserError(
            f"{path}: the weights are those of another configuration "
            f"({sorted(missing)[0]} is on one side only)"
        )
    for name, parameter in own.items():
        if parameter.shape != tensors[name].shape:
            raise UserError(
                f"{path}: {name} has shape {tuple(tensors[name].shape)}, "
                f"the configuration says {tuple(parameter.shape)}"
            )
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(tensors[name])


def save_checkpoint(
    path: Path,
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    step: int,
) -> None:
    """Weights, Adam's moments and the number of updates, in one file."""
    tensors = {f"model.{n}": t for n, t in weights(model).items()}
    for name, parameter in model.named_parameters():
        for moment in MOMENTS:
            tensors[f"{moment}.{name}"] = optimizer.state[parameter][moment]
    with replacing(path) as part:
        save_file(tensors, part, {"step": str(step)})


def load_checkpoint(
    path: Path, model: Transformer, optimizer: torch.optim.Optimizer
) -> int:
    """Put a checkpoint back into model and optimizer; return its step."""
    tensors, notes = read_tensors(path)
    parts = {kind: part_of(tensors, kind) for kind in ("model", *MOMENTS)}
    for kind in MOMENTS:
        if "step" not in notes or parts[kind].keys() != parts["model"].keys():
            raise UserError(
                f"{path}: not a checkpoint of a training run; delete it to "
                "resume from the one before"
            )
    set_weights(model, parts["model"], path)
    step = int(notes["step"])
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {
            "step": torch.tensor(float(step), device=parameter.device),
            **{m: parts[m][name].to(parameter.device) for m in MOMENTS},
        }
    return step


def part_of(tensors: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    """The tensors whose name begins with the kind, without that prefix."""
    return {
        name.removeprefix(f"{kind}."): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{kind}.")
    }


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
    """Write a model folder; config.json, written last, makes it complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").unlink(missing_ok=True)
    with replacing(folder / "model.safetensors") as part:
        save_file(weights(model), part)
    with replacing(folder / "tokenizer.model") as part:
        part.write_bytes(tokenizer.model)
    write_text(folder / "README.md", model_card(about, model.config))
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

    Nothing is parsed before its SHA-256 is that of config.json; UserError
    says which file is missing, damaged or of another configuration.
    """
    sizes, sums, about = read_config(folder)
    for name in ("model.safetensors", "tokenizer.model"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder}: {name} is missing; copy the whole folder again"
            )
        if sha256(folder / name) != sums.get(name):
            raise UserError(
                f"{folder / name}: not the file that config.json names "
                "(its SHA-256 differs); copy the whole folder again"
            )
    tensors, _ = read_tensors(folder / "model.safetensors")
    tokenizer = Tokenizer((folder / "tokenizer.model").read_bytes())
    if len(tokenizer) != sizes.vocab_size:
        raise UserError(
            f"{folder}: tokenizer.model has {len(tokenizer)} pieces, but "
            f"config.json says {sizes.vocab_size}; copy the folder again"
        )
    model = Transformer(sizes)
    set_weights(model, tensors, folder / "model.safetensors")
    return model.to(device).eval(), tokenizer, about


def read_config(folder: Path) -> tuple[ModelConfig, dict, dict]:
    """The sizes, checksums and history that a model's config.json has."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        if config["format"] != FORMAT:
            raise ValueError(f"its format is {config['format']}")
        sizes = ModelConfig(**config["model"])
        return sizes, dict(config["sha256"]), dict(config["about"])
    except OSError as error:
        raise UserError(
            f"{folder}: no trained model here (config.json: "
            f"{error.strerror}); name another folder, or train to the end "
            "with --resume"
        ) from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(
            f"{path}: not the configuration of a model ({error!r}); copy "
            "the folder again"
        ) from error


def average_checkpoints(output: Path, checkpoints: list[Path]) -> None:
    """Make a model folder of the mean of some checkpoints of one run."""
    if output.exists():
        raise UserError(f"{output}: exists already; choose another folder")
    states = [checkpoint_weights(path) for path in checkpoints]
    run = checkpoints[0].resolve().parent.parent
    try:
        about = json.loads((run / "run.json").read_text("utf-8"))
        tokenizer = Tokenizer((run / "tokenizer.model").read_bytes())
        sizes = ModelConfig(**about["recipe"]["model"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{checkpoints[0]}: not inside the folder of a run ({error}); "
            "name files in its folder checkpoints"
        ) from error
    model = Transformer(replace(sizes, vocab_size=len(tokenizer)))
    for state, path in zip(states, checkpoints, strict=True):
        set_weights(model, state, path)
    set_weights(model, average(states), output)
    about["result"] = {"averaged": len(states)}
    try:
        save_model(output, model, tokenizer, about)
        if (run / "metrics.jsonl").exists():
            shutil.copy(run / "metrics.jsonl", output)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise
