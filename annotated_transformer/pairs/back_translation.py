"""Back-translation: a model writes the missing side of monolingual text.

Sources written for real targets are pairs to train on (Sennrich et al.,
2016). They may be searched for or drawn (Edunov et al., 2018), and marked by
a tag (Caswell et al., 2019).
"""

from collections.abc import Iterable
from itertools import islice

from annotated_transformer.data import Pair, bucket, pad
from annotated_transformer.errors import check_budget, check_texts
from annotated_transformer.pairs.sampling import Sampling, sample_decode
from annotated_transformer.text.sentences import sentences
from annotated_transformer.translation import Translator

__all__ = ["back_translate"]


def back_translate(
    translator: Translator,
    texts: Iterable[str],
    sampling: Sampling | None = None,
    *,
    tag: str = "",
    forward: bool = False,
    batch_tokens: int = 4096,
    first: int = 0,
) -> list[Pair]:
    """Turn monolingual texts into pairs: the translator writes the sources.

    It searches with its own settings, or draws if a sampling is given; either
    way it splits texts into sentences, as the translator does. With
    forward the texts are the sources, and the targets are written. A tag is
    put before each source, as a word of its own. Pairs with a blank side are
    left out. Batches have texts of like length and at most batch_tokens
    source tokens, padding included and counted once for each place of the
    beam. Of texts that come in parts, first is the place of the first one: so
    the same is drawn as for all at once. UserError for what is not text, or a
    batch that cannot be.
    """
    texts = check_texts(texts)
    if sampling is None:
        written = translator(texts, batch_tokens=batch_tokens)
    else:
        written = draw(translator, texts, sampling, batch_tokens, first)
    sides = (texts, written) if forward else (written, texts)
    mark = f"{tag} " if tag else ""
    return [
        (mark + source, target)
        for source, target in zip(*sides, strict=True)
        if source.strip() and target.strip()
    ]


def draw(
    translator: Translator,
    texts: list[str],
    sampling: Sampling,
    batch_tokens: int,
    first: int,
) -> list[str]:
    """What the model draws for each text."""
    check_budget(batch_tokens)
    parts = [sentences(text, translator.split) for text in texts]
    of_text = [first + i for i, some in enumerate(parts) for _ in some]
    sources = [translator.tokenizer.encode(x) for some in parts for x in some]
    written = [""] * len(sources)
    for places in bucket([(len(ids),) for ids in sources], batch_tokens):
        ids = pad(sources[i] for i in places).to(translator.device)
        numbers = [of_text[i] for i in places]
        found = sample_decode(translator.model, ids, sampling, numbers)
        for i, hypothesis in zip(places, found, strict=True):
            written[i] = translator.tokenizer.decode(hypothesis.tokens)
    each = iter(written)
    return [" ".join(islice(each, len(some))) for some in parts]
