"""Strings as no corpus has them: a thousand, the same on every day."""

import random

__all__ = ["odd_strings"]

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
