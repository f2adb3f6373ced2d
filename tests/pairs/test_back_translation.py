"""Written sides of pairs: those of a text alone, whatever its company."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer import (
    Translator,
    UserError,
    back_translate,
)
from annotated_transformer.commands import backtranslate as the_command
from annotated_transformer.corpora.parallel_text import read_parallel
from annotated_transformer.data import train_tokenizer
from annotated_transformer.model import ModelConfig, transformer

LETTERS = "abcdefgh"
TEXTS = [LETTERS[n % 5 :][: 1 + n % 7] * (1 + n % 3) for n in range(8)]
SIZES = ModelConfig(vocab_size=30, layers=1, d_model=16, d_ff=16, heads=2)


@pytest.fixture(scope="module")
def translator():
    """One of no use, in float64: no batch changes what it says."""
    pieces = train_tokenizer(TEXTS, 13, "char")
    torch.manual_seed(3)
    model = transformer(replace(SIZES, vocab_size=len(pieces)))
    for weight in model.parameters():
        weight.data *= 2
    return Translator(model.double(), pieces, beam=3, alpha=0.7, no_repeat=2)


def test_a_search_says_what_it_says_of_each_text_alone(translator):
    alone = [(translator(text), text) for text in TEXTS]
    expected = [pair for pair in alone if pair[0].strip()]
    assert len(expected) > 4
    for budget in (1, 4096):
        made = back_translate(translator, iter(TEXTS), batch_tokens=budget)
        assert made == expected
    ahead = back_translate(translator, TEXTS, forward=True, tag="<F>")
    assert ahead == [(f"<F> {text}", made) for made, text in expected]
    marked = back_translate(translator, TEXTS, tag="<BT>")
    assert marked == [(f"<BT> {made}", text) for made, text in expected]


def test_what_cannot_be_made(translator):
    with pytest.raises(UserError, match="text 1"):
        back_translate(translator, ["a", 1])
    with pytest.raises(ValueError, match="batch_tokens=0"):
        back_translate(translator, TEXTS, batch_tokens=0)
    assert back_translate(translator, ["", " "]) == []


# The command


@pytest.mark.parametrize(
    ("model", "texts", "options"),
    [
        ("multi30k-de-en", ["Ein Hund\trennt.", "Ein Kind."], ["--beam=2"]),
        ("multi30k-en-de", ["A dog runs.", "Two women."], ["--beam=1"]),
    ],
)
def test_the_command_makes_what_train_reads(
    command, tmp_path, monkeypatch, model, texts, options
):
    monkeypatch.setattr(the_command, "BLOCK", 2)
    path, output = tmp_path / "text", tmp_path / "made.tsv"
    path.write_text("".join(f"{text}\n" for text in [*texts, ""]))
    forward = model == "multi30k-en-de"
    side = "--forward" if forward else "--tag=<BT>"
    words = ("backtranslate", model, path, "--output", output, side)
    ended = command(*words, *options)
    assert ended.status == 0 and ended.out == f"{output}: 2 pairs\n"
    assert "2 of 3 lines" in ended.err
    assert "left out 1 lines with a blank side" in ended.err
    search = {"beam": 1 if forward else 2}
    made = Translator.load(model)(texts, **search)
    texts = [text.replace("\t", " ") for text in texts]
    if forward:
        expected = [*zip(texts, made, strict=True)]
    else:
        marked = [f"<BT> {text}" for text in made]
        expected = [*zip(marked, texts, strict=True)]
    assert read_parallel([output]) == expected
    again = command(*words, *options)
    assert again.status == 1 and "exists already" in again.err
