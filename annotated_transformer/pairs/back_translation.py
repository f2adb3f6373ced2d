"""Back-translation: a model writes the missing side of monolingual text.

Sources written for real targets are pairs to train on (Sennrich et al.,
2016), and may be marked by a tag (Caswell et al., 2019).
"""

from collections.abc import Iterable

from ..data import Pair
from ..errors import check_texts
from ..system.text_lines import is_blank
from ..translation import Translator


def back_translate(
    translator: Translator,
    texts: Iterable[str],
    *,
    tag: str = "",
    forward: bool = False,
    batch_tokens: int = 4096,
) -> list[Pair]:
    """Turn monolingual texts into pairs: the translator writes the sources.

    It searches with its own settings, and splits texts into sentences if it
    does so elsewhere. With forward the texts are the sources, and the targets
    are written. A tag is put before each source, as a word of its own. Pairs
    with a blank side are left out. Batches have texts of like length and at
    most batch_tokens source tokens, padding included and counted once for each
    place of the beam. UserError for what is not text, or a batch that cannot
    be.
    """
    texts = check_texts(texts)
    written = translator(texts, batch_tokens=batch_tokens)
    return made_pairs(texts, written, tag, forward)


def made_pairs(
    texts: list[str], written: list[str], tag: str, forward: bool
) -> list[Pair]:
    """The pairs of texts and of what was written for them."""
    sides = (texts, written) if forward else (written, texts)
    mark = f"{tag} " if tag else ""
    return [
        (mark + source, target)
        for source, target in zip(*sides, strict=True)
        if not (is_blank(source) or is_blank(target))
    ]
