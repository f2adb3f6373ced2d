"""How a language model reads running text: lines, and ends of documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..data import Tokenizer
from ..embedding import EOS
from ..errors import UserError
from ..system.text_lines import split_lines
from .reading import without_subword


def check_mark(mark: str) -> None:
    """UserError for a mark that no line can be; see ends_document."""
    if not ends_document(mark, mark) or "\n" in mark:
        raise UserError(
            f"`mark={mark!r:.80}`: a line is compared with it without the "
            "blanks at its ends, so no line would end a document; give one "
            "line, without them"
        )


def ends_document(line: str, mark: str) -> bool:
    """True if a line is the mark, but for blanks at its ends."""
    return line.strip() == mark


@dataclass(frozen=True)
class DocumentReader:
    """Turns running text into ids and back, for training and for prompts.

    A line that is the mark, but for blanks at its ends, ends a document. To
    a model it is one token, EOS.
    """

    tokenizer: Tokenizer
    mark: str = ""  # "" is a blank line

    def line(self, line: str) -> list[int]:
        r"""The ids of a whole line, which ends with "\n"."""
        if ends_document(line, self.mark):
            return [EOS]
        return self.tokenizer.encode(line)[:-1]

    def ids(self, text: str) -> list[int]:
        """The ids of a text that goes on in its last line, behind EOS.

        They are those that a file which begins so is learned from with.
        """
        *lines, last = split_lines(text)
        found = [EOS]
        for line in lines:
            found += self.line(f"{line}\n")
        return found + self.tokenizer.encode(last)[:-1]

    def text(self, ids: Sequence[int], before: str = "") -> str:
        """The text of ids that follow a text; a mark gets a line of its own.

        Read again, it has the same text.
        """
        found, at_start = [], not before or before.endswith("\n")
        for part, ended in documents(ids):
            if text := self.tokenizer.decode(part):
                found.append(text)
                at_start = text.endswith("\n")
            if ended:
                found.append(f"{'' if at_start else chr(10)}{self.mark}\n")
                at_start = True
        return "".join(found)

    def unknown(self, text: str) -> str:
        """The letters and signs of a text that the model has never seen."""
        found = "".join(
            piece
            for line in split_lines(text)
            for piece in without_subword(line, self.tokenizer)
        )
        return "".join(dict.fromkeys(found))


def documents(ids: Sequence[int]) -> Iterator[tuple[Sequence[int], bool]]:
    """The ids of each document, and whether EOS ended it."""
    begin = 0
    for place, id_ in enumerate(ids):
        if id_ == EOS:
            yield ids[begin:place], True
            begin = place + 1
    yield ids[begin:], False
