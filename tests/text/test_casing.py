"""Capitals and small letters: read as a sentence, and set again."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_sentences import OWN

from annotated_transformer.data import train_tokenizer
from annotated_transformer.text.casing import (
    as_sentence,
    in_capitals,
    in_title_case,
)
from annotated_transformer.translation import Translator

WAYS = [str.upper, in_title_case, str.lower]


@cache
def translator() -> Translator:
    return Translator.load("multi30k-en-de")


@pytest.mark.parametrize("way", WAYS)
def test_a_sentence_comes_back(way):
    """But for names and for words that the tokenizer knows in both ways."""
    tokenizer = translator().tokenizer
    for side in (0, 1):
        sentences = [pair[side] for pair in OWN]
        words = " ".join(sentences).split()
        back = [as_sentence(way(x), tokenizer)[0] for x in sentences]
        same = map(str.__eq__, " ".join(back).split(), words)
        assert sum(same) > (0.98, 0.83)[side] * len(words)
        assert [as_sentence(x, tokenizer)[0] for x in sentences] == sentences


def test_a_translation_is_set_like_its_source():
    sentences = [source for source, _ in OWN[:30]]
    usual = translator()(sentences)
    for way, setting in zip(
        WAYS, (in_capitals, in_title_case, str), strict=True
    ):
        found = translator()([way(text) for text in sentences])
        same = sum(map(str.__eq__, found, map(setting, usual)))
        assert same >= 27
    (best,) = translator().n_best(["TWO MEN ARE TALKING."], 1)[0]
    assert best.text == best.text.upper() != best.text.lower()


@pytest.mark.parametrize(
    "text",
    [
        *("TV", "NASA", "A man in a NASA shirt.", "Two men in New York."),
        *("New York City", "Zwei Männer", "Ein Hund", "3,500", "", " ", "?!"),
        *("two men in New York", "iPhone", "x", "McDonald's", "猫が眠る"),
    ],
)
def test_capitals_that_mean_something_stay(text):
    sentence, setting = as_sentence(text, translator().tokenizer)
    assert sentence == text and setting("Straße, aB") == "Straße, aB"


def test_sharp_s_is_found_and_kept():
    tokenizer = translator().tokenizer
    sentence, setting = as_sentence(
        "DREI MÄNNER AUF EINER STRASSE.", tokenizer
    )
    assert sentence == "Drei Männer auf einer Straße."
    assert setting(sentence) == "DREI MÄNNER AUF EINER STRAẞE."
    again, _ = as_sentence(setting(sentence), tokenizer)
    assert again == sentence


@given(st.text(st.sampled_from("abAB "), max_size=9))
def test_letters_that_are_no_sentence_stay(text):
    tokenizer = train_tokenizer(["ab ba", "AB Ba"], 10, "char")
    assert as_sentence(text, tokenizer)[0] == text


@given(st.text(max_size=30))
def test_the_words_stay_in_their_places(text):
    sentence, setting = as_sentence(text, translator().tokenizer)
    for other in (sentence, setting(sentence)):
        assert len(other.split()) == len(text.split())
    if text.isascii():
        assert sentence.lower() == text.lower()
