"""The history of a model: how it was trained, on what, with which result."""

from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import check_fields
from ..system.machine import Machine

SINGLE = 0.95  # share of single sentences from which on lines are split


@dataclass(frozen=True)
class SourceLines:
    """What the source lines are like that a model has learned from."""

    single: float  # share of lines that are one sentence
    longest: int  # characters
    subwords: float  # per word, at most, in 99 of 100 lines
    words: str = ""  # in the forms that are in use; older: ""
    stretch: float = 1.0  # of their lengths, to limit those of outputs


@dataclass(frozen=True)
class Data:
    """The text that a model has learned from."""

    name: str
    source: str = ""  # languages
    target: str = ""
    pairs: int = 0
    extra: int = 0  # pairs that came on top
    shares: dict[str, float] = field(default_factory=dict)  # of an epoch
    sha256: dict[str, str] = field(default_factory=dict)  # of its files
    lines: SourceLines | None = None  # older: None
    bytes: int = 0  # of running text, which has no pairs
    held_out: float = 0.0  # share of these
    mark: str | None = None  # the line that ends a document

    @property
    def split(self) -> str:
        """The language of text to split into sentences; "" for whole lines."""
        single = self.lines is not None and self.lines.single >= SINGLE
        return self.source if single else ""


@dataclass(frozen=True)
class Result:
    """What a model has reached; None is not measured."""

    updates: int | None = None
    seconds: float | None = None
    averaged: int | None = None  # checkpoints that it is the mean of
    valid_perplexity: float | None = None
    valid_accuracy: float | None = None
    # log-probability per token that 19 of 20 validation lines reach
    usual_confidence: float | None = None
    # "test set, metric": the score, as the model card shows it
    scores: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Origin:
    """The model that a run began with; older histories say less of it."""

    command: str
    data: Data | None = None
    result: Result | None = None
    start: "Origin | None" = None
    files: dict[str, str] = field(default_factory=dict)  # their SHA-256


@dataclass(frozen=True)
class Search:
    """How to look for a translation; ValueError if nothing could."""

    beam: int = 5
    alpha: float = 0.6
    no_repeat: int = 0

    def __post_init__(self) -> None:
        # powers of lengths beyond 50 may overflow
        check_fields(self, beam=(1, 1000), alpha=(0, 50), no_repeat=(0, 1000))


@dataclass(frozen=True)
class Environment:
    """What a run was computed with, or a part of it."""

    versions: dict[str, str]  # of packages
    machine: Machine

    def differences(self, other: "Environment") -> tuple[str, str]:
        """What differs in another, as it is here and there; "" if nothing.

        What one of them does not tell is not known to differ.
        """
        here, there = (x.versions | asdict(x.machine) for x in (self, other))
        names = [x for x in here if x in there and here[x] != there[x]]
        told = (
            ", ".join(f"{x} {of[x]}" for x in names) for of in (here, there)
        )
        return next(told), next(told)


@dataclass(frozen=True)
class History:
    """How a model was trained, on what, where, and with which result."""

    command: str
    recipe: dict[str, Any]  # Recipe.from_json reads it, for a run
    data: Data
    date: str
    versions: dict[str, str]  # of packages
    machine: Machine
    start: Origin | None = None
    tokenizer_sha256: str | None = None  # of tokenizer.model; older: None
    own: dict[str, str] = field(default_factory=dict)  # its maker's code
    result: Result = Result()
    search: Search | None = None  # that its scores were made with
    resumed: list[Environment] = field(default_factory=list)  # in others

    @property
    def environment(self) -> Environment:
        """What it was begun with."""
        return Environment(self.versions, self.machine)

    def starts(self) -> list[Origin]:
        """The runs that this one went on from, the first one first."""
        found, start = [], self.start
        while start:
            found.append(start)
            start = start.start
        return found[::-1]
