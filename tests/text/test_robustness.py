"""Scores of text typed in other ways, against scores computed by hand."""

import random
from statistics import mean

import pytest

from annotated_transformer.text.noise import WAYS, scores_as_typed
from annotated_transformer.translation import Translator, corpus_scores

SOURCES = [
    "The dog ate the soup because it was hungry.",
    "The cat ate the bread because it was sweet.",
    "The dog ate the soup because it was sweet.",
]
REFERENCES = [
    "Der Hund fraß die Suppe, weil er hungrig war.",
    "Die Katze fraß das Brot, weil es süß war.",
    "Der Hund fraß die Suppe, weil sie süß war.",
]


@pytest.fixture(scope="module")
def translator():
    translator = Translator.load("pronouns")
    translator.beam = 1
    return translator


def test_each_way_has_the_scores_of_its_draws(translator):
    found = scores_as_typed(translator, SOURCES, REFERENCES, "de")
    usual = translator(SOURCES)
    assert [*found] == ["as it is", *WAYS]
    for name, (way, times) in WAYS.items():
        scores, others = [], []
        for number in range(times):
            rng = random.Random(f"{name} {number}")
            outputs = translator([way(text, rng) for text in SOURCES])
            scores.append(corpus_scores(outputs, REFERENCES, "de").bleu)
            others.append(sum(map(str.__ne__, outputs, usual)))
        assert found[name].bleu == pytest.approx(mean(scores))
        assert found[name].outputs == pytest.approx(mean(others))
    assert WAYS["typing errors"][1] == 3
    assert (found["as it is"].lines, found["odd blanks"].lines) == (0, 3)
