"""A line as somebody else might type it: to learn from, and to test with."""

import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from ..data import Example
from ..embedding import UNK
from ..translation import Translator, corpus_scores
from .casing import in_title_case
from .reading import Reader

Way = Callable[[str, random.Random], str]

KEYS = ("qwertyuiopü", "asdfghjklöä", "zxcvbnmß")
BLANKS = ("\xa0", "\u2009", "\u3000", "  ", "\t")
WORD = re.compile(r"[^\W\d_]{4,}")  # long enough to be typed wrong
ERRORS = 0.1  # share of such words
PHRASE = 4  # words that need no full stop, and have one for a reason


def as_typed(text: str, rng: random.Random, times: float = 1.0) -> str:
    """The text, or for some of many what is often made of it.

    Of a hundred, 7 are in capitals, 5 in title case and 5 in small letters;
    5 have typing errors, and 20 no full stop, unless they are as short as a
    phrase. times multiplies these numbers.
    """
    case = rng.random()
    if case < 0.07 * times:
        text = text.upper()
    elif case < 0.12 * times:
        text = in_title_case(text)
    elif case < 0.17 * times:
        text = text.lower()
    if rng.random() < 0.05 * times:
        text = typing_errors(text, rng, least=1)
    if rng.random() < 0.2 * times and len(text.split()) > PHRASE:
        text = without_full_stop(text)
    return text


class SourceNoise:
    """Some sources of a batch as they might be typed, at each reading.

    They are encoded as a translator reads them: capitals as a sentence.
    """

    def __init__(self, reader: Reader, times: float, max_length: int):
        self.reader, self.times = reader, times
        self.max_length = max_length  # tokens; longer text stays as it was

    def __call__(
        self, examples: Iterable[Example], seed: str
    ) -> list[Example]:
        """The examples with sources that the seed decides."""
        rng = random.Random(f"{seed} noise")
        return [(self.typed(ids, rng), target) for ids, target in examples]

    def typed(self, ids: list[int], rng: random.Random) -> list[int]:
        """The ids of a source, typed anew; unknown pieces stay."""
        text = self.reader.tokenizer.decode(ids)
        typed = as_typed(text, rng, self.times)
        if UNK in ids or typed == text:
            return ids
        part = self.reader.part(typed)
        around = part.before or part.behind  # which the target has as well
        return ids if around or len(part.ids) > self.max_length else part.ids


def typing_errors(
    text: str, rng: random.Random, share: float = ERRORS, least: int = 0
) -> str:
    """The text with errors in a share of its longer words, or in the least."""
    words = [*WORD.finditer(text)]
    wrong = {i for i in range(len(words)) if rng.random() < share}
    if len(wrong) < least <= len(words):
        wrong = {*rng.sample(range(len(words)), least)}
    for place in sorted(wrong, reverse=True):
        start, end = words[place].span()
        text = text[:start] + misspelt(text[start:end], rng) + text[end:]
    return text


def misspelt(word: str, rng: random.Random) -> str:
    """The word with letters swapped, left out, doubled or the next key's."""
    i = rng.randrange(1, len(word) - 1)
    before, letter, after = word[:i], word[i], word[i + 1 :]
    ways = [
        after[0] + letter + after[1:],
        after,
        letter + letter + after,
        next_key(letter, rng) + after,
    ]
    return before + rng.choice([x for x in ways if x != letter + after])


def next_key(letter: str, rng: random.Random) -> str:
    """The key to the left or right; of a letter without a key, nothing."""
    for row in KEYS:
        place = row.find(letter.lower())
        if place >= 0:
            near = row[max(place - 1, 0) : place] + row[place + 1 : place + 2]
            key = rng.choice(near)
            return key.upper() if letter.isupper() else key
    return ""


def without_full_stop(text: str) -> str:
    """The text without the full stop at its end, if it has one."""
    return re.sub(r"\s*\.\s*$", "", text)


def odd_blanks(text: str, rng: random.Random) -> str:
    """The text with blanks of other kinds: no-break, thin, wide, doubled."""
    return re.sub(" ", lambda _: rng.choice(BLANKS), text)


def typographic_quotes(text: str) -> str:
    """The text with curly quotes and apostrophes."""
    text = re.sub(r'(?<!\w)"(?=\w)', "\u201c", text).replace('"', "\u201d")
    return text.replace("'", "\u2019")


def decomposed(text: str) -> str:
    """The text with accents as characters of their own."""
    return unicodedata.normalize("NFD", text)


def zero_width_blank(text: str, rng: random.Random) -> str:
    """The text with a zero-width blank in one of its words."""
    words = [*re.finditer(r"\w\w+", text)]
    if not words:
        return text
    start, end = rng.choice(words).span()
    place = rng.randrange(start + 1, end)
    return f"{text[:place]}\u200b{text[place:]}"


def run_together(text: str, rng: random.Random) -> str:
    """The text without one of the blanks between its words."""
    blanks = [*re.finditer(r"(?<=\w) (?=\w)", text)]
    if not blanks:
        return text
    place = rng.choice(blanks).start()
    return text[:place] + text[place + 1 :]


# What a text may look like that is not typed as a corpus has it, and how
# often each is drawn.
WAYS: dict[str, tuple[Way, int]] = {
    "capitals": (lambda text, _: text.upper(), 1),
    "title case": (lambda text, _: in_title_case(text), 1),
    "small letters": (lambda text, _: text.lower(), 1),
    "odd blanks": (odd_blanks, 1),
    "curly quotes": (lambda text, _: typographic_quotes(text), 1),
    "decomposed accents": (lambda text, _: decomposed(text), 1),
    "a zero-width blank": (zero_width_blank, 1),
    "no full stop": (lambda text, _: without_full_stop(text), 1),
    "typing errors": (typing_errors, 3),
    "two words run together": (run_together, 1),
}


@dataclass(frozen=True)
class AsTyped:
    """Scores of a text typed in one way: means, where it was drawn often."""

    bleu: float
    bleu_lowercase: float
    lines: float  # that are typed otherwise
    outputs: float  # that differ from those for the text as it is


def scores_as_typed(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    language: str = "en",
    batch_tokens: int = 4096,
) -> dict[str, AsTyped]:
    """The scores of each way to type the sources, as evaluate shows them.

    They are not split into sentences, as nothing is that is scored.
    batch_tokens is that of `Translator`.
    """
    ways: dict[str, tuple[Way, int]] = {
        "as it is": (lambda text, _: text, 1),
        **WAYS,
    }
    translate = partial(translator, split="", batch_tokens=batch_tokens)
    usual = translate(sources := [*sources])
    found = {}
    for name, (way, times) in ways.items():
        drawn = []
        for number in range(times):
            rng = random.Random(f"{name} {number}")
            typed = [way(source, rng) for source in sources]
            outputs = usual if typed == sources else translate(typed)
            scores = corpus_scores(outputs, references, language)
            lines = sum(map(str.__ne__, typed, sources))
            others = sum(map(str.__ne__, outputs, usual))
            drawn.append((scores.bleu, scores.bleu_lowercase, lines, others))
        found[name] = AsTyped(*map(fmean, zip(*drawn, strict=True)))
    return found
