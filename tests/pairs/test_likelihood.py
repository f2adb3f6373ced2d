"""Scores of given pairs, against a plain loop and the search itself."""

import math
from pathlib import Path

import pytest
import torch
from histories import HISTORY
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import make_translator

from annotated_transformer import Translator
from annotated_transformer.data import train_tokenizer
from annotated_transformer.embedding import BOS, EOS
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.storage.model_folder import save_model

PAIRS = [
    ("a dog runs on the beach", "ein Hund rennt am Strand"),
    ("two dogs run", "zwei Hunde rennen"),
    ("two dogs run", ""),  # the probability of saying nothing
    ("", "zwei Hunde"),
    ("two dogs run", "  zwei 語 \u2028 \0"),
    ("a", "ein Hund rennt am Strand " * 5),
    ("two dogs run", "zwei Hunde rennen"),
]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([side for pair in PAIRS[:2] for side in pair], 40)


@pytest.fixture(scope="module")
def translator(tokenizer):
    return make_translator(tokenizer)


def plainly(translator, source, target):
    """One token after the other, each from what is before it."""
    encode, total = translator.tokenizer.encode, 0.0
    labels, memory = encode(target), torch.tensor([encode(source)])
    assert labels[-1] == EOS
    for i, label in enumerate(labels):
        written = torch.tensor([[BOS, *labels[:i]]])
        with torch.no_grad():
            logits = translator.model(memory, written)[0, -1]
        total += torch.log_softmax(logits, -1)[label].item()
    return total, len(labels)


@pytest.mark.parametrize("alpha", [None, 0.0, 1.5])
def test_scores_are_those_of_a_plain_loop(translator, alpha):
    found = score_pairs(translator, PAIRS, alpha)
    power = 0.6 if alpha is None else alpha
    for (source, target), one in zip(PAIRS, found, strict=True):
        nats, length = plainly(translator, source, target)
        assert one.text == target
        assert one.log_probability == pytest.approx(nats, rel=1e-6)
        score = nats / ((5 + length) / 6) ** power
        assert one.score == pytest.approx(score, rel=1e-6)


TEXTS = st.lists(
    st.sampled_from([*"adg ", "dogs", "ein", "Hund", "語"]), max_size=8
).map("".join)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=8), st.integers(1, 80))
@settings(max_examples=15)
def test_batches_change_nothing(translator, pairs, batch_tokens):
    together = score_pairs(translator, iter(pairs), batch_tokens=batch_tokens)
    assert len(together) == len(pairs)
    for pair, one in zip(pairs, together, strict=True):
        (alone,) = score_pairs(translator, [pair])
        assert one.text == pair[1]
        assert one.score == pytest.approx(alone.score, abs=1e-5)


def test_what_cannot_be_scored(translator):
    for alpha in (-1.0, math.nan):
        with pytest.raises(ValueError, match="alpha"):
            score_pairs(translator, PAIRS, alpha)
    with pytest.raises(ValueError, match="batch_tokens=0"):
        score_pairs(translator, PAIRS, batch_tokens=0)
    assert score_pairs(translator, []) == []


# The command


@pytest.fixture
def files(tmp_path):
    """Write the two sides of pairs; give their paths."""

    def write(pairs):
        paths = tmp_path / "source.txt", tmp_path / "target.txt"
        for side, path in enumerate(paths):
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs))
        return paths

    return write


def test_a_line_for_each_pair_in_order(command, trained, files):
    pairs = [
        ("abc", "abc"),
        ("abc", ""),
        ("", ""),
        ("", "a"),
        ("abcdefgh", "hgfedcba"),
        ("a\u2028b", "\x85c"),
    ]
    expected = score_pairs(Translator.load(trained), pairs, 0.0)
    penalised = score_pairs(Translator.load(trained), pairs, 1.5)
    for options, wanted in (
        ((), [one.log_probability for one in expected]),
        (("--alpha=1.5",), [one.score for one in penalised]),
    ):
        ended = command("score", trained, *files(pairs), *options)
        assert ended.status == 0 and ended.err == ""
        found = [float(line) for line in ended.out.splitlines()]
        assert found == pytest.approx(wanted, abs=1e-4)


def test_the_line_that_is_too_long(command, tokenizer, files, tmp_path):
    learned = {"positions": "learned", "max_length": 12}
    translator = make_translator(tokenizer, **learned)
    model = tmp_path / "model"
    save_model(model, translator.model.float(), tokenizer, HISTORY)
    for side in (0, 1):
        pair = ["a dog", "ein"]
        pair[side] = "ghg " * 20
        paths = files([("a dog", "ein"), pair])
        ended = command("score", model, *paths)
        assert ended.status == 1 and ended.out == ""
        assert f"{paths[side]}, line 2: " in ended.err
        assert "only 12 positions" in ended.err


def test_the_page_shows_what_it_tells(command, files):
    page = Path(__file__).parents[2] / "book" / "toolkit_train.md"
    shown = page.read_text("utf-8").partition("$ cat source.txt\n")[2]
    shown, _, told = shown.partition("$ annotated-transformer ")
    sources, targets = shown.split("$ cat target.txt\n")
    words, *numbers = told.partition("```")[0].splitlines()
    name, model = words.split()[:2]
    pairs = zip(sources.splitlines(), targets.splitlines(), strict=True)
    ended = command(name, model, *files(list(pairs)))
    found = [float(line) for line in ended.out.splitlines()]
    assert found == pytest.approx([float(x) for x in numbers], abs=1e-3)
