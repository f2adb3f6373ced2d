"""The judge of grammatical sentences, against sentences judged by hand."""

import pytest
import torch
from torch import nn

from annotated_transformer.model import EncoderDecoder
from experiments import grammatical_by_words
from experiments.grammatical_by_words import (
    classified,
    names,
    numbered,
    runs_of,
    share,
    texts,
    written,
)


@pytest.fixture(scope="module", autouse=True)
def fewer():
    """A judge that has read fewer sentences, and a shorter text."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"judge": 30_000, "sentences": 300}.items():
            patch.setitem(grammatical_by_words.RECIPE, name, value)
        yield
    for function in (texts, names, grammatical_by_words.judge):
        function.cache_clear()


def test_classes_have_no_case_and_no_adjectives_before_nouns():
    assert classified(["The", "big", "old", "dog", "sleeps", "."]) == (
        *("the", "noun", "it does", "."),
    )
    assert classified(["Dogs", "were", "big", "."])[2] == "adjective"
    kinds = classified(["Two", "sheep", "painted", "the", "rope"])
    assert kinds == ("several", "noun or nouns", kinds[2], "the", "noun")
    assert kinds[2] == "did or done"


def test_runs_against_a_plain_walk():
    text = ["a", "b", "c", "d", "e", "f", "g", "h"]
    marked = ["<s>", *text, "</s>"]
    walked = [tuple(marked[i : i + 6]) for i in range(5)]
    assert runs_of(text) == [
        tuple("one" if word == "a" else word for word in run) for run in walked
    ]
    assert runs_of(["b"]) == [("<s>", "b", "</s>")]


@pytest.mark.parametrize(
    ("sentence", "passes"),
    [
        ("The dog ate the soup because it was hungry .", True),
        ("The old dog ate the soup because it was hungry .", True),
        ("The dogs ate a soup because it was hungry .", True),
        ("The woman that the boy found the old coin .", False),
        ("The dog eat the soup because it was hungry .", False),
        ("The dog ate soup the because it was hungry .", False),
        ("The dog ate the soup because", False),
    ],
)
def test_sentences_judged_by_hand(sentence, passes):
    assert share([tuple(sentence.split())]) == passes


def test_the_grammar_passes_and_its_words_in_another_order_do_not():
    fresh = texts()[2][:300]
    assert share(fresh) > 0.7
    assert share([each[::-1] for each in fresh]) == 0


class Certain(EncoderDecoder):
    """A model whose next token follows from the last alone."""

    max_positions = 0

    def __init__(self, follows):
        nn.Module.__init__(self)  # it has no boxes
        self.follows = follows

    def read(self, source):
        return None

    def decode(self, tokens, memory, state):
        return tokens, (0, [])

    def logits(self, tokens):
        after = torch.tensor([self.follows.get(i, 5) for i in tokens.tolist()])
        return 100.0 * nn.functional.one_hot(after, len(names()))


def test_what_is_written_ends_at_the_mark(monkeypatch):
    monkeypatch.setitem(grammatical_by_words.RECIPE, "written", 3)
    sentence = texts()[0][0][:2]
    first, second, end = numbered([sentence])
    ends = Certain({end: first, first: second, second: end})
    assert written(ends) == 3 * [sentence]
    assert written(Certain({end: first})) == 3 * [("...",)]
    assert share([("...",)]) == 0
