"""Checkpoints: a training's weights and moments in one file, with its sum."""

import hashlib
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from annotated_transformer.errors import UserError
from annotated_transformer.storage.weight_files import (
    check_tensors,
    part_of,
    read_tensors,
    set_weights,
    weights,
)
from annotated_transformer.system.atomic_files import replacing

__all__ = ["checkpoint_weights", "load_checkpoint", "save_checkpoint"]

MOMENTS = ("exp_avg", "exp_avg_sq")


def save_checkpoint(
    path: Path,
    model: nn.Module,
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
                "not finite; train with a lower `peak_rate` or a longer "
                "`warmup`"
            )
    with replacing(path) as part:
        # one note, since safetensors writes several in any order
        save_file(tensors, part, {"step": f"{step} {sum_of(tensors)}"})


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> int:
    """Put a checkpoint back into model and optimizer; return its step."""
    tensors, notes = read_tensors(path)
    parts = {kind: part_of(tensors, kind) for kind in ("model", *MOMENTS)}
    step = notes.get("step", "").partition(" ")[0]
    if not all(parts.values()) or not (step.isdecimal() and len(step) < 16):
        raise UserError(
            f"{path}: not a checkpoint of a training run; delete it to "
            "resume from the one before"
        )
    check_notes(path, tensors, notes)
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
    tensors, notes = read_tensors(path)
    found = part_of(tensors, "model")
    if not found:
        raise UserError(f"{path}: not a checkpoint of a training run")
    check_notes(path, tensors, notes)
    return found


def sum_of(tensors: dict[str, Tensor]) -> str:
    """The SHA-256 of tensors and their names, in the order of the names."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        found.update(name.encode())
        found.update(tensors[name].detach().cpu().contiguous().numpy().data)
    return found.hexdigest()


def check_notes(
    path: Path, tensors: dict[str, Tensor], notes: dict[str, str]
) -> None:
    """UserError for a checkpoint that is damaged, or named like another.

    Those of earlier versions have no sum.
    """
    step, _, known = notes.get("step", "").partition(" ")
    kind = "step-"
    if path.stem.startswith(kind) and path.stem != kind + step.zfill(8):
        raise UserError(
            f"{path}: by its name it is of another update than it is "
            f"({step:.20}); give it its name back, or delete it"
        )
    if known and known != sum_of(tensors):
        raise UserError(
            f"{path}: it is damaged (its SHA-256 differs); delete it to "
            "resume from the one before"
        )
