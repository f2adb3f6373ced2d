"""Subtitles: the texts of their cues, and the same file with other texts.

All but the texts stays as it is, byte for byte: timecodes, numbers, headers,
notes, blank lines, line ends, a speaker's dash and the tags around a whole
text. Tags within one are left out. The lines of a cue are one text, but one
that begins with a dash is another speaker's.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from textwrap import TextWrapper
from typing import NamedTuple

from ..errors import UserError

ENDINGS = (".srt", ".vtt")
CLOCK = r"(?:[0-9]+:)?[0-9]{1,2}:[0-9]{1,2}(?:[.,][0-9]+)?"
TIMECODE = re.compile(rf"(?<!\d){CLOCK}\s*-->\s*{CLOCK}(?:\s+\w+:\S+)*")
# What may be meant as a timecode: its arrow, another arrow and a time, two
# times without a letter between them, or a line that is a time.
ARROW = r"(?:[-–—=]\s?(?:>|&gt;)|[→⇒])"
TIME = r"(?<!\d)\d+ ?[:：](?: ?(?:\d+ ?)?[:：;.,．，])+ ?\d+"
GARBLED = re.compile(
    rf"-->|^(?=.*\d ?[:：] ?\d).*{ARROW}|{TIME}[\W\d_]*{TIME}|"
    r"^\s*\d+[:：]\d+[:：]\d+[.,．，]\d+\s*$"
)
TAG = re.compile(r"<(/?)(\w++)[^<>]*>|\{\\[^{}]*\}")  # {\an8}: as .ass has it
BREAK = re.compile(r"(?i)<br ?/?>")
AROUND = re.compile(rf"(?:{TAG.pattern}|[-–—\s])*")
SPEAKER = re.compile(rf"(?:{TAG.pattern}|\s)*[-–—]")
ASIDE = re.compile(r"(?:WEBVTT|NOTE|STYLE|REGION)(?!\S)")  # no cue of .vtt
PARTS = "before", "inner", "behind"  # of a Text
EMPTY = ("", "\r")  # lines that end a cue of .vtt; a blank does not


@dataclass(frozen=True)
class Text:
    """A text in its lines, and what stands around it."""

    before: str
    inner: str
    behind: str
    tagged: bool = False  # tags of it are left out

    @classmethod
    def of(cls, lines: str) -> "Text":
        """What the lines say between dashes and tags."""
        start = len(lines) - len(AROUND.sub("", lines, count=1))
        end = len(lines.rstrip())
        for tag in reversed([*TAG.finditer(lines, start)]):
            if tag.end() == end:
                end = len(lines[: tag.start()].rstrip())
        end = max(start, end)
        return cls(lines[:start], lines[start:end], lines[end:])

    @property
    def plain(self) -> str:
        """It in one line, without tags."""
        return " ".join(TAG.sub("", BREAK.sub(" ", self.inner)).split())

    def lines(self, new: str) -> str:
        """The lines with another text, which has as many at most."""
        end = "\r\n" if "\r\n" in self.inner else "\n"
        found = laid_out(new, self.inner.count("\n") + 1)
        return self.before + end.join(found) + self.behind


def laid_out(text: str, most: int) -> list[str]:
    """The text in at most so many lines, which are of like length."""
    lines = TextWrapper(break_long_words=False, break_on_hyphens=False)
    lines.width = len(text) // most + 1
    while len(found := lines.wrap(text)) > most:
        lines.width += 1
    return found or [""]


class Tag(NamedTuple):
    """A tag, in one of the three parts of a text of a cue."""

    text: int
    part: str
    found: re.Match[str]

    @property
    def name(self) -> str:
        r"""The name, i of <i> and of </i>; {\an8} has none."""
        return self.found[2] or ""

    @property
    def ends(self) -> bool:
        """True for </i>."""
        return self.found[1] == "/"


def with_pairs(texts: list[Text]) -> list[Text]:
    r"""The texts of a cue with those tags around them that are pairs.

    {\an8} has no other half, and the name of a speaker, <v Ann>, needs none.
    """
    tags = [
        Tag(i, part, found)
        for i, one in enumerate(texts)
        for part in PARTS
        for found in TAG.finditer(getattr(one, part))
    ]
    pairs, joined = paired(texts, tags)
    numbers = {*range(len(tags))}
    around = {x for x in numbers if tags[x].part != "inner"}
    alone = numbers - joined - {x for pair in pairs for x in pair}
    kept = {x for pair in pairs if around >= {*pair} for x in pair}
    kept |= {
        x
        for x in around
        if not tags[x].name
        or (x in alone and tags[x].name == "v" and not tags[x].ends)
    }
    lost = {tags[x].text for x in numbers - kept - joined}
    order = iter(sorted(numbers))

    def left(part: str) -> str:
        """The part with the tags that are kept; asked for in their order."""
        return TAG.sub(lambda x: x[0] if next(order) in kept else "", part)

    found = []
    for i, one in enumerate(texts):
        before, _, behind = (left(getattr(one, part)) for part in PARTS)
        found.append(Text(before, one.inner, behind, i in lost))
    return found


def paired(
    texts: list[Text], tags: list[Tag]
) -> tuple[list[tuple[int, int]], set[int]]:
    """The pairs of tags, by their numbers, in the texts of a cue.

    What ends and begins anew, as <i> may in every line, is one pair; the tags
    between its halves are the second set: of <i>One</i> <i>two</i> the first
    and last are a pair, and the two between them are joined.
    """
    opened: list[int] = []
    first: dict[int, int] = {}  # of each pair, by its second
    joined: set[int] = set()
    for number, tag in enumerate(tags):
        alike = [x for x in opened if tags[x].name == tag.name]
        if tag.ends and alike:
            opened.remove(alike[-1])
            first[number] = alike[-1]
        elif tag.name and not tag.ends:
            opened.append(number)
            last = number - 1
            if last in first and (
                tags[last][:2] == tag[:2]
                and tags[first[last]].found[0] == tag.found[0]
                and not between(texts, tags[last], tag).strip()
            ):
                opened[-1] = first.pop(last)
                joined |= {last, number}
    return [(x, y) for y, x in first.items()], joined


def between(texts: list[Text], one: Tag, other: Tag) -> str:
    """What stands between two tags of one part of a text."""
    part: str = getattr(texts[one.text], one.part)
    return part[one.found.end() : other.found.start()]


def cues_in(lines: list[str], web: bool) -> list[list[list[int]]]:
    """The texts of each cue, as the places of their lines."""
    cues: list[list[list[int]]] = []
    cue: list[list[int]] | None = None
    goes_on = False
    for i, line in enumerate(lines):
        if TIMECODE.fullmatch(line.strip()):
            if cue:
                leave_number(cue, lines, i, web)
            cue, goes_on = [], False
            cues.append(cue)
        elif not line.strip():
            goes_on = False
            if web and cue and line in EMPTY:
                cue = None
        elif web and lines[i - 1] in EMPTY and ASIDE.match(line):
            cue = None
        elif cue is not None:
            if not goes_on or SPEAKER.match(line):
                cue.append([])
            cue[-1].append(i)
            goes_on = True
    return cues


def leave_number(
    cue: list[list[int]], lines: list[str], timecode: int, web: bool
) -> None:
    """Take the number, or name, of the next cue from the texts of this one.

    Empty lines may stand between the next timecode and a number, which then
    has a blank line above it.
    """
    place = cue[-1][-1]
    near, above = place == timecode - 1, lines[place - 1]
    if lines[place].strip().isdecimal():
        number = near or not above.strip()
    else:
        number = web and near and above in EMPTY
    if number:
        cue[-1].pop()
        if not cue[-1]:
            cue.pop()


def check_timecodes(lines: list[str], web: bool, path: Path | str) -> None:
    """UserError if there is none, or a line is like one and cannot be read.

    A header or a note of .vtt may name times, but has no arrow of a timecode.
    """
    aside, timed, wrong = False, False, []
    for i, line in enumerate(lines):
        if web and (not i or lines[i - 1] in EMPTY):
            aside = bool(ASIDE.match(line))
        if TIMECODE.fullmatch(line.strip()):
            timed, aside = True, False
        elif "-->" in line if aside else GARBLED.search(TAG.sub("", line)):
            wrong.append(i)
    if wrong:
        line = lines[wrong[0]].strip()
        raise UserError(
            f"{path}, line {wrong[0] + 1}: {line!r:.80} is like a timecode, "
            f"but cannot be read as one ({len(wrong)} in all); "
            "write it as 00:00:01,000 --> 00:00:02,000 or, if it is text, "
            "without the arrow or the times"
        )
    if not timed:
        raise UserError(
            f"{path}: no subtitles, for no line has a timecode such as "
            "00:00:01,000 --> 00:00:02,000; give a text another ending"
        )


class Subtitles:
    """The texts of a file of subtitles, and the file around them.

    In a file that ends in .srt, every line after the first timecode is text,
    except for timecodes and the numbers above them; in .vtt an empty line
    after a text ends a cue, and what is in none stays. For each line of the
    file, texts has the text that begins there, or "", and tagged has the
    numbers of lines where one begins that loses tags. UserError if there is
    no timecode, and for a line that is like one and cannot be read.
    """

    def __init__(self, file: str, path: Path | str):
        # whether & is written as &amp;
        self.web = bool(re.search(r"(?i)\.vtt(\.gz)?$", str(path)))
        lines = file.split("\n")
        check_timecodes(lines, self.web, path)
        # what begins in a line; None goes on from the line above
        self.parts: list[str | Text | None] = [*lines]
        for cue in cues_in(lines, self.web):
            texts = [Text.of("\n".join(lines[i] for i in x)) for x in cue]
            for places, found in zip(cue, with_pairs(texts), strict=True):
                if found.plain:
                    self.parts[places[0]] = found
                    for i in places[1:]:
                        self.parts[i] = None
        begun = [x if isinstance(x, Text) else None for x in self.parts]
        self.tagged = [i for i, x in enumerate(begun, 1) if x and x.tagged]
        self.texts = [x.plain if x else "" for x in begun]
        if self.web:
            self.texts = [*map(unescape, self.texts)]

    def with_texts(self, texts: Iterable[str]) -> str:
        """The file with others in the place of these texts."""
        lines, gone = [], False
        for part, text in zip(self.parts, texts, strict=True):
            if isinstance(part, str):
                lines.append(part)
                gone = False
            elif part:
                new = escape(text, quote=False) if self.web else text
                found = part.lines(new)
                gone = not found.strip()
                lines += [] if gone else [found]
        return "\n".join([*lines, ""] if gone else lines)
