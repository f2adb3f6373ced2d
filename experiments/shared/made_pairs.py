"""More pairs of the same text, one side of each written by a model."""

import random
from collections.abc import Iterable

from sacrebleu.metrics import BLEU

from annotated_transformer.data import Pair
from annotated_transformer.translation import Translation, Translator


def nearest(
    found: Iterable[Translation], reference: str, number: int
) -> list[str]:
    """The translations most like the reference, by the BLEU of a sentence.

    Each text comes once, and the reference itself is left out.
    """
    known, new = {reference.strip().lower(), ""}, []
    for text in (translation.text.strip() for translation in found):
        if text.lower() not in known:
            known.add(text.lower())
            new.append(text)
    bleu = BLEU(effective_order=True, lowercase=True)
    scores = {t: bleu.sentence_score(t, [reference]).score for t in new}
    return sorted(new, key=scores.__getitem__, reverse=True)[:number]


def other_targets(
    translator: Translator, pairs: list[Pair], number: int
) -> list[Pair]:
    """Each pair's source with new targets that the translator writes.

    Of all translations in its beam, those nearest to the pair's target are
    taken, at most `number` of them.
    """
    sources = [source for source, _ in pairs]
    found = translator.n_best(sources, translator.beam)
    return [
        (source, text)
        for (source, target), best in zip(pairs, found, strict=True)
        for text in nearest(best, target, number)
    ]


def swapped(pairs: list[Pair]) -> list[Pair]:
    """The pairs of the other direction: target, source."""
    return [(target, source) for source, target in pairs]


def dealt(pairs: list[Pair]) -> list[Pair]:
    """The sources, each with the target of another pair."""
    sources, targets = zip(*pairs, strict=True)
    others = random.Random(0).sample(targets, len(targets))
    return list(zip(sources, others, strict=True))


def extra_pairs(
    forward: Translator,
    backward: Translator,
    pairs: list[Pair],
    number: int = 3,
) -> list[Pair]:
    """Pairs in which a model wrote one side: up to 2 * number for each pair.

    The backward model writes new sources, which is back-translation, and the
    forward model new targets, which is distillation: together, data
    diversification (Nguyen et al., 2020). See other_targets.
    """
    sources = other_targets(backward, swapped(pairs), number)
    return swapped(sources) + other_targets(forward, pairs, number)
