"""A corpus: sentence pairs to learn from, to choose by and to test with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

from ..errors import UserError, check_pairs
from ..system.cache import Cache
from ..system.text_lines import is_blank
from .large_text import (
    LARGE,
    LargeText,
    kept_or_large,
    pairs_sha256,
    text_sums,
)
from .parallel_text import HALF, Pairs, read_parallel


@dataclass(frozen=True)
class Extra:
    """Pairs to learn from that are not of the corpus."""

    name: str  # of their file
    pairs: int
    share: float | None = None  # of an epoch's pairs; None: all of them, once


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs to train on, to choose a model by and to test it with."""

    train: list[tuple[str, str]]  # or a LargeText, which reads like one
    valid: list[tuple[str, str]]
    tests: dict[str, list[tuple[str, str]]]
    name: str
    source: str  # language codes: 'en', 'de', ...
    target: str
    checksums: dict[str, str]  # SHA-256 of what the pairs were read from
    extras: tuple[Extra, ...] = ()  # the last pairs of train, in this order

    def __post_init__(self) -> None:
        shares = self.shares.values()
        if not all(share > 0 for share in shares) or sum(shares) >= 1:
            raise UserError(
                f"shares of {', '.join(map(str, shares))}: a share is what "
                "part of an epoch's pairs is from a file of extra ones; it "
                "must be above 0, and all of them together below 1"
            )
        for pairs in (self.train, self.valid, *self.tests.values()):
            if not isinstance(pairs, LargeText):  # whose lines are strings
                check_pairs(pairs)

    @classmethod
    def from_pairs(
        cls,
        train: Iterable[tuple[str, str]],
        valid: Iterable[tuple[str, str]],
        source: str = "en",
        target: str = "de",
        tests: Mapping[str, Iterable[tuple[str, str]]] | None = None,
        name: str = "text",
    ) -> "Corpus":
        """A corpus of pairs of strings, from one language to another.

        UserError says which pair is no two strings, has a blank side, or has
        half of a character, which no file can hold.
        """
        given = {"train": train, "valid": valid, **(tests or {})}
        texts = {text: check_pairs(pairs) for text, pairs in given.items()}
        for text, pairs in texts.items():
            for place, pair in enumerate(pairs):
                if any(map(is_blank, pair)):
                    raise UserError(
                        f"{text}, pair {place}: a side is blank; fill it in, "
                        "or leave the pair out"
                    )
                if any(map(HALF.search, pair)):
                    raise UserError(
                        f"{text}, pair {place}: {pair!r:.80} has half of a "
                        "character; leave the pair out"
                    )
        sums = {text: pairs_sha256(pairs) for text, pairs in texts.items()}
        train, valid = texts.pop("train"), texts.pop("valid")
        return cls(train, valid, texts, name, source, target, sums)

    @classmethod
    def from_files(
        cls,
        train: Sequence[Path | str],
        valid: Sequence[Path | str],
        source: str,
        target: str,
        cache: bool = True,
    ) -> "Corpus":
        """A corpus of your own files, from one language to another.

        Of each text name two files or one, as `read_parallel` reads them. A
        large text to train on is not kept in memory: see `LargeText`.
        UserError says what is wrong with a file, and where.
        """
        codes = source, target
        pairs = kept_or_large(train, codes, Cache(cache))
        few = read_parallel(valid, codes)
        sums = {"train": text_sums(pairs)[0], "valid": pairs_sha256(few)}
        return cls(cast(Pairs, pairs), few, {}, "text", *codes, sums)

    def with_extra(
        self,
        path: Path | str,
        share: float | None = None,
        cache: bool = True,
    ) -> "Corpus":
        """The corpus with more to train on, as `read_parallel` reads it.

        share says what part of an epoch's pairs is from there. An epoch has
        all pairs without a share, and as many of these as make up the share:
        other ones than the epoch before or, where there are too few, some
        again. Without a share an epoch has each of these pairs once. UserError
        unless a share, and all of them together, are above 0 and below 1.
        """
        pairs = kept_or_large([path], (self.source, self.target), Cache(cache))
        name = extra_name(len(self.extras))
        return replace(
            self,
            train=self.train + cast(Pairs, pairs),
            checksums=self.checksums | {name: text_sums(pairs)[0]},
            extras=(*self.extras, Extra(str(path), len(pairs), share)),
        )

    @property
    def about(self) -> dict[str, Any]:
        """What the history of a run says of it."""
        extra = sum(one.pairs for one in self.extras)
        return {
            "source": self.source,
            "target": self.target,
            "pairs": len(self.train) - extra,
            "extra": extra,
            "shares": self.shares,
        }

    def text_of_subwords(self) -> Iterator[str]:
        """Text to learn subwords from: both sides of every pair.

        Of a large text they are those of every n-th, fewer than LARGE.
        """
        every = len(self.train) // LARGE + 1
        some = islice(self.train, 0, None, every)
        return (side for pair in some for side in pair)

    @property
    def shares(self) -> dict[str, float]:
        """The shares of an epoch, by the names that checksums have."""
        return {
            extra_name(place): extra.share
            for place, extra in enumerate(self.extras)
            if extra.share is not None
        }


def extra_name(place: int) -> str:
    """How records call the file of extra pairs at that place."""
    return f"extra {place + 1}" if place else "extra"
