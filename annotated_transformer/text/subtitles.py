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


def with_pairs(texts: list[Text]) -> list[Text]:
    r"""The texts of a cue with those tags around them that are pairs.

    {\an8} has no other half, and the name of a speaker, <v Ann>, needs none.
    """
    zones = [x for one in texts for x in (one.before, one.inner, one.behind)]
    tags = [(i, x) for i, zone in enumerate(zones) for x in TAG.finditer(zone)]
    pairs, joined = paired(zones, tags)
    around = {i for i, (zone, _) in enumerate(tags) if zone % 3 != 1}
    kept = {i for i in around if not tags[i][1][2]}
    kept |= {i for pair in pairs if around >= {*pair} for i in pair}
    alone = {*range(len(tags))} - joined - {i for pair in pairs for i in pair}
    kept |= {i for i in alone & around if tags[i][1].group(1, 2) == ("", "v")}
    lost = {tags[i][0] // 3 for i in {*range(len(tags))} - kept - joined}
    numbers = iter(range(len(tags)))
    left = [
        TAG.sub(lambda tag: tag[0] if next(numbers) in kept else "", zone)
        for zone in zones
    ]
    return [
        Text(left[3 * i], one.inner, left[3 * i + 2], i in lost)
        for i, one in enumerate(texts)
    ]


def paired(
    zones: list[str], tags: list[tuple[int, re.Match[str]]]
) -> tuple[list[tuple[int, int]], set[int]]:
    """The pairs of tags in zones of text, by their numbers.

    What ends and begins anew, as <i> may in every line, is one pair; the tags
    between its halves are the second set.
    """
    opened: list[int] = []
    first: dict[int, int] = {}  # of each pair, by its second
    joined: set[int] = set()
    for number, (zone, tag) in enumerate(tags):
        alike = [x for x in opened if tags[x][1][2] == tag[2]]
        if tag[1] and alike:
            opened.remove(alike[-1])
            first[number] = alike[-1]
        elif tag[2] and not tag[1]:
            opened.append(number)
            place, last = tags[number - 1]
            if (
                number - 1 in first
                and place == zone
                and tag[0] == tags[first[number - 1]][1][0]
                and not zones[zone][last.end() : tag.start()].strip()
            ):
                opened[-1] = first.pop(number - 1)
                joined |= {number - 1, number}
    return [(x, y) for y, x in first.items()], joined


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
