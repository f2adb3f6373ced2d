"""Pairs of a text that is too large to keep: they are read anew each time.

Their number and sum are in the cache of system/cache.py, as are their ids,
which runs/encoding.py makes.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, overload

from ..errors import UserError
from ..system.atomic_files import sha256
from ..system.cache import Cache
from ..system.text_lines import blocks, ending
from .parallel_text import stream_parallel

Pair = tuple[str, str]
LARGE = 200_000  # pairs; fewer are kept as a list
Read = Callable[[], Iterable[Pair]]


class LargeText(Sequence[Pair]):
    """Pairs that are read anew whenever they are asked for, in their order.

    Each part is a function that reads its pairs, with their number and their
    SHA-256. UserError if they are not those that they were.
    """

    def __init__(self, *parts: tuple[Read, int, str]):
        self.parts = parts

    def __len__(self) -> int:
        return sum(size for _, size, _ in self.parts)

    def __iter__(self) -> Iterator[Pair]:
        for read, _, known in self.parts:
            found = hashlib.sha256()
            yield from summed(read(), found)
            if found.hexdigest() != known:
                raise changed()

    @overload
    def __getitem__(self, place: int) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> list[Pair]: ...
    def __getitem__(self, place: int | slice) -> Pair | list[Pair]:
        if isinstance(place, slice):
            return [*islice(self, *place.indices(len(self)))]
        return next(islice(self, range(len(self))[place], None))

    def __add__(self, more: "list[Pair] | LargeText") -> "LargeText":
        return LargeText(*self.parts, *as_large(more).parts)

    def __radd__(self, before: list[Pair]) -> "LargeText":
        return LargeText(*as_large(before).parts, *self.parts)


def as_large(pairs: list[Pair] | LargeText) -> LargeText:
    """The pairs as a part of a large text."""
    if isinstance(pairs, LargeText):
        return pairs
    return LargeText((lambda: pairs, len(pairs), pairs_sha256(pairs)))


def kept_or_large(
    paths: Sequence[Path | str], languages: tuple[str, str], cache: Cache
) -> list[Pair] | LargeText:
    """The pairs of files, as a list if they are not large.

    How many a large text has, and their sum, are in the cache.
    """
    read = partial(stream_parallel, paths, languages)
    pairs = iter(read())
    if len(few := [*islice(pairs, LARGE)]) < LARGE:
        return few

    def files() -> list[list[str]]:
        return [[sha256(Path(path)), ending(path)] for path in paths]

    def counted() -> tuple[int, str]:
        found, size = hashlib.sha256(), 0
        for _ in summed(chain(few, pairs), found):
            size += 1
        if files() != known:
            raise changed()
        return size, found.hexdigest()

    known = files()
    key = {"pairs of": known, "languages": [*languages]}
    size, found = cache.value(key, counted)
    return LargeText((read, size, found))


def changed() -> UserError:
    """The error for a text that is not what it was."""
    return UserError(
        "the training text has changed while it was read; begin again when "
        "nothing writes to its files"
    )


def summed(pairs: Iterable[Pair], found: Any) -> Iterator[Pair]:
    """The same pairs, while a sum is made of them."""
    for some in blocks(pairs):
        text = "".join([f"{source}\t{target}\n" for source, target in some])
        found.update(text.encode())
        yield from some


def pairs_sha256(pairs: Iterable[Pair]) -> str:
    """Give the SHA-256 of pairs: that of `paste SOURCE TARGET | sha256sum`."""
    found = hashlib.sha256()
    for _ in summed(pairs, found):
        pass
    return found.hexdigest()


def text_sums(pairs: list[Pair] | LargeText) -> list[str]:
    """What a text is known by: the sums of its parts."""
    return [known for _, _, known in as_large(pairs).parts]
