"""Text in capitals or In Title Case: read as a sentence, and set again.

How a word is usually written, its subwords know: of *talking*, *Talking* and
*TALKING* the usual one takes the fewest. So a name or an abbreviation that the
tokenizer has met keeps its capitals, and so does a German noun.
"""

import re
from collections.abc import Callable

from ..data import Tokenizer
from ..embedding import UNK

Setting = Callable[[str], str]


def in_capitals(text: str) -> str:
    """The text in capitals, that of ß included, so that nothing is lost."""
    return text.replace("ß", "ẞ").upper()


def in_title_case(text: str) -> str:
    """The text with a capital at the beginning of each word."""
    return re.sub(r"(?<!\S)\W*\w", lambda found: found[0].upper(), text)


def as_given(text: str) -> str:
    """The text as it is."""
    return text


def as_sentence(text: str, tokenizer: Tokenizer) -> tuple[str, Setting]:
    """The text as a sentence has it, and what sets a translation like it.

    Changed is a text of capitals, or of words that all begin with one, if
    that makes fewer subwords of it, and a text without any capital, if it
    makes no more. Nothing else is, nor what the subwords hardly fit.
    """
    small, large = text.lower(), text.upper()
    setting = {  # where two are the same text, the later one counts
        in_title_case(text): in_title_case,
        large: in_capitals,
        small: as_given,
    }.get(text)
    if setting is None or small == large:
        return text, as_given
    most = rarity(text, tokenizer) - (text != small)
    sentence = re.sub(r"\S+", lambda word: usual(word[0], tokenizer), text)
    sentence = re.sub(r"\w", lambda x: x[0].upper(), sentence, count=1)
    fitting = len(" ".join(text.split())) / 2  # two letters each
    if rarity(sentence, tokenizer) <= min(most, fitting):
        return sentence, setting
    return text, as_given


def rarity(text: str, tokenizer: Tokenizer) -> int:
    """The number of the text's subwords; an unknown one counts twice."""
    ids = tokenizer.encode(text)
    return len(ids) - 1 + ids.count(UNK)


def usual(word: str, tokenizer: Tokenizer) -> str:
    """The word as it takes the fewest subwords; small letters come first.

    Most people write ß as SS in capitals.
    """
    small = [word.lower(), word.lower().replace("ss", "ß")]
    ways = [*small, *map(in_title_case, small), word]
    return min(ways, key=lambda way: rarity(way, tokenizer))
