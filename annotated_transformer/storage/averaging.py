"""Averaging: a model made of checkpoints that are there already (6.1)."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from annotated_transformer.errors import UserError
from annotated_transformer.storage.checkpoints import checkpoint_weights
from annotated_transformer.storage.history import read_about
from annotated_transformer.storage.model_folder import (
    WRONG,
    read_sizes,
    read_tokenizer,
    save_model,
)
from annotated_transformer.storage.weight_files import filled, set_weights
from annotated_transformer.system.atomic_files import check_new, new_folder
from annotated_transformer.training import average

__all__ = ["average_checkpoints"]


def average_checkpoints(output: Path, checkpoints: list[Path]) -> None:
    """Make a model folder of the mean of some checkpoints of one run."""
    check_new(output)
    for path in checkpoints:
        if not os.path.lexists(path):
            raise UserError(f"{path}: no such file; check the path")
    real = [Path(os.path.realpath(path)) for path in checkpoints]
    if len({*real}) < len(real):
        raise UserError("a checkpoint is named twice; name each once")
    first, *others = [path.parent for path in real]
    for path, folder in zip(checkpoints[1:], others, strict=True):
        if folder != first:
            raise UserError(
                f"{path}: not of the run of {checkpoints[0]}; the mean of two "
                "runs is no model"
            )
    states = [checkpoint_weights(path) for path in checkpoints]
    run = first.parent
    try:
        about = read_about(run)
        tokenizer = read_tokenizer(run)
        sizes = read_sizes(about["recipe"]["model"])
        sizes = replace(sizes, vocab_size=len(tokenizer))
    except WRONG as error:
        raise UserError(
            f"{checkpoints[0]}: not inside the folder of a run "
            f"({error!r:.200}); name files in its folder checkpoints"
        ) from error
    for state, path in zip(states, checkpoints, strict=True):
        model = filled(sizes, state, path)
    set_weights(model, average(states), output)
    about["result"] = {
        "averaged": len(states),
        "checkpoints": ", ".join(path.stem for path in checkpoints),
    }
    with new_folder(output) as part:
        save_model(part, model, tokenizer, about)
        if (run / "metrics.jsonl").is_file():
            shutil.copy(run / "metrics.jsonl", part)
