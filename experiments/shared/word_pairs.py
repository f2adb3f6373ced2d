"""Single words and noun phrases with their translations, taken from pairs.

Which word belongs to which, the alignment of a trained translator says.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from annotated_transformer import Translator
from annotated_transformer.data import Pair
from annotated_transformer.pairs.alignment import Links, align_pairs
from annotated_transformer.text.casing import CORE

LEAST = 3  # times that two words are linked, to be translations
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


def noun_phrases(
    pairs: Iterable[Pair], links: Iterable[Links], most: int = 4
) -> Counter[Pair]:
    """Beginnings of both lines that translate each other, mostly subjects.

    They are the shortest ones of two words or more whose words are linked
    with nothing outside.
    """
    found: Counter[Pair] = Counter()
    for (source, target), some in zip(pairs, links, strict=True):
        left, right = source.split(), target.split()
        for size in range(2, min(most, len(left) - 1) + 1):
            ends = max((j for i, j in some if i < size), default=-1) + 1
            apart = all((i < size) == (j < ends) for i, j in some)
            if apart and 2 <= ends <= most:
                phrase = " ".join(left[:size]), " ".join(right[:ends])
                if all(map(str.isalpha, "".join(phrase).split())):
                    found[phrase] += 1
                break
    return found
