"""Lines that a translator was not made for: found, and said once a file."""

import re
from collections.abc import Callable, Iterable
from itertools import repeat
from math import inf
from typing import NamedTuple

from ..data import Tokenizer
from ..embedding import UNK
from ..translation import Translation, Translator
from .subtitles import TIMECODE

THOUSANDS = re.compile(r"\b(\d{1,3})[.,'’\s](?=\d{3}\b)")


class Check(NamedTuple):
    """Something that may be wrong with a line, or with its translation."""

    told: str
    found: Callable[[str, Translation | None], bool]
    share: float = 0.0  # of a file's lines; said if more than these have it


def subwords_per_word(text: str, tokenizer: Tokenizer) -> float:
    """How far a tokenizer cuts the words of a text; 0 if it has none.

    Punctuation does not count. Of the unknown each character does.
    """
    pieces = zip(tokenizer.split(text), tokenizer.encode(text), strict=False)
    lengths = [
        len(piece) if id_ == UNK else 1
        for piece, id_ in pieces
        if any(map(str.isalnum, piece))
    ]
    words = [x for x in text.split() if any(map(str.isalnum, x))]
    return sum(lengths) / max(1, len(words))


def numbers(text: str) -> set[str]:
    """The numbers of two digits or more, without signs between thousands."""
    return {*re.findall(r"\d\d+", THOUSANDS.sub(r"\1", text))}


def checks(
    translator: Translator,
    longest: int | float = inf,
    subwords: float = inf,
    confidence: float = -inf,
) -> list[Check]:
    """What can be checked, given what is known of the model.

    That is how many characters the longest line has that it learned from, how
    many subwords per word few of those lines exceed, and the confidence that
    few translations of its kind of text fall below.
    """
    reader, tokenizer = translator.reader, translator.tokenizer

    def too_long(line: str, _: object) -> bool:
        parts = reader.line(line).parts if len(line) > longest else ()
        return any(len(part.text) > longest for part in parts)

    def foreign(line: str, _: object) -> bool:
        parts = reader.line(line).parts
        read = " ".join(part.sentence or part.text for part in parts)
        return subwords_per_word(read, tokenizer) > subwords

    return [
        Check(
            "there is a tab, which is read as a blank; if these are columns, "
            "give the one with the text (cut -f1)",
            lambda line, _: "\t" in line.strip(),
        ),
        Check(
            "a subtitle's timecode is translated like any other text; to keep "
            "it, give the name of a file that ends in .srt or .vtt",
            lambda line, _: TIMECODE.search(line) is not None,
        ),
        Check(
            f"longer than all that the model has learned from ({longest} "
            "characters); its translation may leave out much",
            too_long,
        ),
        Check(
            "a number of the line is not in its translation; compare the two",
            lambda line, one: bool(one and numbers(line) - numbers(one.text)),
        ),
        Check(
            "the model's subwords hardly fit the text; is it in the language "
            "that the model translates from?",
            foreign,
            share=0.5,
        ),
        Check(
            f"a confidence below {confidence:.2f}, which 19 of 20 lines reach "
            "of the text that the model was made for; is it the right model, "
            "and the right direction?",
            lambda _, one: bool(one and one.confidence < confidence),
            share=0.5,
        ),
    ]


class Watch:
    """Runs checks on the lines of a file, and says what they find, once.

    It names the first line of each kind. Blank lines do not count.
    """

    def __init__(
        self, name: str, checks: list[Check], say: Callable[[str], object]
    ):
        self.name, self.say = name, say
        self.lines: dict[Check, list[int]] = {check: [] for check in checks}
        self.number = self.read = 0

    def look(
        self,
        lines: Iterable[str],
        translations: Iterable[Translation | None] = repeat(None),
    ) -> None:
        """Check the next lines, and their translations if there are any."""
        for line, one in zip(lines, translations, strict=False):
            self.number += 1
            if not line.strip():
                continue
            self.read += 1
            for check, where in self.lines.items():
                if where and not check.share:
                    continue
                if check.found(line, one):
                    where.append(self.number)
                    if not check.share:
                        self.tell(check.told, self.number)

    def sum_up(self) -> None:
        """Say of the other checks what more lines than their share have."""
        for check in [x for x in self.lines if x.share]:
            where = self.lines.pop(check)
            if len(where) > check.share * self.read:
                told = f"in {len(where)} of {self.read} lines, {check.told}"
                self.tell(told, where[0])

    def tell(self, told: str, line: int) -> None:
        """Say what was found, and in which line first."""
        self.say(f"warning: {self.name}, line {line}: {told}")
