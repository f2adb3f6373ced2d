"""A training that fits a time: how many updates, from a short trial."""

import time
from contextlib import closing
from dataclasses import replace
from itertools import islice
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..errors import COUNT, UserError
from ..optimizer import inverse_sqrt_rate, make_optimizer
from ..storage.checkpoints import Checkpoints, Progress
from ..storage.history import History
from ..storage.weight_files import set_weights, weights
from ..training import TrainConfig, updates, validate

if TYPE_CHECKING:
    from .run import Run

FIELDS = ("steps", "warmup", "peak_lr", "checkpoint_every")  # that a plan sets
INTERVALS = 10  # between checkpoints, or more
AT_THE_END = 3  # validations, of the models that may be the final one
SHARE = 0.05  # of the time, for the trial
LEAST, MOST = 4, 200  # updates of a trial


def planned(
    config: TrainConfig,
    d_model: int,
    seconds: float,
    update: float,
    validation: float,
) -> TrainConfig:
    """The configuration with as many updates as fit, and their schedule.

    update and validation are the seconds that one takes. At most a tenth of
    the updates are warm-up, to the same peak, and there are about ten
    checkpoints or more. UserError if no update fits.
    """
    every = config.checkpoint_every
    left = seconds - AT_THE_END * validation
    steps = int(left / (update + validation / every))
    if steps < INTERVALS * every:
        steps = int((left - INTERVALS * validation) / update)
        every = min(every, max(1, ceil(steps / INTERVALS)))
    if steps < 1:
        raise UserError(
            f"`plan_minutes`: an update takes {update:.2f} seconds, and each "
            f"of {INTERVALS + AT_THE_END} validations {validation:.2f}; "
            f"{max(seconds, 0):.0f} seconds are left, so none fits: give it "
            "more time, or lower `batch_tokens`, or choose a smaller model"
        )
    peak = config.peak_lr
    warmup = min(config.warmup, max(1, steps // 10))
    if peak is None:  # the paper's, which rises with a shorter warm-up
        peak = inverse_sqrt_rate(config.warmup, d_model, config.warmup)
    return replace(
        config,
        steps=steps,
        warmup=warmup,
        peak_lr=peak,
        checkpoint_every=every,
    )


def unplanned(config: TrainConfig, began: History | None) -> TrainConfig:
    """The configuration before a plan is made, or with that which was."""
    if began is None:
        return replace(config, steps=COUNT[1])
    plan = {name: began.recipe["train"][name] for name in FIELDS}
    return replace(config, **plan)


def trial(run: "Run", seconds: float) -> tuple[float, float]:
    """The seconds of an update, and of a validation with its checkpoint.

    It takes a twentieth of the seconds, or a few updates, and the run has the
    weights and moments again that it had. Of several processes it is one.
    """
    kept = {
        name: weight.clone() for name, weight in weights(run.model).items()
    }
    run.model.train()
    times = []
    with closing(run.batches()) as batches:
        began = time.monotonic()
        made_updates = updates(
            run.model,
            batches,
            run.optimizer,
            run.config,
            run.recipe.model.d_model,
            0,
            run.objective,
        )
        for update in islice(made_updates, MOST):
            update.check()  # which waits for the device
            times.append(time.monotonic())
            late = times[-1] - began > SHARE * seconds
            if late and len(times) >= LEAST:
                break
    began = time.monotonic()
    validate(run.model, run.valid)
    if run.to_translate:
        run.bleu()
    with TemporaryDirectory(prefix=".", dir=run.run_dir) as folder:
        (Path(folder) / "checkpoints").mkdir()
        checkpoints = Checkpoints(Path(folder), 1, 1)
        checkpoints.save(run.model, run.optimizer, Progress())
    ended = time.monotonic()
    set_weights(run.model, kept, run.run_dir)
    run.optimizer = make_optimizer(
        run.model, run.config.optimizer, run.config.weight_decay
    )
    # the first has more to do than those that follow it
    return (times[-1] - times[0]) / (len(times) - 1), ended - began
