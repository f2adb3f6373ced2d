"""Single words and noun phrases with their translations, taken from pairs.

Which word belongs to which, the alignment of a trained translator says.
"""

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from statistics import fmean
from typing import NamedTuple

from annotated_transformer import Translator
from annotated_transformer.data import Pair
from annotated_transformer.pairs.alignment import Links, align_pairs
from annotated_transformer.text.casing import CORE

LEAST = 3  # times that two words are linked, to be translations
SHARE = 0.3  # of a word's links, for its likeliest translation to stand alone
HELD_OUT = 10  # one word of so many is never trained on alone
NOMINATIVE = {
    *("a", "an", "the", "ein", "eine", "der", "die", "das"),
    *("un", "une", "le", "la", "les", "l"),
}
OBLIQUE = {"einen", "einem", "einer", "eines", "den", "dem", "des", "du"}
ARTICLES = NOMINATIVE | OBLIQUE
TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")  # a word or a mark
Dictionary = dict[str, Counter[str]]  # translations of words, and how often


def links_of(translator: Translator, pairs: list[Pair]) -> list[Links]:
    """The links of pairs, a few thousand at a time."""
    found: list[Links] = []
    for start in range(0, len(pairs), 2000):
        found += align_pairs(translator, pairs[start : start + 2000], 4096)
    return found


def dictionary(pairs: Iterable[Pair], links: Iterable[Links]) -> Dictionary:
    """What each word is linked with, where it has one counterpart.

    The first words of lines, whose capitals say nothing, are left out.
    """
    found: Dictionary = defaultdict(Counter)
    for (source, target), some in zip(pairs, links, strict=True):
        left, right = source.split(), target.split()
        receives = Counter(i for i, _ in some)
        for i, j in some:
            if not (i and j) or receives[i] > 1:
                continue
            word, other = CORE.search(left[i]), CORE.search(right[j])
            if word and other:
                found[word[0]][other[0]] += 1
    return {
        word: Counter({x: n for x, n in others.items() if n >= LEAST})
        for word, others in found.items()
        if max(others.values()) >= LEAST
    }


def nouns(lines: Iterable[str]) -> set[str]:
    """Words that follow an article, and end there what it began.

    They are those that have a mark or a small word behind them, in two of
    five places. A small word is a frequent one that seldom follows an article.
    """
    texts = [TOKEN.findall(line) for line in lines]
    total = Counter(chain.from_iterable(texts))
    named = Counter(
        word
        for text in texts
        for article, word in pairwise(text)
        if article.lower() in ARTICLES
    )
    small = {
        word
        for word, number in total.most_common(30)
        if named[word] < number / 10 and word.lower() not in ARTICLES
    }
    ended = Counter(
        word
        for text in texts
        for article, word, after in zip(text, text[1:], text[2:], strict=False)
        if article.lower() in ARTICLES
        and (after in small or not after[0].isalnum())
    )
    return {word for word in ended if 5 <= named[word] <= 2.5 * ended[word]}


def noun_phrases(
    pairs: Sequence[Pair], links: Iterable[Links], most: int = 4
) -> Counter[Pair]:
    """Beginnings of both lines that translate each other, mostly subjects.

    They are the shortest ones of two words or more that end in a noun, and
    whose words are linked with nothing outside.
    """
    known = nouns(source for source, _ in pairs)
    found: Counter[Pair] = Counter()
    for (source, target), some in zip(pairs, links, strict=True):
        left, right = source.split(), target.split()
        for size in range(2, min(most, len(left) - 1) + 1):
            ends = max((j for i, j in some if i < size), default=-1) + 1
            apart = all((i < size) == (j < ends) for i, j in some)
            if apart and 2 <= ends <= most and left[size - 1] in known:
                phrase = " ".join(left[:size]), " ".join(right[:ends])
                if all(map(str.isalpha, "".join(phrase).split())):
                    found[phrase] += 1
                break
    return found


def is_held_out(word: str) -> bool:
    """Whether a word is kept for the test of single words."""
    return zlib.crc32(word.lower().encode()) % HELD_OUT == 0


def short_pairs(pairs: list[Pair], links: list[Links]) -> list[Pair]:
    """Single words and noun phrases, each also with a full stop.

    A word has the translation that it is linked with most often. Words that
    are held out, and phrases that end in one, are left out.
    """
    found: dict[str, str] = {}
    for word, others in dictionary(pairs, links).items():
        translation, number = others.most_common(1)[0]
        if word.isalpha() and number >= SHARE * others.total():
            found[word] = translation
    for (source, target), _ in noun_phrases(pairs, links).most_common():
        found.setdefault(source, target)
    return [
        (source + end, target + end)
        for source, target in found.items()
        if not is_held_out(source.split()[-1])
        for end in ("", ".")
    ]


class Forms(NamedTuple):
    """Words, in the forms that people type them in, with translations."""

    translations: dict[str, list[str]]
    phrases: dict[str, str]  # nouns with their article, in both languages

    def of(self, some: Iterable[str]) -> dict[str, list[Pair]]:
        """By the name of a form the word that is meant, and what is typed."""
        words = [*some]
        nouns = [word for word in words if word in self.phrases]
        ways: dict[str, Callable[[str], str]] = {
            "bench": str,
            "Bench": str.capitalize,
            "bench.": lambda word: f"{word}.",
            "Bench.": lambda word: f"{word.capitalize()}.",
            "BENCH": str.upper,
        }
        forms = {
            name: [(word, way(word)) for word in words]
            for name, way in ways.items()
        }
        articles = [(word, f"{self.phrases[word]}.") for word in nouns]
        return {**forms, "A bench.": articles}

    def right(self, word: str, output: str) -> bool:
        """Whether an output is one of the translations, after any article."""
        words = re.findall(r"[^\W\d_]+(?:-\w+)*", output.lower())
        while len(words) > 1 and words[0] in ARTICLES:
            del words[0]
        known = {x.lower() for x in self.translations[word]}
        return len(words) == 1 and words[0] in known

    def shares(
        self, translator: Translator, some: Iterable[str]
    ) -> dict[str, float]:
        """The share of the words that are translated right, form by form."""
        return {
            name: fmean(
                self.right(word, output)
                for (word, _), output in zip(
                    typed, translator([x for _, x in typed]), strict=True
                )
            )
            for name, typed in self.of(some).items()
        }


def forms(pairs: Sequence[Pair], links: Iterable[Links]) -> Forms:
    """The words that stand twenty times in the sources, not as the first.

    Their translations are those that they are linked with. Nouns get the
    article that they have most often.
    """
    lines = [source for source, _ in pairs]
    count = Counter(x for line in lines for x in CORE.findall(line)[1:])
    known = {
        word: [*others]
        for word, others in dictionary(pairs, links).items()
        if count[word] >= 20 and word.isalpha() and word[1:].islower()
    }
    phrases: dict[str, str] = {}
    before = Counter(
        two for line in lines for two in pairwise(TOKEN.findall(line.lower()))
    )
    named = {noun.lower(): noun for noun in nouns(lines) if noun in known}
    for (article, noun), _ in before.most_common():
        if article in NOMINATIVE and noun in named:
            phrase = f"{article.capitalize()} {named[noun]}"
            phrases.setdefault(named[noun], phrase)
    return Forms(known, phrases)
