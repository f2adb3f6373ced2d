"""Averaging: a model made of checkpoints that are there already (6.1)."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from annotated_transformer.errors import UserError
from annotated_transformer.storage.builders import build, read_sizes
from annotated_transformer.storage.checkpoints import checkpoint_weights
from annotated_transformer.storage.history import History, Result
from annotated_transformer.storage.model_folder import (
    read_tokenizer,
    save_model,
)
from annotated_transformer.storage.weight_files import (
    check_fit,
    check_tensors,
    set_weights,
    shapes_of,
)
from annotated_transformer.system.atomic_files import (
    check_new,
    read_json,
)
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
        history = History.from_json(read_json(run / "run.json"))
        builder = history.recipe.get("builder", "transformer")
        sizes = read_sizes(builder, history.recipe["model"], "recipe.model")
        tokenizer = read_tokenizer(run)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{checkpoints[0]}: not inside the folder of a run "
            f"({error!s:.200}); name files in its folder checkpoints"
        ) from error
    sizes = replace(sizes, vocab_size=len(tokenizer))
    check_fit(sizes, shapes_of(states[0]), checkpoints[0])
    model = build(sizes)
    for state, path in zip(states, checkpoints, strict=True):
        check_tensors(model, state, path)
    set_weights(model, average(states), output)
    names = ", ".join(path.stem for path in checkpoints)
    result = Result(averaged=len(states), checkpoints=names)
    history = replace(history, result=result)
    save_model(output, model, tokenizer, history)
    if (run / "metrics.jsonl").is_file():
        shutil.copy(run / "metrics.jsonl", output)
