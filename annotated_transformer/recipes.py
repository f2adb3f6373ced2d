"""Recipes: what a run is asked to do, and the ones known by name."""

import math
from dataclasses import asdict, dataclass, replace

from annotated_transformer.model import PRESETS, ModelConfig
from annotated_transformer.training import TrainConfig

__all__ = ["RECIPES", "Recipe", "recipe_of"]


@dataclass(frozen=True)
class Recipe:
    """What a run is asked to do; it is written to the run's run.json.

    The model's own vocab_size is set to that of the tokenizer, once learned.
    """

    model: ModelConfig
    train: TrainConfig
    vocab_size: int = 8000  # pieces, the four special ones included
    tokenizer: str = "bpe"  # or unigram, char
    processes: int = 1  # each gives accumulate batches to an update

    def as_json(self) -> dict:
        """The recipe as plain data; JSON has no infinity, so clip is null."""
        plain = asdict(self)
        if math.isinf(self.train.clip):
            plain["train"]["clip"] = None
        return plain

    @classmethod
    def from_json(cls, plain: dict) -> "Recipe":
        """The recipe that as_json wrote; ValueError, TypeError, KeyError."""
        train = dict(plain["train"])
        if train["clip"] is None:
            train["clip"] = math.inf
        return cls(
            ModelConfig(**plain["model"]),
            TrainConfig(**train),
            plain["vocab_size"],
            plain["tokenizer"],
            plain.get("processes", 1),
        )

    def flat(self) -> dict[str, object]:
        """Every field by its dotted name: model.layers, train.seed, ..."""
        flat: dict[str, object] = {}
        for name, value in asdict(self).items():
            if isinstance(value, dict):
                flat |= {f"{name}.{k}": v for k, v in value.items()}
            else:
                flat[name] = value
        return flat


SMALL_TEXT = TrainConfig(
    steps=5000,
    batch_tokens=2048,
    schedule="linear",
    warmup=500,
    peak_rate=3e-3,
    clip=1.0,
    checkpoint_every=250,
    average=3,
)
RECIPES = {
    "copy": Recipe(
        replace(PRESETS["tiny"], layers=2, dropout=0.0),
        replace(
            SMALL_TEXT,
            steps=500,
            warmup=100,
            peak_rate=4e-3,
            batch_tokens=768,
            label_smoothing=0.0,
            checkpoint_every=50,
            average=3,
        ),
        vocab_size=32,
        tokenizer="char",
    ),
    "builtin": Recipe(
        replace(PRESETS["tiny"], layers=2, dropout=0.1),
        replace(
            SMALL_TEXT,
            steps=900,
            warmup=150,
            peak_rate=4e-3,
            checkpoint_every=50,
            average=4,
        ),
        vocab_size=1500,
    ),
    "multi30k": Recipe(
        PRESETS["tiny"],
        replace(
            SMALL_TEXT,
            steps=8000,
            batch_tokens=4096,
            warmup=600,
            peak_rate=4e-3,
            average=5,
        ),
        vocab_size=8000,
    ),
}
# 5.2: updates; 6.1: what is averaged. Checkpoints come every ten minutes, at
# 0.4 s an update of base and 1.0 s of big.
PAPER = {
    "base": TrainConfig(steps=100_000, checkpoint_every=1500, average=5),
    "big": TrainConfig(steps=300_000, checkpoint_every=600, average=20),
}


def recipe_of(task: str | None = None, preset: str | None = None) -> Recipe:
    """The recipe of a task, of a size, or of a task at another size.

    Base and big are trained as the paper trained them; everything else as
    small text wants it.
    """
    if preset in PAPER:
        return Recipe(PRESETS[preset], PAPER[preset], vocab_size=37_000)
    if task is None:
        return Recipe(PRESETS[preset or "tiny"], SMALL_TEXT)
    recipe = RECIPES[task]
    return replace(recipe, model=PRESETS[preset]) if preset else recipe
