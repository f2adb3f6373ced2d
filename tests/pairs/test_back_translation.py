"""Made sides of pairs: one sentence at a time, in batches, in parts."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from unittest import mock

import pytest
import torch
from refusal import refused

from annotated_transformer import (
    Interrupted,
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


def test_a_search_says_what_it_says_of_each_text_alone(translator):
    """Against a loop over the texts, each searched by itself."""
    expected = []
    for text in TEXTS:
        made = translator(text, beam=3, alpha=0.7, no_repeat=2)
        if made.strip():
            expected.append((made, text))
    assert len(expected) > 20
    for budget in (1, 50, 4096):
        made = back_translate(translator, iter(TEXTS), batch_tokens=budget)
        assert made == expected
    ahead = back_translate(translator, TEXTS, forward=True)
    assert ahead == [(text, made) for made, text in expected]
    marked = back_translate(translator, TEXTS, tag="<BT>")
    assert marked == [(f"<BT> {made}", text) for made, text in expected]


def test_draws_do_not_depend_on_the_batch(translator):
    made = back_translate(translator, TEXTS, DRAWN)
    assert back_translate(translator, TEXTS, DRAWN, batch_tokens=1) == made
    assert back_translate(translator, TEXTS, Sampling(seed=1)) != made
    best = back_translate(translator, TEXTS, Sampling(top_k=1))
    plain = Translator(translator.model, translator.tokenizer, beam=1)
    assert best == back_translate(plain, TEXTS)


def test_batches_are_full_and_the_longest_come_first(translator):
    lengths = [len(translator.tokenizer.encode(text)) for text in TEXTS]
    for sampling, width in (None, 3), (DRAWN, 1):
        made = [
            [*some]
            for some in back_translation.batches(
                translator, TEXTS, sampling, 120
            )
        ]
        assert sorted(sum(made, [])) == [*range(40)]
        longest = [max(lengths[i] for i in some) for some in made]
        assert longest == sorted(longest, reverse=True)
        for some, top, after in zip(made, longest, made[1:], strict=False):
            assert width * top * len(some) <= 120
            # one text more would not have found room
            least = max(lengths[i] for i in after)
            assert width * top * (len(some) + 1) > 120 or least < top


def test_what_cannot_be_made(translator, tmp_path):
    for texts, told in [(["a", " "], "text 1 is blank"), (["a", 1], "text 1")]:
        with pytest.raises(UserError, match=told):
            back_translate(translator, iter(texts))
    with pytest.raises(UserError, match="'<BT>' marks sources"):
        back_translate(translator, TEXTS, tag="<BT>", forward=True)
    with pytest.raises(ValueError, match="batch_tokens=0"):
        back_translate(translator, TEXTS, batch_tokens=0)
    assert back_translate(translator, []) == []


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
    assert f"{40 - number} of 40 lines left out, the first line" in told


class Killed(Exception):
    pass


@pytest.mark.parametrize(
    ("sampling", "done", "torn"),
    [
        *[(DRAWN, 0, 0), (DRAWN, 4, 0), (DRAWN, 1, 1), (DRAWN, 4, 30)],
        *[(None, 4, 1), (Sampling(top_k=3), 1, 30)],
    ],
)
def test_after_a_kill_the_same_comes_out(
    sampling, done, torn, translator, tmp_path, monkeypatch
):
    """Killed after so many batches, or while it wrote the last of them."""
    output, part = tmp_path / "made.tsv", tmp_path / "made.tsv.part"
    options = {"sampling": sampling, "batch_tokens": 100, "tag": "<BT>"}
    add_line, lines = back_translation.add_line, []

    def add(file, entry):
        if len(lines) > done:
            raise Killed
        lines.append(entry)
        add_line(file, entry)

    with monkeypatch.context() as patch:
        patch.setattr(back_translation, "add_line", add)
        with pytest.raises(Killed):
            write_back_translations(output, translator, TEXTS, **options)
    assert not output.exists()
    if torn and done:
        part.write_bytes(part.read_bytes()[:-torn])
    calls, decoded = [], translator.tokenizer.decode
    monkeypatch.setattr(
        translator.tokenizer, "decode", lambda x: calls.append(x) or decoded(x)
    )
    write_back_translations(output, translator, TEXTS, **options, resume=True)
    kept = sum(len(some) for some in lines[1 : done + 1 - bool(torn)])
    assert lines[0]["batch_tokens"] == 100
    assert len(calls) == 40 - kept  # nothing is made twice
    assert read_tsv(output) == back_translate(translator, TEXTS, **options)
    assert {*tmp_path.iterdir()} == {output}


def test_what_fails_at_once_has_not_begun(translator, tmp_path, monkeypatch):
    """So it may begin again with less memory."""
    output = tmp_path / "made.tsv"
    with monkeypatch.context() as patch:
        patch.setattr(
            back_translation, "beam_decode", mock.Mock(side_effect=MemoryError)
        )
        with pytest.raises(MemoryError):
            write_back_translations(output, translator, TEXTS)
    with pytest.raises(UserError, match="nothing to resume"):
        write_back_translations(output, translator, TEXTS, resume=True)
    write_back_translations(output, translator, TEXTS, batch_tokens=50)
    assert {*tmp_path.iterdir()} == {output}


def test_it_goes_on_only_with_what_began_it(translator, tmp_path, monkeypatch):
    output, part = tmp_path / "made.tsv", tmp_path / "made.tsv.part"

    def write(texts=TEXTS, sampling=DRAWN, resume=True, **options):
        options = {"model": "m", "batch_tokens": 100} | options
        return write_back_translations(
            output, translator, texts, sampling, resume=resume, **options
        )

    with pytest.raises(UserError, match="nothing to resume"):
        write()
    with monkeypatch.context() as patch:
        stop = StopAfter(2)
        patch.setattr(back_translation, "stop_signals", lambda: stop)
        with pytest.raises(Interrupted, match="after batch 2"):
            write(resume=False)
    with pytest.raises(UserError, match=r"part: begun already"):
        write(resume=False)
    for wrong, told in [
        ({"texts": TEXTS[1:]}, "text"),
        ({"sampling": None}, "search"),
        ({"sampling": Sampling(seed=9)}, "search"),
        ({"model": "n"}, "model"),
        ({"tag": "<BT>"}, "tag"),
        ({"forward": True}, "forward"),
        ({"batch_tokens": 99}, "batch_tokens"),
    ]:
        with pytest.raises(UserError, match=f"it began with {told} = "):
            write(**wrong)
    with part.open("ab") as file:
        assert back_translation.lock(file.fileno(), wait=False)
        with pytest.raises(UserError, match="another program is at work"):
            write()
    kept = part.read_bytes()
    part.write_bytes(b"no json\n")
    with pytest.raises(UserError, match="not the beginning of this work"):
        write()
    part.write_bytes(kept)
    write()
    assert read_tsv(output) == back_translate(translator, TEXTS, DRAWN)
    with pytest.raises(UserError, match="exists already"):
        write(resume=False)


class StopAfter:
    """In the place of `stop_signals`: true when asked so many times."""

    def __init__(self, times):
        self.left = times

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __bool__(self):
        self.left -= 1
        return self.left <= 0

    def __getitem__(self, place):
        return signal.SIGTERM


def test_a_disk_that_is_full_loses_nothing(translator, tmp_path):
    output = tmp_path / "no folder" / "made.tsv"
    with pytest.raises(UserError, match="cannot be written"):
        write_back_translations(output, translator, TEXTS)


# The command


@pytest.fixture
def german(tmp_path):
    path = tmp_path / "mono.de"
    path.write_text("Ein Hund\trennt.\nZwei Frauen kochen.\nEin Kind.\n" * 4)
    return path


def test_the_command_makes_what_train_reads(command, german, tmp_path):
    output = tmp_path / "made.tsv"
    words = ("backtranslate", "multi30k-de-en", german, "--output", output)
    ended = command(*words, "--tag=<BT>", "--beam=2")
    assert ended.status == 0 and ended.out == f"{output}: 12 pairs\n"
    model = Translator.load("multi30k-de-en")
    texts = german.read_text().splitlines()
    assert read_tsv(output) == [
        (f"<BT> {made}", text.replace("\t", " "))
        for made, text in zip(model(texts, beam=2), texts, strict=True)
    ]
    refused(command(*words), output, "exists already")
    for options, told in [
        (("--beam=2", "--sample"), "choose one"),
        (("--seed=1",), "add --sample"),
        (("--tag=x", "--forward"), "leave one of the two out"),
        (("--resume",), "nothing to resume"),
    ]:
        new = (*words[:-1], tmp_path / "new.tsv")
        refused(command(*new, *options), told)
    german.write_text("Ein Hund\n \nEin Kind\n")
    refused(command(*new), f"{german}, line 2: blank")
    german.write_text("Ein Hund\n" + "a" * 10_001 + "\n")
    refused(command(*new), f"{german}, line 2: 10001 characters")
    assert not (tmp_path / "new.tsv").exists()


def test_targets_for_sources(command, tmp_path):
    text = tmp_path / "mono.en"
    text.write_text("A dog runs.\nTwo women are cooking.\n")
    output = tmp_path / "made.tsv"
    words = ("backtranslate", "multi30k-en-de", text, "--output", output)
    ended = command(*words, "--forward", "--top-k=1")
    assert ended.status == 0, ended.err
    model = Translator.load("multi30k-en-de")
    texts = text.read_text().splitlines()
    made = model(texts, beam=1, no_repeat=0)
    assert read_tsv(output) == [*zip(texts, made, strict=True)]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_stopped_goes_on(number, german, tmp_path, command):
    german.write_text(german.read_text() * 8)
    words = ["backtranslate", "multi30k-de-en", german, "--top-k=5"]
    words += ["--batch-tokens=30", "--output"]
    output, whole = tmp_path / "made.tsv", tmp_path / "whole.tsv"
    process = subprocess.Popen(
        [sys.executable, "-m", "annotated_transformer", *words, output],
        stderr=subprocess.PIPE,
        text=True,
    )
    part = tmp_path / "made.tsv.part"
    while not part.exists() or part.read_bytes().count(b"\n") < 5:
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -9)
    if number == signal.SIGINT:
        assert "with --resume continues" in told and "Traceback" not in told
    assert json.loads(part.read_text().splitlines()[0])["tag"] == ""
    assert command(*words, output, "--resume").status == 0
    assert command(*words, whole).status == 0
    assert output.read_bytes() == whole.read_bytes()
