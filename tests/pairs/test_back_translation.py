"""Written sides of pairs: a text at a time, in batches, killed and resumed."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from inspect import unwrap
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer import (
    Sampling,
    Translator,
    UserError,
    back_translate,
)
from annotated_transformer.corpora.parallel_text import read_tsv
from annotated_transformer.data import train_tokenizer
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.pairs import back_translation
from annotated_transformer.pairs.back_translation import (
    write_back_translations,
)

LETTERS = "abcdefgh"
TEXTS = [LETTERS[n % 5 :][: 1 + n % 7] * (1 + n % 3) for n in range(40)]
SIZES = ModelConfig(vocab_size=30, layers=1, d_model=16, d_ff=16, heads=2)
DRAWN = Sampling(seed=2)


@pytest.fixture(scope="module")
def translator():
    """One of no use, in float64: no batch changes what it says."""
    pieces = train_tokenizer(TEXTS, 13, "char")
    torch.manual_seed(3)
    model = transformer(replace(SIZES, vocab_size=len(pieces)))
    for weight in model.parameters():
        weight.data *= 2
    return Translator(model.double(), pieces, beam=3, alpha=0.7, no_repeat=2)


@pytest.fixture(scope="module")
def expected(translator):
    """What a search finds for each text by itself, and what is drawn."""
    alone = ((translator(text), text) for text in TEXTS)
    searched = [pair for pair in alone if pair[0].strip()]
    assert len(searched) > 20
    return {None: searched, DRAWN: back_translate(translator, TEXTS, DRAWN)}


def test_a_search_says_what_it_says_of_each_text_alone(translator, expected):
    for budget in (1, 4096):
        made = back_translate(translator, iter(TEXTS), batch_tokens=budget)
        assert made == expected[None]
    ahead = back_translate(translator, TEXTS, forward=True, tag="<F>")
    assert ahead == [(f"<F> {text}", made) for made, text in expected[None]]
    marked = back_translate(translator, TEXTS, tag="<BT>")
    assert marked == [(f"<BT> {made}", text) for made, text in expected[None]]


def test_draws_do_not_depend_on_the_batch(translator, expected):
    made = back_translate(translator, TEXTS, DRAWN, batch_tokens=20)
    assert made == expected[DRAWN]
    assert back_translate(translator, TEXTS, Sampling(seed=1)) != made
    best = back_translate(translator, TEXTS, Sampling(top_k=1))
    plain = Translator(translator.model, translator.tokenizer, beam=1)
    assert best == back_translate(plain, TEXTS)


def test_what_cannot_be_made(translator):
    with pytest.raises(UserError, match="text 1"):
        unwrap(back_translate)(translator, ["a", 1])
    for sampling in (None, DRAWN):
        with pytest.raises(ValueError, match="batch_tokens=0"):
            back_translate(translator, TEXTS, sampling, batch_tokens=0)
        assert back_translate(translator, ["", " "], sampling) == []


def test_pairs_with_a_blank_side_are_left_out_and_told(
    translator, tmp_path, capsys, monkeypatch
):
    decode = translator.tokenizer.decode
    monkeypatch.setattr(
        translator.tokenizer,
        "decode",
        lambda ids: "" if len(ids) % 3 else decode(ids),
    )
    output = tmp_path / "made.tsv"
    number = write_back_translations(output, translator, TEXTS, tag="<BT>")
    pairs = read_tsv(output)
    assert 0 < number == len(pairs) < 40
    assert pairs == back_translate(translator, TEXTS, tag="<BT>")
    told = capsys.readouterr().err
    assert f"left out {40 - number} lines with a blank side" in told


def told(translator, texts, sampling, batch_tokens, first):
    """In the place of a model: the text and its place, or nothing at all."""
    return [
        f"{text} {i}" if i % 5 else "" for i, text in enumerate(texts, first)
    ]


@given(kill=st.integers(0, 5), kept=st.floats(0, 1))
@settings(max_examples=50, deadline=None)
def test_killed_at_any_instant_it_resumes_to_the_same(
    kill, kept, tmp_path_factory
):
    """Killed in a block, or while it writes; then any part of it is there."""
    output = tmp_path_factory.mktemp("made") / "made.tsv"
    part = output.with_name("made.tsv.part")
    model = mock.Mock(Translator, beam=1, alpha=0.0, no_repeat=0)
    blocks = [
        told(None, TEXTS[i : i + 7], None, 0, i) for i in range(0, 40, 7)
    ]
    killed = mock.Mock(side_effect=[*blocks[:kill], KeyboardInterrupt])
    with (
        mock.patch.multiple(back_translation, BLOCK=7, write=killed),
        pytest.raises(KeyboardInterrupt),
    ):
        write_back_translations(output, model, TEXTS)
    assert not output.exists()
    data = part.read_bytes()
    part.write_bytes(data := data[: int(kept * len(data))])
    again = mock.Mock(side_effect=told)
    with mock.patch.multiple(back_translation, BLOCK=7, write=again):
        write_back_translations(output, model, TEXTS)
    first = [call.args[-1] for call in again.call_args_list]
    whole = max(0, data.count(b"\n") - 1) // 7
    assert first == [*range(7 * whole, 40, 7)]  # nothing is made twice
    expected = [(f"{x} {i}", x) for i, x in enumerate(TEXTS) if i % 5]
    assert read_tsv(output) == expected
    assert {*output.parent.iterdir()} == {output}


def test_it_goes_on_only_with_what_began_it(translator, expected, tmp_path):
    output, part = tmp_path / "made.tsv", tmp_path / "made.tsv.part"

    def write(texts=TEXTS, sampling=DRAWN, **options):
        options = {"model": "m"} | options
        write_back_translations(output, translator, texts, sampling, **options)

    stops = [
        back_translation.write(translator, TEXTS[:9], DRAWN, 99),
        OSError(28, "No space left on device"),
    ]
    ending = mock.Mock(side_effect=stops)
    with (
        mock.patch.multiple(back_translation, BLOCK=9, write=ending),
        pytest.raises(UserError, match="No space left"),
    ):
        write()
    kept = part.read_bytes()
    for wrong in [
        {"texts": TEXTS[1:]},
        {"sampling": None},
        {"sampling": Sampling(seed=9)},
        {"model": "n"},
        {"tag": "<BT>"},
        {"forward": True},
    ]:
        with pytest.raises(UserError, match=r"part: begun with another"):
            write(**wrong)
        assert part.read_bytes() == kept
    write(batch_tokens=50)  # memory may have run out
    assert read_tsv(output) == expected[DRAWN]
    with pytest.raises(UserError, match="exists already"):
        write()
    with pytest.raises(UserError, match="cannot be written"):
        write_back_translations(output / "x", translator, TEXTS)


# The command


@pytest.mark.parametrize(
    ("model", "texts", "options"),
    [
        ("multi30k-de-en", ["Ein Hund\trennt.", "Ein Kind."], ["--beam=2"]),
        ("multi30k-en-de", ["A dog runs.", "Two women."], ["--top-k=1"]),
    ],
)
def test_the_command_makes_what_train_reads(
    command, tmp_path, model, texts, options
):
    path, output = tmp_path / "text", tmp_path / "made.tsv"
    path.write_text("".join(f"{text}\n" for text in texts))
    forward = model == "multi30k-en-de"
    side = "--forward" if forward else "--tag=<BT>"
    words = ("backtranslate", model, path, "--output", output, side)
    ended = command(*words, *options)
    assert ended.status == 0 and ended.out == f"{output}: 2 pairs\n"
    search = {"beam": 1, "no_repeat": 0} if forward else {"beam": 2}
    made = Translator.load(model)(texts, **search)
    texts = [text.replace("\t", " ") for text in texts]
    if forward:
        expected = [*zip(texts, made, strict=True)]
    else:
        marked = [f"<BT> {text}" for text in made]
        expected = [*zip(marked, texts, strict=True)]
    assert read_tsv(output) == expected


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_control_c_ends_a_process_that_goes_on_later(tmp_path, command):
    path = tmp_path / "mono.de"
    path.write_text("Ein Hund rennt.\nZwei Frauen kochen.\n" * 1000)
    words = ["backtranslate", "multi30k-de-en", path, "--top-k=5"]
    words += ["--output", tmp_path / "made.tsv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "annotated_transformer", *words],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "1,000 of 2,000 lines" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in told
    ended = command(*words)
    assert ended.status == 0 and "1,000 of" not in ended.err
