"""Pairs as a translator reads and writes them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..data import Pair
from ..embedding import EOS
from ..errors import UserError, check_pairs
from ..text.reading import Part
from ..translation import TextModel, Translation

Given = Pair | tuple[str, Translation]


def read_pairs(
    translator: TextModel,
    pairs: Iterable[Given],
    where: tuple[str, str] = ("source", "target"),
    first: int = 0,
    check: bool = True,
) -> Iterator[tuple[str, list[tuple[Part, Part]]]]:
    """Each target, and the pair as it is read, sentence by sentence.

    The sentences of a Translation are those that it is made of, with the
    subwords that its search chose. UserError for what is not text, or is too
    long; with check also for a target that is.
    """
    pairs = [*pairs]
    texts = check_pairs(map(as_text, pairs))
    for number, (pair, (source, target)) in enumerate(
        zip(pairs, texts, strict=True), first
    ):
        side = 0
        try:
            if isinstance(pair[1], Translation):
                yield target, list(said(translator, source, pair[1]))
                continue
            read = translator.reader.pair(source, target)
            side = 1
            for _, part in read if check else ():
                translator.reader.check(part.text, part.ids)
        except UserError as error:
            raise UserError(f"{where[side]} {number}: {error}") from error
        yield target, read


def as_text(pair: object) -> object:
    """The pair with the text of its translation."""
    match pair:
        case (source, Translation(text=text)):
            return source, text
    return pair


def said(
    translator: TextModel, source: str, found: Translation
) -> Iterator[tuple[Part, Part]]:
    """What a translation was made of: what was read and what was written."""
    for text, one in found.parts or [(source, found)]:
        part = translator.reader.part(text)
        written = translator.reader.translated(one.text, part)
        if one.tokens:
            ids = [*one.tokens, EOS][: one.length]
            written = replace(written, ids=ids)
        if not part.blank:
            yield part, written
