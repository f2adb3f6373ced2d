"""Subtitles: the texts of their cues, and the same file with other texts.

Timecodes, numbers, headers and notes stay as they are, and so do a speaker's
dash and the tags around a whole text; tags within one are left out. The lines
of a cue are one text, but one that begins with a dash is another speaker's.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape, unescape
from pathlib import Path
from textwrap import TextWrapper

from ..errors import UserError

ENDINGS = (".srt", ".vtt")
TIMECODE = re.compile(r"\d:\d\d[.,]\d+ *-->")
TAG = r"<[/\w][^<>]*>|\{\\[^{}]*\}"  # <i>, and {\an8} as .ass files have it
SPEAKER = re.compile(rf"(?:{TAG}|\s)*[-–—]")
WHOLE = re.compile(rf"^((?:{TAG}|[-–—\s])*)(.*?)((?:{TAG}|\s)*)$")
ENDS_AND_GOES_ON = re.compile(r"</(\w+)> <\1>")  # from line to line


def in_three(lines: list[str]) -> list[str]:
    """What stands before the text of these lines, the text, and the rest."""
    whole = " ".join(" ".join(lines).split())
    return [*WHOLE.findall(ENDS_AND_GOES_ON.sub(" ", whole))[0]]


def laid_out(text: str, most: int) -> list[str]:
    """The text in at most so many lines, which are of like length."""
    lines = TextWrapper(break_long_words=False, break_on_hyphens=False)
    lines.width = len(text) // most + 1
    while len(found := lines.wrap(text)) > most:
        lines.width += 1
    return found or [""]


class Subtitles:
    """The lines of a file of subtitles, and the texts in them.

    In a file that ends in .srt, every line after the first timecode is text,
    except for timecodes and the numbers above them; in .vtt a blank line ends
    a cue, and what is in none stays. For each line of the file, texts has the
    text that begins there, or "", and tagged has the numbers of lines where
    one begins that loses tags. UserError if there is no timecode.
    """

    def __init__(self, lines: list[str], path: Path | str):
        # whether & is written as &amp;
        self.web = bool(re.search(r"(?i)\.vtt(\.gz)?$", str(path)))
        # lines that are one text stand at the first of them, none at others
        self.parts: list[str | list[str]] = []
        inside, text = False, None
        for line, below in zip(lines, [*lines[1:], ""], strict=True):
            timed, blank = TIMECODE.search(line), not line.strip()
            inside = bool(timed) or (inside and not (self.web and blank))
            number = line.strip().isdigit() and TIMECODE.search(below)
            if timed or number or blank or not inside:
                text = None
                self.parts.append(line)
            elif text is None or SPEAKER.match(line):
                text = [line]
                self.parts.append(text)
            else:
                text.append(line)
                self.parts.append([])
        if not any(map(TIMECODE.search, lines)):
            raise UserError(
                f"{path}: no subtitles, for no line has a timecode such as "
                "00:00:01,000 --> 00:00:02,000; give a text another ending"
            )
        whole = [[] if isinstance(x, str) else x for x in self.parts]
        texts = [in_three(x)[1] for x in whole]
        self.tagged = [i for i, x in enumerate(texts, 1) if re.search(TAG, x)]
        self.texts = [re.sub(TAG, "", x) for x in texts]
        if self.web:
            self.texts = [*map(unescape, self.texts)]

    def with_texts(self, texts: Iterable[str]) -> Iterator[str]:
        """The lines of the file with others in the place of these texts."""
        for part, text in zip(self.parts, texts, strict=True):
            if isinstance(part, str):
                yield part
            elif part:
                before, _, behind = in_three(part)
                new = escape(text, quote=False) if self.web else text
                found = laid_out(new, len(part))
                found[0] = before + found[0]
                found[-1] += behind
                yield from filter(str.strip, found)
