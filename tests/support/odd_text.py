"""Text as no corpus has it, the same on every day."""

import random
from collections.abc import Callable, Iterator, Sequence

from annotated_transformer.system.text_lines import is_blank
from annotated_transformer.text.casing import in_title_case

__all__ = ["odd_lines", "odd_strings", "visible"]

SIGNS = [
    *"abc deß▁ñé漢字🙂⁇\t\n .,-ABZ'\"<s>12",
    *"\xa0\xad\u2009\u200b\u200c\u200d\u2010\u2011\u2028\u202f\u2060\u3000",
    *"‘’‚“”„–—\x01\x1b\x7f\x85\ufeff\ufffd",
    *("\u0300\u0301\u0302\u0308\u030a\u0323\u0327", "e\u0301", "a\u0308"),
    *("  ", "ệ", "e\u0323\u0302", "\u1eb9\u0302", "가", "\u1100\u1161"),
    *("The", " dog", " Ein", " Hund", "\U0001d15e", "\u0958", "\u212b"),
]


def odd_strings(number: int = 1000) -> list[str]:
    """Strings of blanks, quotes, accents, unknown and unseen characters."""
    rng = random.Random(0)
    return [
        "".join(rng.choices(SIGNS, k=rng.randrange(25))) for _ in range(number)
    ]


WAYS: list[Callable[[str], str]] = [str, str.upper, str.lower, in_title_case]
BLANKS = [" "] * 8 + ["  ", "\xa0", "\t", "\u3000", " \u200b", "\x1c", ""]
ADDED = [
    *"🙂☀猫²…ẞ.;-('\"\u200d\u202e\ufe0f\ufeff",
    *("👩🏽\u200d🚒", "Łódź", "привет", "नमस्ते", "NASA", "USA.", "McRae", "’s"),
    *("Dr.", "e.g.", "No. 5", "p.m.", "etc.", "Ph.D.", "z. B.", "M.", "2."),
    *("...", "?!", "! ?", "1,5", ").", "“Stop!”", "„Wer?“", "« Où ? »"),
    *("(", ")", "[", "]", "*", "- ", "# ", "1. ", "3", "x@y.org", "www.a.b"),
    *("http://a.b/c", "12:30", '"Stop"', "–"),
]


def odd_lines(sentences: Sequence[str], number: int) -> Iterator[str]:
    """One to three sentences in four ways of typing, with odd words."""
    rng = random.Random(0)
    for _ in range(number):
        some = rng.choices(sentences, k=rng.choice([1, 1, 2, 3]))
        words = [w for x in some for w in rng.choice(WAYS)(x).split()]
        for _ in range(rng.choice([0, 1, 1, 2, 4])):
            at, added = rng.randrange(len(words)), rng.choice(ADDED)
            word, cut = words[at], rng.randrange(len(words[at]) + 1)
            words[at] = rng.choice(
                [
                    *(added, word.upper(), f"{word} {added}", word + added),
                    *(added + word, f"{word[:cut]}{added}{word[cut:]}"),
                ]
            )
        yield rng.choice(BLANKS).join(words)


def visible(text: str) -> str:
    """What can be seen of a text."""
    return "".join(x for x in text if not is_blank(x))
