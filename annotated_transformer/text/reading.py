"""How a translator reads a line: to search, to score, to align, to check."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..data import Tokenizer
from ..embedding import EOS, UNK
from ..errors import UserError
from ..system.text_lines import invisible, is_blank
from .casing import (
    Setting,
    Words,
    as_given,
    as_sentence,
    lowered_words,
    quiet,
)
from .languages import between_sentences
from .sentences import sentences

LONGEST = 10_000  # characters; a page of a book has three thousand
AROUND = '"#*•·‣†‡§'  # punctuation that goes through, as brackets do
PLAIN = re.compile(r"[^\W\d_](.*[^\W_])?[.!?]?", re.DOTALL)  # no sign around
NUMBER = re.compile(r"\d+")  # and no 1. of a list
ADDRESS = re.compile(r"\w@\w|://|\bwww\.")
BRACKETS = ["()", "[]", "{}", "«»", "“”"]
TAG = re.compile(r"</?\w[^<>]*>")
LAST_TAG = re.compile(rf"{TAG.pattern}$")


def without_subword(text: str, tokenizer: Tokenizer) -> list[str]:
    """What of a text a model has never seen: signs in a row, or words."""
    pieces = zip(tokenizer.split(text), tokenizer.encode(text), strict=False)
    unknown = (piece.strip("▁") for piece, id_ in pieces if id_ == UNK)
    return [*dict.fromkeys(piece for piece in unknown if not is_blank(piece))]


def between(
    text: str, start: int, end: int, goes: Callable[[str], bool]
) -> tuple[int, int]:
    """Where what is read begins and ends, without tags and signs that go."""
    while start < end and goes(text[start]):
        tag = TAG.match(text, start, end)
        start = tag.end() if tag else start + 1
    while end > start and goes(text[end - 1]):
        tag = LAST_TAG.search(text, start, end)
        end = tag.start() if tag else end - 1
    return start, end


@dataclass(frozen=True)
class Part:
    """What a translator reads at once, most often a sentence.

    What stands before and behind it goes through as it is.
    """

    text: str  # as it stands in the line
    sentence: str  # as it is read
    ids: list[int]  # its subwords, and EOS
    setting: Setting = as_given  # sets a translation like the text
    before: str = ""
    behind: str = ""
    unknown: tuple[str, ...] = ()  # of what is read, without a subword
    loud: tuple[int, ...] = ()  # words in capitals that are read in others

    @property
    def blank(self) -> bool:
        """True if there is nothing to translate."""
        return not self.sentence.strip() or self.ids == [EOS]

    @property
    def untranslated(self) -> list[str]:
        """The words that go through, but for addresses."""
        words = TAG.sub(" ", f"{self.before} {self.behind}").split()
        return [
            word
            for word in words
            if any(map(str.isalpha, word)) and not ADDRESS.search(word)
        ]

    def whole(self, translation: str) -> str:
        """A translation, set like the text, between what goes through.

        A model ends with a full stop what had none; before other signs it is
        one too many.
        """
        text = self.setting(translation)
        if self.behind and not self.sentence.endswith("."):
            text = text.removesuffix(".")
        return f"{self.before}{text}{self.behind}"


@dataclass(frozen=True)
class Reading:
    """A line, and the parts of it that are read one by one."""

    line: str
    parts: tuple[Part, ...]
    between: str = " "  # of their translations


@dataclass(frozen=True)
class Reader:
    """Cuts lines into sentences, and these into subwords.

    split is the language of the lines and into that of their translations; a
    line is left whole where its language is "". What is read at once may have
    as many tokens as there are positions; 0 is any number. words tells how
    those of the lines are written.
    """

    tokenizer: Tokenizer
    split: str = ""
    into: str = ""
    positions: int = 0
    words: Words = field(default_factory=dict)

    def part(self, text: str) -> Part:
        """A text as it is read at once; UserError if it is too long.

        What stands around its words goes through. Signs within that have no
        subword are left out.
        """
        before, behind, inner = "", "", text
        unknown: list[str] = []
        plain = PLAIN.fullmatch(text) and not ADDRESS.search(text)
        ids = self.tokenizer.encode(text) if len(text) <= LONGEST else [UNK]
        if UNK in ids or not plain:
            before, inner, behind = self.readable(re.sub(r"\s+", " ", text))
            self.check(inner)
            inner = TAG.sub("", inner)
            unknown = without_subword(inner, self.tokenizer)
            for sign in {*inner}:
                if not sign.isalnum() and not self.knows(sign):
                    inner = inner.replace(sign, "")
            sides = before, behind
            before, behind = ("" if is_blank(x) else x for x in sides)
        sentence, setting = as_sentence(inner, self.tokenizer, self.words)
        if sentence != text:
            ids = self.tokenizer.encode(sentence)
        self.check(inner, ids)
        part = Part(text, sentence, ids, setting, before, behind, (*unknown,))
        if setting is as_given:
            return replace(part, loud=lowered_words(inner, sentence))
        return part

    def knows(self, sign: str) -> bool:
        """True if the sign has a subword, or is normalised away."""
        return UNK not in self.tokenizer.encode(sign)

    def knows_some(self, word: str) -> bool:
        """True if a letter of the word is in one of its subwords."""
        pieces, ids = self.tokenizer.split(word), self.tokenizer.encode(word)
        return any(
            id_ != UNK and any(map(str.isalpha, piece))
            for piece, id_ in zip(pieces, ids, strict=False)
        )

    def readable(self, text: str) -> tuple[str, str, str]:
        """What is read of a text, and what goes through around it.

        Read are the words from the first to the last that have a subword with
        a letter, numbers beside them, and what else belongs to a sentence; an
        address is no word.
        """
        words = [*re.finditer(r"\S+", text)]
        read = [
            i
            for i, word in enumerate(words)
            if not ADDRESS.search(word[0]) and self.knows_some(word[0])
        ]
        if not read:
            return text, "", ""
        first, last = read[0], read[-1]
        while first and NUMBER.fullmatch(words[first - 1][0]):
            first -= 1
        while words[last + 1 :] and all(map(self.closes, words[last + 1][0])):
            last += 1
        span = words[first].start(), words[last].end()
        start, end = between(text, *span, self.around)
        inner = text[start:end]
        torn = any(inner.count(x[0]) != inner.count(x[1]) for x in BRACKETS)
        if torn or inner.count('"') % 2:
            start, end = between(text, *span, self.foreign)
        return text[:start], text[start:end], text[end:]

    def closes(self, sign: str) -> bool:
        """True for a digit, and for a mark that belongs to a sentence."""
        letter = sign.isalnum() and not sign.isdecimal()
        return not (letter or self.around(sign))

    def around(self, sign: str) -> bool:
        """True for a sign that goes through at the ends of a sentence.

        That is one without a subword, or none of those that belong to a
        sentence, as the full stops and question marks of any script do.
        """
        if self.foreign(sign):
            return True
        kind = unicodedata.category(sign)
        part = kind == "Po" and sign not in AROUND
        return not (sign.isalnum() or kind[0] == "M" or part)

    def foreign(self, sign: str) -> bool:
        """True for a sign without a subword, and none of a letter's marks."""
        mark = unicodedata.category(sign)[0] == "M" and not invisible(sign)
        return not (sign.isalnum() or mark or self.knows(sign))

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
        return Reading(text, tuple(parts), between_sentences(self.into))

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

        Both are whole if they have unequal numbers of sentences. What went
        through is in neither; if something else stands there, it is read.
        """
        parts = self.line(source).parts
        texts = sentences(target, self.into)
        if len(texts) != len(parts):
            parts, texts = (self.part(source),), [target]
        found = []
        for part, text in zip(parts, texts, strict=True):
            if part.blank and part.before:
                if text == part.before:
                    continue
                ids = self.tokenizer.encode(part.text)
                part = Part(part.text, part.text, ids)
            found.append((part, self.translated(text, part)))
        return found

    def translated(self, text: str, source: Part) -> Part:
        """A translation as a model wrote it, before it was set.

        DIE HUNDE RENNEN. is read as Die Hunde rennen., if the source is in
        capitals as well.
        """
        before, behind, inner = source.before, source.behind, text
        if text.startswith(before) and text[len(before) :].endswith(behind):
            inner = text[len(before) :].removesuffix(behind)
        else:
            before = behind = ""
        setting: Setting = as_given
        if source.loud:
            inner = quiet(inner, source.sentence, self.tokenizer)
        elif source.setting is not as_given:
            sentence, found = as_sentence(inner, self.tokenizer)
            if found is source.setting:
                inner, setting = sentence, found
        ids = self.tokenizer.encode(inner)
        return Part(text, inner, ids, setting, before, behind)
