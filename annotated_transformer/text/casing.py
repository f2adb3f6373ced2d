"""Words in capitals or with one: read as a sentence has them, and set again.

How a word is usually written, the text knows that a model has learned from: a
name or an abbreviation keeps its capitals, and so does a German noun. Of other
words in a line of capitals the subwords tell: of *talking*, *Talking* and
*TALKING* the usual one takes the fewest. The book's pages have the same rules
(book/in_page/casing.js).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ..data import Tokenizer
from ..embedding import UNK

T = TypeVar("T")
Setting = Callable[[str], str]
# by its small letters, each form of a word that is in use, most frequent first
Words = Mapping[str, list[str]]
CORE = re.compile(r"\w(?:\S*\w)?")  # between blanks, without marks
MOST = 20_000  # forms that are kept of a text
SAMPLE = 100_000  # lines of it that are enough to count
SHARE = 0.1  # of a word's places, from which on a form is in use


def thinned(lines: Sequence[T], most: int = SAMPLE) -> Sequence[T]:
    """Lines from all parts of a text, at most so many."""
    return lines[:: len(lines) // most + 1]


def usual_words(lines: Iterable[str]) -> list[str]:
    """The words of a text in the forms that are in use, frequent ones first.

    The first word of a line does not count, unless it stands nowhere else;
    nor does a form that is there less than three times.
    """
    within, first = Counter[str](), Counter[str]()
    for line in lines:
        start, *rest = CORE.findall(line) or [""]
        first[start] += 1
        within.update(rest)
    places = Counter[str]()
    for word, number in within.items():
        places[word.lower()] += number
    counts = within | Counter(
        {x: n for x, n in first.items() if x.lower() not in places}
    )
    used = [
        word
        for word, number in counts.most_common()
        if number > 2 and number >= SHARE * places[word.lower()]
    ]
    return used[:MOST]


def by_small_letters(used: Iterable[str]) -> Words:
    """The forms of words, given as usual_words gives them, by word."""
    found: dict[str, list[str]] = {}
    for form in used:
        found.setdefault(form.lower(), []).append(form)
    return found


def in_capitals(text: str) -> str:
    """The text in capitals, that of ß included, so that nothing is lost."""
    return text.replace("ß", "ẞ").upper()


def in_title_case(text: str) -> str:
    """The text with a capital at the beginning of each word."""
    return re.sub(r"(?<!\S)\W*\w", lambda found: found[0].upper(), text)


def as_given(text: str) -> str:
    """The text as it is."""
    return text


def as_sentence(
    text: str, tokenizer: Tokenizer, words: Words | None = None
) -> tuple[str, Setting]:
    """The text as a sentence has it, and what sets a translation like it.

    Changed is a text of capitals, or of words that all begin with one, if
    that makes fewer subwords of it, and a text without any capital, if it
    makes no more. A single word becomes one in use, and does not get the
    capital of a sentence. Of other texts, words in capitals are changed that
    are not in use so, but for one alone of up to three letters, which may be
    an abbreviation. Nothing else is, nor what the subwords hardly fit.
    """
    words = words or {}
    small, large = text.lower(), text.upper()
    if small == large:
        return text, as_given
    setting = {  # where two are the same text, the later one counts
        in_title_case(text): in_title_case,
        large: in_capitals,
        small: as_given,
    }.get(text)
    if setting is None:
        return lowered(text, words), as_given
    sentence = re.sub(
        r"\S+", lambda word: usual(word[0], tokenizer, words), text
    )
    if len(text.split()) > 1:
        sentence = re.sub(r"\w", lambda x: x[0].upper(), sentence, count=1)
    elif in_use(text, words):
        return sentence, setting
    most = rarity(text, tokenizer) - (text != small)
    fitting = len(" ".join(text.split())) / 2  # two letters each
    if rarity(sentence, tokenizer) <= min(most, fitting):
        return sentence, setting
    return text, as_given


def lowered(text: str, words: Words) -> str:
    """The text with its words in capitals as they are in use."""
    loud = {
        word: in_use(word, words)
        for word in CORE.findall(text)
        if len(word) > 1 and word == word.upper() != in_use(word, words)
    }
    known = {word: other for word, other in loud.items() if other}
    if len(known) == 1 and len(min(known)) < 4:
        return text
    return CORE.sub(lambda word: known.get(word[0], word[0]), text)


def lowered_words(text: str, sentence: str) -> tuple[int, ...]:
    """The numbers of a text's words in capitals that the sentence has not."""
    pairs = zip(text.split(), sentence.split(), strict=False)
    return tuple(
        i for i, (x, y) in enumerate(pairs) if x == x.upper() and x != y
    )


def quiet(text: str, sentence: str, tokenizer: Tokenizer) -> str:
    """A translation before words of it were set in capitals.

    What stands in the sentence, too, was not.
    """
    kept = {*CORE.findall(sentence)}

    def small(found: re.Match[str]) -> str:
        word = found[0]
        if len(word) < 2 or word != in_capitals(word) or word in kept:
            return word
        form = usual(word, tokenizer, {})
        return form if found.start() else in_title_case(form)

    return CORE.sub(small, text)


def in_use(text: str, words: Words) -> str:
    """The text's word in a form that is in use, if there is any; else "".

    It is the given one, or the most frequent. Most people write ß as SS in
    capitals.
    """
    core = CORE.search(text)
    small = core[0].lower() if core else ""
    forms = words.get(small) or words.get(small.replace("ss", "ß")) or [""]
    return core[0] if core and core[0] in forms else forms[0]


def rarity(text: str, tokenizer: Tokenizer) -> int:
    """The number of the text's subwords; an unknown one counts twice."""
    ids = tokenizer.encode(text)
    return len(ids) - 1 + ids.count(UNK)


def usual(word: str, tokenizer: Tokenizer, words: Words) -> str:
    """The word in a form that is in use, or with the fewest subwords.

    Of these, small letters come first.
    """
    if form := in_use(word, words):
        return CORE.sub(lambda _: form, word, count=1)
    small = [word.lower(), word.lower().replace("ss", "ß")]
    ways = [*small, *map(in_title_case, small), word]
    return min(ways, key=lambda way: rarity(way, tokenizer))
