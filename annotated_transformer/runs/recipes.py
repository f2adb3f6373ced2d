"""Recipes: what a run is asked to do, and the ones known by name."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..data import ORDERS
from ..errors import UserError, check_fields
from ..model import PRESETS, ModelConfig
from ..modern import MODERN
from ..storage.builders import builder_of, check_depth, read_sizes
from ..storage.dataclass_json import from_plain, of_type
from ..training import TrainConfig
from ..writing import LanguageModelConfig

# What JSON calls what Python, and so an error, calls otherwise.
IN_JSON = {
    "None": "null",
    "True": "true",
    "False": "false",
    "inf": "Infinity",
}


@dataclass(frozen=True)
class LabConfig:
    """Settings that the paper does not have, and the labs try out."""

    r_drop: float = 0.0  # weight of the divergence of two passes
    risk: int = 0  # candidates of a sentence; 0: learn from labels
    bpe_dropout: float = 0.0  # share of merges left out, drawn anew
    noise: float = 0.0  # times the usual shares of sources typed otherwise
    adapters: int = 0  # their rank; they alone learn; 0: all weights do
    order: str = "target"  # the side that sorts the pairs; or "longest"

    def __post_init__(self) -> None:
        check_fields(
            self,
            r_drop=(0, 1000),
            risk=(0, 1000),
            bpe_dropout=(0, 0.99),
            noise=(0, 5),
            adapters=(0, 10**6),
            order=tuple(ORDERS),
        )
        if self.risk == 1 or (self.risk and self.r_drop):
            raise UserError(
                f"`risk={self.risk}`: must be 0, or at least 2 and without "
                "`r_drop`"
            )


@dataclass(frozen=True)
class Recipe:
    """What a run is asked to do; it is written to the run's run.json.

    The model's own vocab_size is set to that of the tokenizer, once learned.
    """

    model: Any  # the sizes that one of the builders takes
    train: TrainConfig
    vocab_size: int = 8000  # pieces, the four special ones included
    tokenizer: str = "bpe"  # or unigram, char, word; given: one is passed
    processes: int = 1  # hands that accumulation_steps batches are dealt to
    tf32: bool = False  # float32 products in TF32, on a GPU that has it
    labs: LabConfig = LabConfig()
    normalize: bool = True  # text, by rules of the tokenizer
    vocab_exact: bool = False  # an error if the text yields fewer pieces

    def __post_init__(self) -> None:
        kinds = ("bpe", "unigram", "char", "word", "given")
        limits = {"vocab_size": (5, 10**7), "processes": (1, 10**4)}
        check_fields(self, tokenizer=kinds, **limits)
        builder_of(self.model)  # UserError if there is none
        check_depth(self.model)

    @property
    def batches_of_update(self) -> int:
        """How many batches make an update, those of all hands."""
        return self.train.accumulation_steps * self.processes

    def as_json(self) -> dict[str, Any]:
        """The recipe as plain data; JSON has no infinity, so clip is null."""
        plain = {"builder": builder_of(self.model), **asdict(self)}
        plain["train"]["schedule"] = self.schedule
        if math.isinf(self.train.clip):
            plain["train"]["clip"] = None
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "Recipe":
        """The recipe that as_json wrote; ValueError names a wrong field."""
        builder = plain.get("builder", "transformer")  # which was the first
        sizes = read_sizes(builder, plain.get("model"), "recipe.model")
        plain = {name: plain[name] for name in plain if name != "builder"}
        train = {**of_type(dict, plain.get("train"), "recipe.train")}
        if train.get("clip", 0) is None:
            train["clip"] = math.inf
        plain["train"] = from_plain(TrainConfig, train, "recipe.train")
        plain["model"] = sizes
        found: Recipe = from_plain(cls, plain, "recipe")
        return found

    @property
    def schedule(self) -> str:
        """The name of what sets the rate, a schedule or a class.

        A subclass of TrainConfig may have another rate than its field says.
        """
        kind = type(self.train)
        if kind.rate is TrainConfig.rate:
            return self.train.schedule
        return f"{kind.__module__}.{kind.__qualname__}"

    def with_fields(self, settings: Iterable[str]) -> "Recipe":
        """The recipe with other values, such as model.d_ff=512.

        UserError for a field that there is not, or a value that cannot be.
        """
        plain = self.as_json()
        known = flat(plain)
        del known["builder"], known["processes"]  # as many as there are
        for setting in settings:
            name, _, text = setting.partition("=")
            if name not in known:
                raise UserError(
                    f"{setting:.80}: there is no field {name!r:.80}; "
                    f"choose from {', '.join(known)}"
                )
            *part, last = name.split(".")
            fields = plain[part[0]] if part else plain
            try:
                fields[last] = json.loads(IN_JSON.get(text, text))
            except (ValueError, RecursionError):
                fields[last] = text  # a word, which JSON wants in quotes
        try:
            return Recipe.from_json(plain)
        except ValueError as error:
            raise UserError(f"{error}") from error


def flat(plain: dict[str, Any], path: str = "") -> dict[str, object]:
    """The values of nested dictionaries, each by its path with dots."""
    found: dict[str, object] = {}
    for name, value in plain.items():
        if isinstance(value, dict):
            found |= flat(value, f"{path}{name}.")
        else:
            found[path + name] = value
    return found


SMALL_TEXT = TrainConfig(
    steps=5000,
    batch_tokens=2048,
    schedule="linear",
    warmup=500,
    peak_lr=3e-3,
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
            peak_lr=4e-3,
            batch_tokens=768,
            label_smoothing=0.0,
            checkpoint_every=50,
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
            peak_lr=4e-3,
            checkpoint_every=50,
            average=4,
        ),
        vocab_size=1500,
    ),
    "pronouns": Recipe(
        ModelConfig(
            layers=2,
            d_model=64,
            d_ff=128,
            heads=4,
            dropout=0.0,
            pre_norm=True,
            max_length=64,
        ),
        replace(
            SMALL_TEXT,
            steps=8000,
            warmup=300,
            peak_lr=4e-3,
            batch_tokens=1024,
            label_smoothing=0.0,
            max_length=64,
            average=1,
        ),
        vocab_size=1280,
    ),
    "parsing": Recipe(  # as the Transformer of the parsing lab
        ModelConfig(
            layers=2,
            d_model=64,
            d_ff=160,
            heads=4,
            dropout=0.0,
            pre_norm=True,
        ),
        replace(
            SMALL_TEXT,
            steps=2000,
            batch_tokens=1024,
            warmup=60,
            peak_lr=3e-3,
            average=1,
        ),
        vocab_size=64,
        tokenizer="word",
    ),
    "multi30k": Recipe(  # found by experiments/speed_run_captions.py
        replace(PRESETS["tiny"], positions="rotary", dropout=0.15),
        replace(
            SMALL_TEXT,
            steps=4000,
            optimizer="muon",
            weight_decay=0.1,
            schedule="stable",
            decay=0.5,
            warmup=300,
            peak_lr=8e-3,
            label_smoothing=0.0,
            average=5,
        ),
        vocab_size=4000,
    ),
    "multi30k-2017": Recipe(
        PRESETS["tiny"],
        replace(
            SMALL_TEXT,
            steps=8000,
            batch_tokens=4096,
            warmup=600,
            peak_lr=4e-3,
            average=5,
        ),
    ),
}
RUNNING_TEXT = Recipe(
    LanguageModelConfig(
        layers=4,
        d_model=128,
        d_ff=384,
        heads=4,
        dropout=0.0,
        max_length=128,
        **MODERN,
    ),
    replace(
        SMALL_TEXT,
        steps=3000,
        batch_tokens=1536,
        warmup=100,
        peak_lr=4e-3,
        label_smoothing=0.0,
        max_length=128,
        checkpoint_every=250,
    ),
    tokenizer="char",
    normalize=False,
)
RECIPES |= {
    "plays": replace(  # found by experiments/speed_run_plays_tried.py
        RUNNING_TEXT,
        model=replace(RUNNING_TEXT.model, dropout=0.1, max_length=256),
        train=replace(
            RUNNING_TEXT.train,
            steps=6000,
            batch_tokens=4096,
            optimizer="muon",
            weight_decay=0.1,
            schedule="stable",
            decay=0.4,
            peak_lr=1.6e-2,
            max_length=256,
            checkpoint_every=500,
            average=1,
        ),
    ),
    "text": RUNNING_TEXT,
}
# Steps so few and so small that a trained model keeps most of what it knows:
# book/adapting.ipynb shows what larger ones do.
FINE_TUNING: dict[str, Any] = {
    "steps": 200,
    "batch_tokens": 1024,
    "schedule": "linear",
    "warmup": 20,
    "peak_lr": 5e-4,
    "clip": 1.0,
    "checkpoint_every": 20,
    "average": 3,
}
ADAPTERS_RATE = 1e-2  # at the peak, as there
SIZES = PRESETS | {"modern": replace(PRESETS["tiny"], **MODERN)}
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
    if task in ("plays", "text"):
        if preset is None:
            return RECIPES[task]
        recipe = RUNNING_TEXT
        sizes = asdict(SIZES[preset]) | MODERN | {"max_length": 256}
        train = replace(recipe.train, max_length=256, batch_tokens=4096)
        return replace(recipe, model=LanguageModelConfig(**sizes), train=train)
    if preset in PAPER:
        return Recipe(PRESETS[preset], PAPER[preset], vocab_size=37_000)
    if task is None:
        return Recipe(SIZES[preset or "tiny"], SMALL_TEXT)
    recipe = RECIPES[task]
    return replace(recipe, model=SIZES[preset]) if preset else recipe


def fine_tuning(recipe: Recipe, adapters: int = 0) -> Recipe:
    """The recipe for a trained model that goes on with other text.

    Adapters, of that rank, take larger steps than all weights would.
    """
    train, labs = replace(recipe.train, **FINE_TUNING), recipe.labs
    if adapters:
        train = replace(train, peak_lr=ADAPTERS_RATE)
        labs = replace(labs, adapters=adapters)
    return replace(recipe, train=train, labs=labs)
