"""Checkpoints: each file holds a whole run, as far as it has come."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from ..errors import UserError
from ..system.atomic_files import replacing, write_text
from .weight_files import read_tensors, set_weights, weights

# what an optimizer keeps of a parameter; Muon has no mean of squares
MOMENTS = ("exp_avg", "exp_avg_sq", "step")

Line = dict[str, int | float]  # of metrics.jsonl: what an interval measured


@dataclass(frozen=True)
class Progress:
    """How far a run has come, beside its weights and moments."""

    step: int = 0  # updates
    seconds: float = 0.0
    loss: float = 0.0  # summed over the tokens since the last line of metrics
    tokens: int = 0
    metrics: tuple[Line, ...] = ()

    @property
    def best_step(self) -> int | float:
        """The update with the lowest validation loss so far; -1 if none."""
        none: Line = {"step": -1}
        best = min(self.metrics, key=lambda x: x["valid_loss"], default=none)
        return best["step"]

    def no_better(self) -> int:
        """How many validations have followed the best one."""
        return sum(x["step"] > self.best_step for x in self.metrics)


def read_checkpoint(
    path: Path,
) -> tuple[dict[str, dict[str, Tensor]], Progress]:
    """Weights and moments, each by name, and the progress.

    UserError unless the file is as a run wrote it.
    """
    tensors, notes = read_tensors(path)
    known, _, text = notes.get("run", "").partition(" ")
    if known != sum_of(tensors, text):
        raise UserError(
            f"{path}: damaged, or not a checkpoint (its SHA-256 differs); "
            "delete it to resume from the one before"
        )
    plain = json.loads(text)
    progress = Progress(**plain | {"metrics": tuple(plain["metrics"])})
    parts: dict[str, dict[str, Tensor]] = {x: {} for x in ("model", *MOMENTS)}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        parts[kind][rest] = tensor
    return parts, progress


def checkpoint_weights(path: Path) -> dict[str, Tensor]:
    """The weights alone of a checkpoint: what averaging needs."""
    return read_checkpoint(path)[0]["model"]


def sum_of(tensors: dict[str, Tensor], text: str) -> str:
    """The SHA-256 of a text, and of tensors in the order of their names."""
    found = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        found.update(name.encode())
        found.update(tensors[name].detach().cpu().contiguous().numpy().data)
    return found.hexdigest()


def read_metrics(run_dir: Path) -> list[Line]:
    """The lines of a run's metrics.jsonl, one for each interval."""
    path = run_dir / "metrics.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines]


def checkpoint_paths(run_dir: Path) -> dict[int, Path]:
    """The checkpoints in the folder of a run by their steps, oldest first."""
    found = run_dir.glob(f"checkpoints/step-{'[0-9]' * 8}.safetensors")
    return {int(path.stem[-8:]): path for path in sorted(found)}


class Checkpoints:
    """The checkpoints of a run's folder, and what follows from the last.

    Those that are averaged are kept, and the one that is best by its loss on
    the validation text.
    """

    def __init__(self, run_dir: Path, every: int, average: int):
        self.run_dir, self.every, self.average = run_dir, every, average

    def paths(self) -> dict[int, Path]:
        """The checkpoints by their steps; UserError if there is none."""
        found = checkpoint_paths(self.run_dir)
        if not found:
            raise UserError(
                f"{self.run_dir / 'checkpoints'}: the checkpoints of this run "
                "(step-*.safetensors) are missing and cannot be made again; "
                "put them back, or begin a new run in another folder, which "
                "`start` begins with a finished model"
            )
        return found

    def counted(self, last: int) -> list[int]:
        """The steps of a run's checkpoints, as far as the last.

        One that a stop has written counts only while it is the last, so that
        an interrupted run ends with the weights of any other.
        """
        return [*range(self.every, last, self.every), last]

    def averaged(self) -> list[Path]:
        """The checkpoints that make the final model, as far as they exist."""
        paths = self.paths()
        wanted = self.counted(max(paths))[-self.average :]
        return [paths[step] for step in wanted if step in paths]

    def best(self, progress: Progress) -> dict[int, Path]:
        """The checkpoint with the lowest validation loss, if it is there."""
        step = progress.best_step
        return {x: path for x, path in self.paths().items() if x == step}

    def load(
        self, model: nn.Module, optimizer: torch.optim.Optimizer
    ) -> Progress:
        """Put the last one back into a model and its optimizer.

        The optimizer has no other state: an update sets its rate anew.
        """
        paths = self.paths()
        path = paths[max(paths)]
        parts, progress = read_checkpoint(path)
        set_weights(model, parts["model"], path)
        for name, parameter in model.named_parameters():
            optimizer.state[parameter] = {
                # a copy: as a view it would keep the file open
                moment: parts[moment][name].to(parameter.device, copy=True)
                for moment in MOMENTS
                if name in parts[moment]  # a frozen one has none
            }
        return progress

    def save(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        progress: Progress,
    ) -> None:
        """Write weights, moments and progress, and what follows from them.

        FloatingPointError if they are not finite: nothing could go on from
        them.
        """
        tensors = {f"model.{n}": t for n, t in weights(model).items()}
        for name, parameter in model.named_parameters():
            for moment, value in optimizer.state[parameter].items():
                tensors[f"{moment}.{name}"] = value
        for name, tensor in tensors.items():
            if not tensor.isfinite().all():
                raise FloatingPointError(
                    f"after update {progress.step}, {name} has numbers that "
                    "are not finite"
                )
        text = json.dumps(asdict(progress))
        # one note, since safetensors writes several in any order
        notes = {"run": f"{sum_of(tensors, text)} {text}"}
        name = f"step-{progress.step:08}.safetensors"
        with replacing(self.run_dir / "checkpoints", name) as new:
            save_file(tensors, new / name, notes)
        self.tidy(progress)

    def tidy(self, progress: Progress) -> None:
        """Make metrics.jsonl say what the last checkpoint says, and prune."""
        lines = "".join(f"{json.dumps(line)}\n" for line in progress.metrics)
        write_text(self.run_dir / "metrics.jsonl", lines)
        paths = self.paths()
        # one more than are averaged, in case that the last is damaged
        kept = self.counted(max(paths))[-self.average - 1 :]
        kept += self.best(progress)
        for step, path in paths.items():
            if step not in kept:
                path.unlink(missing_ok=True)
