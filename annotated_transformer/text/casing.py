"""Text in capitals or In Title Case: read as a sentence, and set again.

How a word is usually written, its subwords know: of *talking*, *Talking* and
*TALKING* the usual one takes the fewest. So a name or an abbreviation that the
tokenizer has met keeps its capitals, and so does a German noun.
"""

import re
from collections.abc import Callable

from annotated_transformer.data import Tokenizer

__all__ = ["as_sentence", "in_capitals", "in_title_case"]

Setting = Callable[[str], str]


def in_capitals(text: str) -> str:
    """The text in capitals."""
    return text.upper()


def in_title_case(text: str) -> str:
    """The text with a capital at the beginning of each word."""
    return re.sub(r"(?<!\S)\W*\w", lambda found: found[0].upper(), text)


def as_given(text: str) -> str:
    """The text as it is."""
    return text


def as_sentence(text: str, tokenizer: Tokenizer) -> tuple[str, Setting]:
    """The text as a sentence has it, and what sets a translation like it.

    Only a text of capitals, or of words that all begin with one, is changed,
    and only if that makes fewer subwords of it.
    """
    for setting in (in_capitals, in_title_case):
        if setting(text) == text != text.lower():
            break
    else:
        return text, as_given
    words = [usual(word, tokenizer) for word in text.split(" ")]
    sentence = " ".join(words)
    sentence = re.sub(r"\w", lambda x: x[0].upper(), sentence, count=1)
    size = tokenizer.encode
    if len(size(sentence)) < len(size(text)):
        return sentence, setting
    return text, as_given


def usual(word: str, tokenizer: Tokenizer) -> str:
    """The word as it takes the fewest subwords; small letters come first."""
    ways = (word.lower(), in_title_case(word.lower()), word)
    return min(ways, key=lambda way: len(tokenizer.split(way)))
