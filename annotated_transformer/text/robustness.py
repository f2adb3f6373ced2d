"""How well a model translates text that is typed in other ways."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from annotated_transformer.text.noise import WAYS, Way
from annotated_transformer.translation import Translator, corpus_scores


@dataclass(frozen=True)
class AsTyped:
    """Scores of a text typed in one way: means, where it was drawn often."""

    bleu: float
    bleu_lowercase: float
    lines: float  # that are typed otherwise
    outputs: float  # that differ from those for the text as it is


def scores_as_typed(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    language: str = "en",
) -> dict[str, AsTyped]:
    """The scores of the sources as they are, and of each way to type them.

    They are not split into sentences, as nothing is that is scored.
    """
    ways: dict[str, tuple[Way, int]] = {
        "as it is": (lambda text, _: text, 1),
        **WAYS,
    }
    usual = translator(sources := [*sources], split="")
    found = {}
    for name, (way, times) in ways.items():
        drawn = []
        for number in range(times):
            rng = random.Random(f"{name} {number}")
            typed = [way(source, rng) for source in sources]
            outputs = (
                usual if typed == sources else translator(typed, split="")
            )
            scores = corpus_scores(outputs, references, language)
            lines = sum(map(str.__ne__, typed, sources))
            others = sum(map(str.__ne__, outputs, usual))
            drawn.append((scores.bleu, scores.bleu_lowercase, lines, others))
        found[name] = AsTyped(*map(fmean, zip(*drawn, strict=True)))
    return found
