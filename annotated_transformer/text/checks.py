"""What may be wrong with a line or with its translation, in words."""

import re
from collections.abc import Collection, Iterable, Sequence
from math import inf
from types import MappingProxyType
from typing import NamedTuple

from ..data import Tokenizer
from ..embedding import UNK
from ..storage.history import History
from .casing import CORE, Words, by_small_letters
from .languages import WORDS, bleu_tokenizer
from .reading import ADDRESS, TAG, Reading
from .subtitles import TIMECODE

LONG = 20  # characters; few words have more
CLEARLY = 0.2  # of a text's words
MOST = 10  # things of one kind, at most
NAME = re.compile(r"[@#]\w")
ENDS = re.compile(r"^[^\w@#]+|[^\w/]+$")  # punctuation around a word
# of two digits or more; a sign may stand between thousands
NUMBER = re.compile(r"\b\d{1,3}(?:[.,'’\s]\d{3}\b)+|\d\d+")
# of Thai, Japanese and Chinese, which have no blanks, each sign is one
SIGN = r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]"
WORD = re.compile(f"{SIGN}|{CORE.pattern}")
ZEROS = re.compile(r"(?<![\d.,])0+(?=\d)")  # that a number begins with


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


def to_keep(text: str) -> dict[str, str]:
    """What of a text belongs into its translation, as it stands.

    Addresses, names with @ or # before them, tags, and numbers, whose digits
    say which they are: 09 is 9, which as one digit is none.
    """
    words = [ENDS.sub("", x) for x in TAG.sub(" ", text).split()]
    names = [x for x in words if ADDRESS.search(x) or NAME.match(x)]
    others = " ".join(x for x in words if x not in names)
    others = ZEROS.sub("", others)
    numbers = {re.sub(r"\D", "", x): x for x in NUMBER.findall(others)}
    return {x: x for x in (*TAG.findall(text), *names)} | numbers


def listed(things: Iterable[str]) -> str:
    """Different things, the first ones of many, each cut if it is long."""
    names = [f"{x:.40}" for x in dict.fromkeys(things)]
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more} more" if more > 0 else "")


def missing_blanks(texts: Iterable[str], language: str) -> str:
    """Why BLEU will find no words in texts of that language; "" if it will.

    In their long lines there is less than one word for LONG characters.
    """
    long = [text for text in map(str.strip, texts) if len(text) > LONG]
    words = sum(len(text.split()) for text in long)
    blanks = words * LONG >= sum(map(len, long))
    if blanks or bleu_tokenizer(language) != WORDS:
        return ""
    return (
        f"its lines have hardly a blank, and the language {language!r} is not "
        "known to be written so, as zh, ja and th are; BLEU compares words, "
        "and will be near 0 whatever the translation"
    )


def small_words(lines: Iterable[str]) -> list[str]:
    """The words of lines, all in small letters."""
    return [word.lower() for line in lines for word in WORD.findall(line)]


def on_other_side(
    words: Collection[str], pairs: Sequence[tuple[str, str]]
) -> bool:
    """Whether words of sources, in small letters, stand in pairs' targets.

    That is, if these have clearly more of them than the pairs' sources do.
    """
    source, target = (
        [word in words for word in small_words(side)]
        for side in ([x for x, _ in pairs], [y for _, y in pairs])
    )
    shares = [sum(x) / max(1, len(x)) for x in (source, target)]
    return shares[1] > shares[0] + CLEARLY


class Known(NamedTuple):
    """What is known of the pairs that a model has learned from."""

    longest: float = inf  # characters
    subwords: float = inf  # per word, at most, in 99 of 100 lines
    confidence: float = -inf  # that 19 of 20 translations reach
    stretch: float = 1.0  # of an output's length, at most; see length_limit
    words: Words = MappingProxyType({})  # of their sources

    @classmethod
    def of(cls, history: History | None) -> "Known":
        """What the history of a model says of them."""
        if history is None:
            return cls()
        lines, usual = history.data.lines, history.result.usual_confidence
        return cls(
            lines.longest if lines else inf,
            lines.subwords if lines else inf,
            -inf if usual is None else usual,
            lines.stretch if lines else 1.0,
            by_small_letters(lines.words.split() if lines else ()),
        )


NOTHING = Known()


def doubts(
    reading: Reading, output: str, sure: float, cut: int, known: Known
) -> tuple[str, ...]:
    """What may be wrong with a line or with its translation.

    sure is the output's confidence, and cut the number of tokens after which
    it was cut off, or 0.
    """
    line = reading.line
    longest = max(len(part.text) for part in reading.parts)
    unknown = listed(x for part in reading.parts for x in part.unknown)
    kept = listed(x for part in reading.parts for x in part.untranslated)
    there = to_keep(output)
    lost = listed(x for name, x in to_keep(line).items() if name not in there)
    told: list[tuple[object, str]] = [
        (
            "\t" in line.strip(),
            "there is a tab, which is read as a blank; if these are columns, "
            "give the one with the text (cut -f1)",
        ),
        (
            TIMECODE.search(line),
            "a subtitle's timecode is translated like any other text; to keep "
            "it, give the name of a file that ends in .srt or .vtt",
        ),
        (
            longest > known.longest,
            f"with {longest:,} characters it is longer than all that the "
            f"model has learned from ({known.longest:,} at most), and much "
            "may be left out",
        ),
        (
            unknown,
            f"the model has never seen {unknown}, and guesses it or leaves it "
            "out",
        ),
        (kept, f"not translated, for the model has never seen it: {kept}"),
        (
            not output and not all(part.blank for part in reading.parts),
            "its translation is empty",
        ),
        (cut, f"its translation was cut off after {cut} tokens"),
        (lost, f"not in its translation: {lost}"),
        (
            sure < known.confidence,
            f"the model is unsure of its translation ({sure:.2f} a token; of "
            f"20 usual ones 19 reach {known.confidence:.2f})",
        ),
    ]
    return tuple(text for true, text in told if true)
