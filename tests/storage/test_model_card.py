"""The model card: what a model is, comes from and may be used for."""

from dataclasses import replace

from histories import HISTORY

from annotated_transformer.storage.history import (
    Data,
    Result,
    Search,
    Start,
)
from annotated_transformer.storage.model_card import model_card

SIZES = {"vocab_size": 9, "layers": 2, "d_k": None}
CAPTIONS = Data("multi30k", "en", "de", 29_000)


def card_of(history):
    return model_card(history, "transformer", SIZES, 812_345, {})


def test_the_card_has_command_licence_and_size():
    history = replace(HISTORY, data=CAPTIONS, result=Result(averaged=8))
    card = card_of(history)
    assert "A model of 0.81 million parameters, made by the builder" in card
    assert "`transformer`" in card and "vocab_size 9, layers 2." in card
    assert "d_k" not in card  # which is not set
    assert "| command | `annotated-transformer train here` |" in card
    assert "29,000 sentence pairs of multi30k" in card
    assert "Flickr30k" in card and "| averaged | 8 |" in card
    assert "| start |" not in card and "| beam |" not in card


def test_the_card_of_a_training_that_python_has_called():
    history = replace(HISTORY, command="", start=Start("", CAPTIONS))
    card = card_of(history)
    assert "| start | none, called from Python |" in card
    assert "| command | none, called from Python |" in card
    assert "``" not in card


def test_the_card_names_the_trainings_before():
    zero = Start("train zero", CAPTIONS)
    one = Start("train one", start=zero)
    history = replace(HISTORY, start=one)
    card = card_of(history)
    starts = "| start | `train zero` |\n| start | `train one` |\n| command |"
    assert starts in card
    assert card.count("Flickr30k") == 1
    assert "licence of text is for its owner" in card
    assert "that it began with was trained on is not known" in card


def test_the_card_has_scores_and_search():
    history = replace(
        HISTORY,
        result=Result(updates=7, scores={"test, bleu": "38.13"}),
        search=Search(beam=3, no_repeat=2),
    )
    card = card_of(history)
    for row in (
        "| updates | 7 |\n| test, bleu | 38.13 |",
        "| beam | 3 |\n| alpha | 0.6 |\n| no_repeat | 2 |",
    ):
        assert row in card
