"""Subtitles: the texts of their cues, and the same file with other texts.

Timecodes, numbers, headers and notes stay as they are, and so do tags, which
get the place among the new words that they had among the old. The lines of a
cue are one text, but one that begins with a dash is another speaker's.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape, unescape
from textwrap import wrap
from typing import NamedTuple

from annotated_transformer.errors import UserError

__all__ = ["ENDINGS", "TIMECODE", "Subtitles"]

ENDINGS = (".srt", ".vtt")
TIMECODE = re.compile(r"\d:\d\d[.,]\d+ *-->")
TAG = r"<[/\w][^<>]*>|\{\\[^{}]*\}"  # <i>, and {\an8} as .ass files have it
SPEAKER = rf"(?:{TAG}|\s)*[-–—]+\s*"
KEPT = re.compile(rf"(^{SPEAKER}|{TAG})")


class Speech(NamedTuple):
    """Lines of a cue that are one text, and where they begin in the file."""

    number: int
    lines: list[str]

    def pieces(self) -> list[str]:
        """Text and what is kept by turns, beginning and ending with text."""
        return KEPT.split(" ".join(self.lines))

    def text(self) -> str:
        """What is to be translated; there may be nothing."""
        return "".join(self.pieces()[::2]).strip()

    def with_text(self, text: str) -> list[str]:
        """As many lines or fewer, of like length, with another text."""
        old, new = self.text().split(), text.split()
        before, behind = ([""] * (len(new) + 1) for _ in range(2))
        pieces = self.pieces()
        for i in range(1, len(pieces), 2):
            seen = len("".join(pieces[:i:2]).split())
            place = round(seen * len(new) / len(old)) if old else 0
            closes = pieces[i].startswith("</") and not before[place]
            (behind if closes and place else before)[place] += pieces[i]
        words = [
            (before[i] + word + "".join(behind[i + 1 : i + 2])).strip()
            for i, word in enumerate([*new, ""])
        ]
        whole = " ".join(word.replace(" ", "\0") for word in words).strip()
        width = len(whole) // len(self.lines) + 1
        while len(found := wrapped(whole, width)) > len(self.lines):
            width += 1
        return [line.replace("\0", " ") for line in found]


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text that has the breaks between words alone."""
    return wrap(text, width, break_long_words=False, break_on_hyphens=False)


class Subtitles:
    """The lines of a file of subtitles, and the texts in them.

    In a file that ends in .srt, every line after the first timecode is text,
    except for timecodes and the numbers above them; in .vtt a blank line ends
    a cue, and what is in none stays. UserError if there is no timecode.
    """

    def __init__(self, lines: list[str], name: str, ending: str):
        self.web = ending == ".vtt"  # where & is written as &amp;
        self.parts: list[str | Speech] = []
        inside = False
        for number, line in enumerate(lines, 1):
            if timecode := TIMECODE.search(line):
                inside = True
            if self.web and not line.strip():
                inside = False
            below = lines[number] if number < len(lines) else ""
            numbers = line.strip().isdigit() and TIMECODE.search(below)
            if timecode or numbers or not inside or not line.strip():
                self.parts.append(line)
                continue
            last = self.parts[-1]
            if isinstance(last, Speech) and not re.match(SPEAKER, line):
                last.lines.append(line)
            else:
                self.parts.append(Speech(number, [line]))
        if not any(map(TIMECODE.search, lines)):
            raise UserError(
                f"{name}: no subtitles, for no line has a timecode such as "
                "00:00:01,000 --> 00:00:02,000; give a text another ending"
            )

    def texts(self) -> Iterator[tuple[int, str]]:
        """What is to be translated, and the line where each begins."""
        for part in self.parts:
            if isinstance(part, Speech):
                text = part.text()
                yield part.number, unescape(text) if self.web else text

    def with_texts(self, texts: Iterable[str]) -> Iterator[str]:
        """The lines of the file with other texts in the place of these."""
        given = iter(texts)
        for part in self.parts:
            if isinstance(part, Speech):
                text = next(given)
                new = escape(text, quote=False) if self.web else text
                yield from part.with_text(new)
            else:
                yield part
