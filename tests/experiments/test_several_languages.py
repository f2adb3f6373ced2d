"""Several languages: marks, the language of a text, and the record."""

import pytest

from annotated_transformer.corpora.corpus import Corpus
from experiments import several_languages as experiment
from ledger.records import read_run

CAPTIONS = {
    "en": ["a dog runs", "a man sleeps"],
    "de": ["ein Hund rennt", "ein Mann schläft"],
    "fr": ["un chien court", "un homme dort"],
}


@pytest.fixture
def captions(monkeypatch):
    def multi30k(source, target):
        pairs = [*zip(CAPTIONS[source], CAPTIONS[target], strict=True)]
        tests = {experiment.HELD_OUT: pairs[:1]}
        return Corpus(pairs, pairs[1:], tests, "made", source, target, {})

    monkeypatch.setattr(experiment, "multi30k", multi30k)
    cached = experiment.lines, experiment.words, experiment.corpus
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


def test_a_source_says_which_language_to_write(captions):
    assert experiment.pairs("de-fr", "valid") == [
        ("FR ein Mann schläft", "un homme dort")
    ]
    together = experiment.corpus().train
    assert len(together) == 8
    assert ("DE a dog runs", "ein Hund rennt") in together
    assert not any("FR ein" in source for source, _ in together)


def test_the_language_of_a_text_is_that_of_its_words(captions):
    assert experiment.language_of("a dog sleeps") == "en"
    assert experiment.language_of("ein Hund schläft") == "de"
    assert experiment.language_of("un homme court x") == "fr"


def test_outputs_are_counted_by_language(captions):
    found = experiment.judged(["a dog runs"], "de-fr")
    assert found["languages de-fr"] == [1, 0, 0]
    assert found["bleu de-fr"] < 5


def test_the_record():
    results = read_run("several_languages")["results"]
    assert min(results["people seed=0"].values()) > 0.95
    sizes = {
        found["parameters"]
        for found in results.values()
        if "parameters" in found
    }
    assert len(sizes) == 1
