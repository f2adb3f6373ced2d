"""Tells which lines of a file are doubtful, while they are translated."""

from collections.abc import Callable, Iterable
from math import inf

from ..system.text_lines import is_blank
from ..translation import Translation, Translator
from .checks import subwords_per_word

NAMED = 10  # lines of a file, at most; more are counted


class Watch:
    """Tells what may be wrong with the lines of a file.

    It names ten lines, and counts the others. more says what else may be wrong
    with one. Without `say` it looks at none.
    """

    def __init__(
        self,
        name: str,
        translator: Translator,
        say: Callable[[str], object] | None,
        more: Callable[[str, Translation], Iterable[str]] = lambda *_: (),
    ):
        self.name, self.say, self.more = name, say, more
        self.reader, self.known = translator.reader, translator.known
        self.number = self.read = self.doubtful = 0
        self.foreign = self.unsure = 0

    def look(
        self, lines: Iterable[str], translations: Iterable[Translation]
    ) -> None:
        """Name what is doubtful of the next lines; blank ones never are."""
        if self.say is None:
            return
        for line, one in zip(lines, translations, strict=True):
            self.number += 1
            if is_blank(line):
                continue
            self.count(line, one.confidence)
            told = self.reasons(line, one)
            self.doubtful += bool(told)
            if told and self.doubtful <= NAMED:
                self.tell(f", line {self.number}: {'; '.join(told)}")

    def reasons(self, line: str, one: Translation) -> tuple[str, ...]:
        """What may be wrong with a line or with its translation."""
        return *one.warnings, *self.more(line, one)

    def count(self, line: str, confidence: float = inf) -> None:
        """Count a line, if it is not one that the model usually reads."""
        self.read += 1
        self.foreign += self.subwords(line) > self.known.subwords
        self.unsure += confidence < self.known.confidence

    def subwords(self, line: str) -> float:
        """How many subwords a word of the line has."""
        parts = self.reader.line(line).parts
        read = " ".join(part.sentence or part.text for part in parts)
        return subwords_per_word(read, self.reader.tokenizer)

    def sum_up(self) -> None:
        """Say how many more lines are doubtful, and what most lines have."""
        if (more := self.doubtful - NAMED) > 0:
            self.tell(f": {more} more lines are doubtful")
        self.sum_up_most()

    def sum_up_most(self) -> None:
        """Say what most of the lines have."""
        for number, told in (
            (
                self.foreign,
                "the model's subwords hardly fit the text; is it in the "
                "language that the model translates from?",
            ),
            (
                self.unsure,
                "the model is unsure of its translation; is it the right "
                "model, and the right direction?",
            ),
        ):
            if number > self.read / 2:
                self.tell(f": in {number} of {self.read} lines, {told}")

    def tell(self, told: str) -> None:
        """Say something of the file."""
        if self.say is not None:
            self.say(f"warning: {self.name}{told}")
