"""Sides in the other order are said, and nothing is where all is well."""

import pytest
from small_runs import CORPUS, SMALL

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.runs.prepare import prepare
from annotated_transformer.runs.recipes import recipe_of
from annotated_transformer.runs.start import Start

PAIRS = builtin_corpus().train[:400]
TURNED = [(y, x) for x, y in PAIRS]
RECIPE = recipe_of("builtin").with_fields(["vocab_size=300"])


def told(capsys, train, valid, *folder):
    """What is said of an order before a run of these pairs."""
    corpus = Corpus(train[:300], valid[300:], {}, "x", "en", "de", {})
    prepare(RECIPE, corpus, Start(*folder))
    lines = capsys.readouterr().err.split("warning: ")
    return [" ".join(x.split()) for x in lines if "order?" in x]


def test_a_validation_text_in_the_other_order(capsys):
    for train, valid in ((PAIRS, TURNED), (TURNED, PAIRS)):
        (line,) = told(capsys, train, valid)
        assert line.startswith("the sources of the validation text have")


def test_a_training_text_in_the_other_order_than_its_model(capsys):
    (line,) = told(capsys, TURNED, TURNED, "multi30k-en-de")
    assert line.startswith("the targets of the training text have")


@pytest.mark.parametrize("start", [(), ("multi30k-en-de",)])
def test_the_same_order_is_not_doubted(capsys, start):
    assert told(capsys, PAIRS, PAIRS, *start) == []


def test_two_sides_of_the_same_words_are_not_doubted(capsys):
    prepare(SMALL, CORPUS)
    assert "order?" not in capsys.readouterr().err
