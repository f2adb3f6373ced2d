"""How a translator reads a line: to search, to score, to align, to check."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..data import Tokenizer
from ..embedding import EOS
from ..errors import UserError
from .casing import Setting, as_given, as_sentence
from .sentences import sentences

LONGEST = 10_000  # characters; a page of a book has three thousand


@dataclass(frozen=True)
class Part:
    """What a translator reads at once, most often a sentence."""

    text: str  # as it stands in the line
    sentence: str  # as it is read
    ids: list[int]  # its subwords, and EOS
    setting: Setting  # sets a translation like the text

    @property
    def blank(self) -> bool:
        """True if there is nothing to translate."""
        return not self.sentence.strip() or self.ids == [EOS]


@dataclass(frozen=True)
class Reading:
    """A line, and the parts of it that are read one by one."""

    line: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Reader:
    """Cuts lines into sentences, and these into subwords.

    split is the language of the lines and into that of their translations; a
    line is left whole where its language is "". What is read at once may have
    as many tokens as there are positions; 0 is any number.
    """

    tokenizer: Tokenizer
    split: str = ""
    into: str = ""
    positions: int = 0

    def part(self, text: str) -> Part:
        """A text as it is read at once; UserError if it is too long."""
        self.check(text)
        sentence, setting = as_sentence(text, self.tokenizer)
        ids = self.tokenizer.encode(sentence)
        self.check(text, ids)
        return Part(text, sentence, ids, setting)

    def check(self, text: str, ids: Sequence[int] = ()) -> None:
        """UserError for what is too long to be read or written at once.

        A text of megabytes would take all memory, and minutes to be cut into
        subwords.
        """
        if len(text) > LONGEST:
            raise UserError(
                f"{len(text)} characters in a row (at most {LONGEST} are "
                "read at once); split the line"
            )
        if 0 < self.positions < len(ids):
            raise UserError(
                f"{len(ids)} tokens, but the model has only {self.positions} "
                "positions; split the line"
            )

    def line(self, text: str) -> Reading:
        """A line as it is read."""
        parts = map(self.part, sentences(text, self.split))
        return Reading(text, tuple(parts))

    def lines(
        self, texts: Iterable[str], where: str = "text", first: int = 0
    ) -> Iterator[Reading]:
        """Lines as they are read; a UserError says which cannot be."""
        for number, text in enumerate(texts, first):
            try:
                yield self.line(text)
            except UserError as error:
                raise UserError(f"{where} {number}: {error}") from error

    def pair(self, source: str, target: str) -> list[tuple[Part, Part]]:
        """A line and its translation, sentence by sentence.

        Both are whole if they have unequal numbers of sentences.
        """
        parts = self.line(source).parts
        texts = sentences(target, self.into)
        if len(texts) != len(parts):
            parts, texts = (self.part(source),), [target]
        return [
            (part, self.translated(text, part))
            for part, text in zip(parts, texts, strict=True)
        ]

    def translated(self, text: str, source: Part) -> Part:
        """A translation as a model wrote it, before it was set.

        DIE HUNDE RENNEN. is read as Die Hunde rennen., if the source is in
        capitals as well.
        """
        if source.setting is not as_given:
            sentence, setting = as_sentence(text, self.tokenizer)
            if setting is source.setting:
                ids = self.tokenizer.encode(sentence)
                return Part(text, sentence, ids, setting)
        return Part(text, text, self.tokenizer.encode(text), as_given)
