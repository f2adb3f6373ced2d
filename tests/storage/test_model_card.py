"""The model card: what a model is, comes from and may be used for."""

from dataclasses import replace

from histories import HISTORY
from tiny_models import TINY

from annotated_transformer.data import train_tokenizer
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.history import (
    Data,
    Origin,
    Result,
    Search,
)
from annotated_transformer.storage.model_card import MOST, model_card

CAPTIONS = Data("multi30k", "en", "de", 29_000)


LETTERS = train_tokenizer(["abc"], 9, "char")


def card_of(tokenizer=LETTERS, **changes):
    model = build(TINY["transformer"])
    return model_card(model, tokenizer, replace(HISTORY, **changes), {})


def test_the_card_has_the_letters_of_a_model_that_reads_letters():
    """All of them, and no sign in them is read as Markdown or by a screen."""
    lines = ["|x`\x1b é", "<b>&_* <b>"]
    pieces = train_tokenizer(lines, 99, "char", False, running=True)
    card = card_of(pieces)
    told = "knows 13 of them, the blank and the end of a line included:"
    assert f"{told}\n\n    &*<>_`bx|é\n\n" in card.replace("\\x1b", "")
    subwords = train_tokenizer(lines, 18, "bpe", False, running=True)
    assert "letter by letter" not in card_of(subwords)
    many = "".join(map(chr, range(0x4E00, 0x4E00 + MOST + 1)))
    card = card_of(train_tokenizer([many], 999, "char"))
    assert "knows 502 of them." in card and many[0] not in card


def test_the_card_has_command_licence_and_size():
    card = card_of(data=CAPTIONS, result=Result(averaged=8))
    assert "A model of 0.00 million parameters, made by the builder" in card
    assert "| command | `annotated-transformer train here` |" in card
    assert "29,000 sentence pairs of multi30k" in card
    assert "Flickr30k" in card and "| averaged | 8 |" in card
    for absent in ("| start |", "| beam |", "| resumed |", "None"):
        assert absent not in card


def test_the_card_names_the_trainings_before():
    """Whether a command or a program has made them, and each licence once."""
    zero = Origin("train zero", CAPTIONS)
    card = card_of(command="", start=Origin("", start=zero))
    starts = "| start | `train zero` |\n| start | none, called from Python |"
    assert f"{starts}\n| command | none, called from Python |" in card
    assert "``" not in card
    assert card.count("Flickr30k") == 1
    assert "licence of text is for its owner" in card
    assert "that it began with was trained on is not known" in card


def test_the_card_has_scores_and_search():
    card = card_of(
        result=Result(updates=7, scores={"test, bleu": "38.13"}),
        search=Search(beam=3, no_repeat=2),
    )
    for row in (
        "| updates | 7 |\n| test, bleu | 38.13 |",
        "| beam | 3 |\n| alpha | 0.6 |\n| no_repeat | 2 |",
    ):
        assert row in card
