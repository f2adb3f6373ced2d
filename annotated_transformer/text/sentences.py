"""Lines of text as sentences, for models that learned single ones."""

import re
from collections.abc import Iterable

from ..data import well_formed

# None ends with a number, be it of a list or the German "2." (second), nor
# with a single letter, as in the French "M. Dupont".
ABBREVIATED = re.compile(r"(?<!\S)(\d{1,2}|\w)\.$")


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text in that language; [text] if it is only one.

    With "" for the language, and of a blank text, it is [text] as well.
    """
    if not language or not text.strip():
        return [text]
    # here, because only some models need it
    from sentencex import segment

    # plain blanks: it stumbles over a no-break one before a full stop
    found: list[str] = []
    for part in segment(language, " ".join(well_formed(text).split())):
        if found and ABBREVIATED.search(found[-1].strip()):
            part = found.pop() + part
        found.append(part)
    return [*map(str.strip, found)] if len(found) > 1 else [text]


def single_sentences(texts: Iterable[str], language: str) -> float:
    """The share of texts that are one sentence each; 0 if there are none."""
    counts = [len(sentences(text, language)) for text in texts]
    return counts.count(1) / max(1, len(counts))
