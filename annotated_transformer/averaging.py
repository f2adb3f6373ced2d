"""Models that are the mean of others: of checkpoints, or of trainings."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from annotated_transformer.checkpoint import (
    WRONG,
    checkpoint_weights,
    load_model,
    read_sizes,
    read_tokenizer,
    save_model,
)
from annotated_transformer.errors import UserError
from annotated_transformer.preparation import read_start
from annotated_transformer.pretrained import find_model
from annotated_transformer.records import environment, read_about, trainings
from annotated_transformer.tensors import (
    check_tensors,
    filled,
    set_weights,
    weights,
)
from annotated_transformer.training import average

__all__ = ["average_checkpoints", "average_models"]


def check_free(output: Path) -> None:
    """UserError if a folder of that name is there."""
    if output.exists():
        raise UserError(f"{output}: exists already; choose another folder")


def average_checkpoints(output: Path, checkpoints: Sequence[Path]) -> None:
    """Make a model folder of the mean of some checkpoints of one run."""
    check_free(output)
    first, *others = [path.resolve().parent for path in checkpoints]
    for path, folder in zip(checkpoints[1:], others, strict=True):
        if folder != first:
            raise UserError(
                f"{path}: not of the run of {checkpoints[0]}; of two runs, "
                "average the trained models: name their folders"
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
    about["result"] = {"averaged": len(states)}
    try:
        save_model(output, model, tokenizer, about)
        if (run / "metrics.jsonl").is_file():
            shutil.copy(run / "metrics.jsonl", output)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise


def lineage(start: dict) -> set[str]:
    """The sums of a model's weights and of those that it came from."""
    return {
        one["model.safetensors"]
        for one in trainings(start)
        if "model.safetensors" in one
    }


def average_models(
    output: Path, models: Sequence[Path | str], command: str
) -> None:
    """Make a model folder of the mean of trained models, by name or folder.

    They need the same subwords and weights that all of them came from:
    trainings from different draws put different things at the same place of
    a matrix, so what lies between them is no model. UserError otherwise.
    """
    check_free(output)
    starts = [read_start(model) for model in models]
    common = set.intersection(*map(lineage, starts))
    subwords = {start["tokenizer.model"] for start in starts}
    if not common or len(subwords) > 1:
        what = "subwords" if common else "weights to come from"
        names = ", ".join(map(str, models))
        raise UserError(
            f"{names}: these have no {what} in common, so their mean is no "
            "model; average trainings that began --from the same one"
        )
    loaded = [load_model(find_model(model)) for model in models]
    mean, tokenizer, about = loaded[0]
    states = [weights(model) for model, _, _ in loaded]
    for name, state in zip(models, states, strict=True):
        check_tensors(mean, state, Path(name))
    set_weights(mean, average(states), output)
    about = {
        "command": command,
        "recipe": about["recipe"],
        "data": about["data"],
        "mean": starts,
        **environment(),
        "result": {"averaged": len(models)},
    }
    try:
        save_model(output, mean, tokenizer, about)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise
