"""What the mean of the last five checkpoints gives, by the rate's schedule.

The small translator learns the built-in corpus for a thousand updates. After
the warm-up, of a hundred, the rate falls with the inverse square root, as in
the paper, stays, or falls to zero in a straight line. The last checkpoint is
compared with the mean of the last five of the same run: as far apart as the
paper's, which wrote one in 10 minutes of 12 hours, or further.
"""

import copy
from dataclasses import replace
from typing import Any

from annotated_transformer.training import TrainConfig, average

from .shared.grid import Result, grid
from .shared.settings import Learning
from .shared.small_translator import BASE, SIZES, corpus, tokenizer
from .shared.small_translator import LEARNING as SHORT
from .shared.training_loops import begun, greedy_bleu, validated

LEARNING: Learning = {**SHORT, "steps": 1000}
CHECKPOINTS = 5
APART = {"near": 14, "far": 50}  # updates; 1000 / 72 are the paper's
RECIPE = {
    "model": SIZES,
    "train": LEARNING,
    "vocab_size": 1000,
    "checkpoints": CHECKPOINTS,
    "apart": APART,
}


class Constant(TrainConfig):
    """A rate that stays at its peak after the warm-up."""

    def rate(self, step: int, d_model: int) -> float:
        """Up to the peak in a straight line."""
        assert self.peak_lr is not None  # LEARNING has one
        return self.peak_lr * min(1.0, step / self.warmup)


def recipe(
    schedule: str,
    seed: int,
    rate: float = LEARNING["peak_lr"],
    warmup: int = LEARNING["warmup"],
) -> TrainConfig:
    """The settings of a run."""
    learning: Learning = {**LEARNING, "peak_lr": rate, "warmup": warmup}
    if schedule == "constant":
        return Constant(**learning, seed=seed)
    return TrainConfig(**learning | {"schedule": schedule}, seed=seed)


def run(schedule: str, seed: int, **others: Any) -> Result:
    """Train; loss and BLEU of the last checkpoint and of both means.

    The others are those of recipe.
    """
    pieces, config = tokenizer(), recipe(schedule, seed, **others)
    text, longest, width = corpus(), config.max_length, BASE.model.d_model
    base = replace(BASE, train=config)
    model, turns = begun(base, seed, text.train, pieces)
    ages = {
        name: [config.steps - i * updates for i in range(CHECKPOINTS)]
        for name, updates in APART.items()
    }
    states = {}
    for update in turns:
        if any(update.step in steps for steps in ages.values()):
            states[update.step] = copy.deepcopy(model.state_dict())
    kept = {"last": [config.steps]} | ages
    found = {"rate": config.rate(config.steps, width)}
    for name, steps in kept.items():
        model.load_state_dict(average([states[step] for step in steps]))
        loss = validated(model, pieces, text.valid, longest).loss
        bleu = greedy_bleu(model, pieces, text.tests["test"])
        found |= {f"{name} loss": loss, f"{name} bleu": bleu}
    return found


KEY = "schedule={schedule} seed={seed}"
RUNS = grid(run, KEY, schedule=["inverse_sqrt"], seed=range(6))
RUNS |= grid(run, KEY, schedule=["constant", "linear"], seed=range(3))
