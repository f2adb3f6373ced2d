"""The history of a model: how it was trained, on what, with which result."""

from dataclasses import dataclass, field
from typing import Any

from annotated_transformer.errors import check_kind
from annotated_transformer.storage.dataclass_json import (
    FLAT,
    from_plain,
    of_type,
    to_plain,
)
from annotated_transformer.system.machine import Machine

__all__ = [
    "Data",
    "History",
    "Result",
    "Search",
    "Start",
    "check_search",
]

MOST_SEARCH = 1000  # places of a beam, tokens in a row
LARGEST_ALPHA = 50  # powers of lengths beyond it may overflow


@dataclass(frozen=True)
class Data:
    """The text that a model has learned from."""

    name: str
    source: str  # languages
    target: str
    pairs: int
    extra: int = 0  # pairs that came on top
    shares: dict[str, float] = field(default_factory=dict)  # of an epoch
    sha256: dict[str, str] = field(default_factory=dict)  # of its files


@dataclass(frozen=True)
class Result:
    """What a model has reached; None is not measured."""

    updates: int | None = None
    seconds: float | None = None
    averaged: int | None = None  # checkpoints that it is the mean of
    valid_perplexity: float | None = None
    valid_accuracy: float | None = None
    # "test set, metric": the score, as the model card shows it
    scores: dict[str, str] = field(default_factory=dict, metadata=FLAT)


@dataclass(frozen=True)
class Start:
    """The model that a training began with; older ones tell less of it."""

    command: str
    data: Data | None = None
    result: Result | None = None
    start: "Start | None" = None
    # the SHA-256 of its files
    files: dict[str, str] = field(default_factory=dict, metadata=FLAT)


@dataclass(frozen=True)
class Search:
    """How a model looks for a translation, unless a call says otherwise."""

    beam: int = 5
    alpha: float = 0.6
    no_repeat: int = 0

    def __post_init__(self) -> None:
        check_search(self.beam, self.alpha, self.no_repeat)


def check_search(beam: Any = 1, alpha: Any = 0.0, no_repeat: Any = 0) -> None:
    """ValueError for options of a search that are none."""
    check_kind("beam", beam, int, (1, MOST_SEARCH))
    check_kind("alpha", alpha, float, (0, LARGEST_ALPHA))
    check_kind("no_repeat", no_repeat, int, (0, MOST_SEARCH))


@dataclass(frozen=True)
class History:
    """How a model was trained, on what, where, and with which result."""

    command: str
    recipe: dict[str, Any]  # Recipe.from_json reads it, for a training
    data: Data
    date: str
    versions: dict[str, str]  # of packages
    machine: Machine
    fast: bool = True  # products and dropout; older runs do not tell
    start: Start | None = None
    tokenizer_sha256: str | None = None  # of tokenizer.model; older: None
    own: dict[str, str] = field(default_factory=dict)  # its maker's code
    result: Result = Result()
    search: Search | None = None  # that its scores were made with

    def __post_init__(self) -> None:
        asked = self.recipe
        train = of_type(dict, asked.get("train"), "recipe.train")
        of_type(dict, asked.get("model"), "recipe.model")
        of_type(int, train.get("seed"), "recipe.train.seed")
        of_type(str, asked.get("tokenizer"), "recipe.tokenizer")

    def as_json(self) -> dict[str, Any]:
        """The history as plain data."""
        return to_plain(self)

    @classmethod
    def from_json(cls, plain: object, name: str = "") -> "History":
        """The history that as_json wrote; ValueError names a wrong field."""
        found: History = from_plain(cls, plain, name)
        return found

    def starts(self) -> list[Start]:
        """The trainings that this one went on from, the first one first."""
        found, start = [], self.start
        while start:
            found.append(start)
            start = start.start
        return found[::-1]
