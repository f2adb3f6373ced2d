"""Running text to learn a language from: files, line by line, never whole."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UserError, check_kind
from ..system.text_lines import stream_lines
from ..text.documents import check_mark, ends_document


@dataclass(frozen=True)
class RunningText:
    """Text files, one after the other, of which the end is held out.

    A line that is the mark, and the end of a file, ends a document.
    """

    files: tuple[Path, ...]
    mark: str  # "" is a blank line
    held_out: float  # share of the bytes, at the end
    name: str
    size: int  # bytes, as UTF-8
    checksums: dict[str, str]

    def __post_init__(self) -> None:
        check_kind("held_out", self.held_out, float, (0.001, 0.999))
        check_mark(self.mark)

    @classmethod
    def from_files(
        cls,
        files: Sequence[Path | str],
        mark: str = "",
        held_out: float = 0.1,
        name: str = "text",
    ) -> "RunningText":
        """The text of files, plain or gzip by their ending `.gz`.

        UserError if there is none, or if a file is no UTF-8 text.
        """
        paths = tuple(map(Path, files))
        size, digest = 0, hashlib.sha256()
        for path in paths:
            before = size
            for line in stream_lines(path):
                digest.update(line.encode())
                size += len(line.encode())
            if size == before:
                raise UserError(f"{path} is empty; leave it out")
        if not size:
            raise UserError("no text is named: name at least one file")
        sums = {"text": digest.hexdigest()}
        return cls(paths, mark, held_out, name, size, sums)

    @property
    def about(self) -> dict[str, Any]:
        """What the history of a run says of it."""
        held_out = {"mark": self.mark, "held_out": self.held_out}
        return {"bytes": self.size, **held_out}

    def lines(self, held_out: bool | None = None) -> Iterator[str]:
        r"""The lines of either part, or all, each with its end, "\n"."""
        first, seen = self.size * (1 - self.held_out), 0
        for path in self.files:
            for line in stream_lines(path):
                if held_out in (None, seen >= first):
                    yield line
                seen += len(line.encode())
            if held_out in (None, seen > first):
                yield self.mark + "\n"

    def text_of_subwords(self, size: int = 20_000_000) -> Iterator[str]:
        """Lines to learn subwords from, of about so many bytes at most."""
        every = self.size // size + 1
        for number, line in enumerate(self.lines(held_out=False)):
            if number % every == 0 and not ends_document(line, self.mark):
                yield line.removesuffix("\n")


def plays() -> RunningText:
    """Forty thousand lines of Shakespeare's plays, which are shipped.

    Every speech is a document.
    """
    path = Path(__file__).with_name("plays.txt.gz")
    return RunningText.from_files([path], name="plays")
