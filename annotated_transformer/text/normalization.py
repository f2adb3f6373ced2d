"""One spelling for what looks alike: rules that a tokenizer applies itself.

They become part of a sentencepiece model, so that every program that has the
file reads the same text: composed characters, plain single blanks, straight
quotes, and nothing that cannot be seen. What a translator leaves out of a
line besides is in reading.py.
"""

import unicodedata
from collections.abc import Iterable
from functools import cache

import sentencepiece

BLANKS = "\t\n\v\f\r\x85\u2028\u2029▁"  # and those of category Zs
DROPPED = "\xad\u200b\u2060\ufeff"  # and control characters; no joiners
PLAIN = {
    "'": "\u2018\u2019\u201a\u201b",
    '"': "\u201c\u201d\u201e\u201f",
    "-": "\u2010\u2011",
}
COMPOSED = 0x20000  # no character from here on is composed of two


def spellings(character: str) -> list[str]:
    """The ways to write a character, from composed to decomposed."""
    parts = unicodedata.decomposition(character).split()
    if len(parts) != 2 or parts[0].startswith("<"):
        return [character]
    first, mark = (chr(int(part, 16)) for part in parts)
    return [character, *(start + mark for start in spellings(first))]


@cache
def rules() -> dict[str, str]:
    """What stands for what; of rules that fit, the longest is applied.

    Marks are composed in canonical order, as keyboards and Unicode's NFD
    write them. Hangul, which has rules of its own, stays as it is.
    """
    found = {}
    for character in map(chr, range(1, COMPOSED)):
        category = unicodedata.category(character)
        if character in BLANKS or category == "Zs":
            found[character] = " "
        elif character in DROPPED or category == "Cc":
            found[character] = ""
        elif unicodedata.normalize("NFC", character) == character:
            for other in spellings(character)[1:]:
                found[other] = character
    for plain, others in PLAIN.items():
        found |= dict.fromkeys(others, plain)
    del found[" "]
    return found


@cache
def normalizer(marked: bool) -> sentencepiece.SentencePieceNormalizer:
    """The rules as sentencepiece applies them; it may mark blanks with ▁."""
    sentencepiece.set_min_log_level(2)  # it reports what it has compiled
    return sentencepiece.SentencePieceNormalizer(
        norm_map=[*rules().items()],
        remove_extra_whitespaces=True,
        add_dummy_prefix=marked,
        escape_whitespaces=marked,
    )


def normalized(lines: Iterable[str]) -> list[str]:
    """The lines as a tokenizer with these rules reads them."""
    found: list[str] = normalizer(marked=False).normalize([*lines])
    return found


def with_rules(model: bytes) -> bytes:
    """The sentencepiece model, applying the rules in place of its own.

    Its pieces stay. (Of fields that a protobuf has twice, the last counts.)
    """
    made: bytes = normalizer(marked=True).serialized_model_proto()
    return model + made
