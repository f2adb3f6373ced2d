"""The commands: what they do, and what their help says."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import get_type_hints
from unittest import mock

import pytest
import typer.main
from histories import HISTORY
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF
from tiny_models import make_translator
from without_blanks import SENTENCES

from annotated_transformer import ModelConfig, TrainConfig, __version__
from annotated_transformer.commands import app
from annotated_transformer.commands.train import train
from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import Transformer
from annotated_transformer.runs.recipes import LabConfig, Recipe
from annotated_transformer.storage.history import Search
from annotated_transformer.storage.model_folder import save_model
from annotated_transformer.system.console import arriving, put
from annotated_transformer.system.text_lines import decode_lines
from annotated_transformer.text.noise import WAYS
from annotated_transformer.translation import Translator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "book" / "toolkit_options.md"
PROGRAM = [sys.executable, "-m", "annotated_transformer"]
COMMANDS = typer.main.get_group(app.app).commands

# What the help says


def test_every_option_has_help_or_is_rare():
    assert len(COMMANDS) == 9
    for name, sub in COMMANDS.items():
        assert sub.help, name
        for option in sub.params:
            assert option.help or option.hidden, (name, option.name)


def test_the_help_of_train_is_short_and_says_where_the_rest_is(command):
    told = command("train", "--help").out
    shown = re.findall(r"(?m)^\W*(--[a-z][a-z-]*)", told)
    assert 15 < len(shown) == len({*shown}) <= 25
    assert {*shown} >= {"--extra", "--max-minutes", "--adapters"}
    last = " ".join(told.split())[-200:]
    assert last.endswith("(book/toolkit_options.md).")


def test_the_page_of_options_has_every_option():
    page = PAGE.read_text("utf-8")
    rows, others = page.split("## Options of the other commands")
    rows = "".join(re.findall(r"(?m)^\| (`--.*?) \| .+ \|$", rows))
    pattern = r"`(--[a-z][a-z0-9-]*)"
    for name, sub in COMMANDS.items():
        there = {
            switch
            for option in sub.params
            for switch in (*option.opts, *option.secondary_opts)
            if switch.startswith("--")
        }
        if name == "train":
            assert sorted(re.findall(pattern, rows)) == sorted(there)
        else:
            lines = [x for x in others.splitlines() if f"`{name}`" in x]
            told = {*re.findall(pattern, "".join(lines))}
            assert there - told <= {"--device"}, name


def test_options_of_fields_are_of_their_types():
    """They stand there twice, because the classes load PyTorch."""
    given, left = get_type_hints(train), set()
    for kind in (ModelConfig, TrainConfig, LabConfig, Recipe):
        known = get_type_hints(kind)
        for name in known.keys() & given.keys():
            assert given[name] in (known[name], known[name] | None), name
        if kind in (TrainConfig, LabConfig):
            left |= known.keys() - given.keys()
    assert left == {"clip", "decay", "order"}


def recorded(found):
    """The commands that a record holds, its own and earlier ones'."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from recorded(value)
        elif name == "command":
            yield value


def test_recorded_commands_still_run():
    """As far as their options go: the files that they name are elsewhere."""
    records = [*(ROOT / "book" / "runs").glob("*.json")]
    found = {x for p in records for x in recorded(json.loads(p.read_text()))}
    lines = [x for x in found if x.startswith("annotated-transformer ")]
    assert len(lines) > 20
    for line in lines:
        _, name, *words = shlex.split(line)
        with COMMANDS[name].make_context(name, words) as context:
            assert context.params["output"]


def test_the_version_is_the_same_everywhere(command):
    ended = command("--version")
    assert ended == (0, f"annotated-transformer {__version__}\n", "")
    assert version("annotated-transformer") == __version__
    cited = (ROOT / "CITATION.cff").read_text()
    told = dict(re.findall("(?m)^(version|date-released): (.+)$", cited))
    assert told["version"] == __version__
    changes = (ROOT / "CHANGELOG.md").read_text()
    newest = f"## {__version__} ({told['date-released']})"
    assert re.findall("(?m)^## .+", changes)[:2] == ["## Unreleased", newest]


# n lines in, n lines out

ODD = ["", "  ", "\u2028", "\x85", "\f", "\ufeff", "\U0001f600", "\t"]
LINE = st.lists(st.sampled_from([*"abcdefghij", *ODD]), max_size=10)
# A mark at the beginning of a text is no part of it.
LINES = st.lists(LINE.map(lambda signs: "".join(signs) + "a"), max_size=20)


@settings(max_examples=12)
@given(lines=LINES, end=st.sampled_from(["\n", "\r\n"]), blank=st.booleans())
def test_one_line_out_for_each_line_in(command, trained, lines, end, blank):
    translator = Translator.load(trained)
    lines = ["a", *lines, *["", "  "] * blank, "z"]
    text = end.join(lines) + end * blank  # the last may have no end
    ended = command("translate", trained, stdin=text.encode())
    expected = [translator(line) for line in lines]
    assert ended[:2] == (0, "".join(f"{x}\n" for x in expected))


def test_a_long_file_comes_in_parts_and_in_order(command, trained, tmp_path):
    """From a file as from standard input."""
    lines = ["abcdefghij"[: i * 7 % 10] for i in range(1234)]
    (tmp_path / "text").write_text("\n".join(lines) + "\n")
    words = ("translate", trained, "--beam=1", "--n-best=1")
    ended = command(*words, tmp_path / "text")
    short = sorted({*lines})
    answers = dict(
        zip(short, Translator.load(trained)(short, beam=1), strict=True)
    )
    rows = [line.split("\t") for line in ended.out.splitlines()]
    assert [(int(number), text) for number, _, text in rows] == [
        (i, answers[line]) for i, line in enumerate(lines, 1)
    ]
    assert ended.out == command(*words, stdin="\n".join(lines).encode()).out


@pytest.mark.parametrize(
    ("name", "beam", "more"),
    [
        ("translate", 2, ["--beam=2"]),
        ("score", 1, []),
        ("evaluate", 1, ["--beam=1", "--typed"]),
    ],
)
def test_no_batch_has_more_tokens_than_asked_for(
    command, trained, tmp_path, monkeypatch, name, beam, more
):
    cells, encode = [], Transformer.encode

    def watched(model, source):
        cells.append((source.numel(), source.size(1)))
        return encode(model, source)

    monkeypatch.setattr(Transformer, "encode", watched)
    blank = "" if name == "evaluate" else "\n"
    (tmp_path / "text").write_text(f"abc\n{blank}abcdefgh\nab\n" * 5)
    files = [tmp_path / "text"] * (1 if name == "translate" else 2)
    told, batches = set(), []
    for budget in (1, 60, 100_000):
        cells.clear()
        words = (name, trained, *files, *more, f"--batch-tokens={budget}")
        told.add(command(*words))
        most = max(budget // beam, *(length for _, length in cells))
        assert all(number <= most for number, _ in cells)
        batches.append(len(cells))
    assert len(told) == 1 and batches == sorted(batches, reverse=True)
    assert batches[0] > batches[-1]


def test_lines_are_answered_as_they_come():
    """Also where another program has told the pipe not to wait.

    In UTF-8, whatever the console's encoding is.
    """
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with subprocess.Popen(
        [*PROGRAM, "translate", "multi30k-en-de", "--beam=1"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(reading)
        expected = Translator.load("multi30k-en-de")
        assert "Männer" in expected("Many men.", beam=1)
        # each waits for the answer
        for line in ("Many men.", "", "A dog.", "Two dogs."):
            os.write(writing, f"{line}\n".encode())
            answer = process.stdout.readline().decode()
            assert answer == expected(line, beam=1) + "\n"
        os.write(writing, b"a\n\xe4")  # of a line that has no end
        os.close(writing)
        assert process.stdout.read().count(b"\n") == 1
        assert b"standard input, line 6" in process.stderr.read()
    assert process.returncode == 1


def test_only_what_begins_with_a_mark_loses_it():
    """Also where the text comes in parts, and a part begins with one."""
    sent = b"\xef\xbb\xbf" + b"\n" * ((1 << 16) - 3) + b"\xef\xbb\xbfabc\n"
    with mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(sent))):
        parts = [line for part in arriving("input") for line in part]
    assert parts == decode_lines(sent, "input")
    assert parts[0] == "" and parts[-1] == "\ufeffabc"


def test_columns_of_a_translation(command, trained):
    given = b"abc\n\nde\n"
    words = ("translate", trained, "--n-best=3", "--beam=4")
    more = ("--confidence", "--alignment")
    ended = command(*words, *more, stdin=given)
    found = [line.split("\t") for line in ended.out.splitlines()]
    expected = Translator.load(trained).n_best(["abc", "", "de"], 3, beam=4)
    flat = [(i, one) for i, best in enumerate(expected, 1) for one in best]
    assert [i for i, _ in flat] == [1] * 3 + [2] + [3] * 3
    for row, (i, one) in zip(found, flat, strict=True):
        number, score, text, confidence, links = row
        assert (int(number), text) == (i, one.text)
        assert float(score) == pytest.approx(one.score, abs=5e-5)
        assert float(confidence) == pytest.approx(one.confidence, abs=5e-5)
        assert (links == "0-0") == (i != 2)
    alone = command(*words[:2], *more, "--beam=4", stdin=given).out
    first = [found[i][2:] for i in (0, 3, 4)]
    assert [line.split("\t") for line in alone.splitlines()] == first


# Streams

FULL = "error: standard input or output: No space left on device\n$"
STREAMS = {
    # what a shell is asked, its status, and what standard error says; all
    # commands write alike, and these do so before they load PyTorch
    "reader that leaves": ("{program} --version | true", 0, "$"),
    "full disk": ("{program} --version > /dev/full", 1, FULL),
    "no output": ("{program} --version >&-", 0, "$"),
    "no errors": ("{program} --version >/dev/full 2>&-", 1, "$"),
    "full errors": ("{program} --version >/dev/full 2>&1", 1, "$"),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="not Linux")
@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_are_not_what_they_should_be(name):
    line, status, told = STREAMS[name]
    ended = subprocess.run(
        ["bash", "-c", line.format(program=shlex.join(PROGRAM))],
        capture_output=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
    )
    assert ended.returncode == status
    assert re.match(told, ended.stderr.decode()), ended.stderr
    assert ended.stdout == b""


def test_an_input_that_is_closed_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match="standard input is closed; name a"):
        next(arriving("standard input"))


@pytest.mark.skipif(sys.platform != "linux", reason="names are other there")
def test_a_name_goes_out_as_the_bytes_that_it_is(tmp_path, capfdbinary):
    name = os.fsdecode(bytes(tmp_path) + b"/\xff")
    with mock.patch("sys.stdout", open(1, "w", closefd=False)):
        put(f"{name}\n")
    assert capfdbinary.readouterr().out == bytes(tmp_path) + b"/\xff\n"


# Evaluation and training


def test_evaluate_agrees_with_sacrebleu(command, trained, tmp_path):
    lines = {"source": ["abc", "cab"], "reference": ["aBc", "cab"]}
    files = [tmp_path / name for name in lines]
    for file, text in zip(files, lines.values(), strict=True):
        file.write_text("\n".join(text) + "\n")
    words = ("evaluate", trained, *files)
    result = json.loads(command(*words, "--json").out)
    outputs = Translator.load(trained)(lines["source"])
    references = [lines["reference"]]
    lower = BLEU(lowercase=True).corpus_score(outputs, references).score
    assert result["bleu"] == BLEU().corpus_score(outputs, references).score
    assert result["bleu_lowercase"] == lower
    assert result["chrf"] == CHRF().corpus_score(outputs, references).score
    assert "case:lc" in result["signatures"]["bleu_lowercase"]
    assert "tok:moses-" in result["signatures"]["bleu_moses"]
    search = {"beam": 2, "alpha": 1.5, "no_repeat": 3}
    assert {name: result[name] for name in search} == asdict(Search())
    other = command(*words, "--beam=2", "--alpha=1.5", "--no-repeat=3")
    for name, signature in result["signatures"].items():
        assert re.search(rf"(?m)^{name} +\d+\.\d\d  \S", other.out)
        assert signature in other.out
    assert "capitals" not in other.out
    typed = json.loads(command(*words, "--json", "--typed").out).pop("typed")
    assert [*typed] == ["as it is", *WAYS]
    assert typed["as it is"]["bleu"] == result["bleu"]
    shown = command(*words, "--typed").out
    assert re.search(r"(?m)^typed +BLEU +lower +lines +other transl", shown)
    for way, scores in typed.items():
        bleu = f"{scores['bleu']:.2f}"
        assert re.search(rf"(?m)^{way} +{bleu} +\d+\.\d\d( +\d){{2}}$", shown)


@pytest.mark.parametrize(
    ("language", "cut"),
    [("zh-CN", "zh"), ("Thai", "char"), ("xx", "13a"), ("", "13a")],
)
def test_evaluate_finds_words_without_blanks_or_says_so(
    command, tmp_path, language, cut
):
    sources, text = ["ab", "b"], "".join(SENTENCES["zh"])
    tokenizer = train_tokenizer([*sources, text], 40, "char")
    model, data = make_translator(tokenizer).model, HISTORY.data
    history = replace(HISTORY, data=replace(data, target=language))
    save_model(tmp_path / "model", model.float(), tokenizer, history)
    outputs = Translator.load(tmp_path / "model")(sources)
    lines = {"source": sources, "right": outputs, "wrong": outputs[::-1]}
    for name, texts in lines.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n", "utf-8")
    source, right, wrong = (tmp_path / name for name in lines)
    words = ("evaluate", tmp_path / "model", source)
    ended = command(*words, right, "--json", "--typed")
    told = f"warning: {right}: its lines have hardly a blank, and the language"
    assert (f"{told} {language!r} is not" in ended.err) == (cut == "13a")
    best = json.loads(ended.out)
    worse = json.loads(command(*words, wrong, "--json").out)
    for kind in ("bleu", "bleu_lowercase", "bleu_moses"):
        if cut != "13a":
            assert best[kind] == 100 and worse[kind] < 100
            assert f"|tok:{cut}|" in best["signatures"][kind]
    assert best["typed"]["as it is"]["bleu"] == best["bleu"]


def test_own_text_is_learned_gently_by_a_trained_model(
    command, trained, tmp_path
):
    """A new model, new subwords or a task have their own settings."""
    table = tmp_path / "table"
    table.write_text("".join(f"{a}\t{b}\n" for a, b in copy_task(90)))
    own = "--pairs", table, "--valid-pairs", table
    steps = {}
    for words in (
        ("--from", trained, *own),
        ("--from", trained, *own, "--max-steps=9"),
        ("--from", trained, *own, "--new-subwords", "--vocab-size=30"),
        ("--from", trained, "--task=copy"),
    ):
        plan = command("train", tmp_path / "model", *words, "--dry-run")
        rows = dict(
            re.findall(
                r"(?m)^(updates an epoch|epochs) .*?([\d.,]+)$", plan.out
            )
        )
        updates, epochs = (float(x.replace(",", "")) for x in rows.values())
        steps[words[-1]] = updates * epochs
    found = pytest.approx([200, 9, 5000, 500], rel=0.05)
    assert [*steps.values()] == found


def test_extra_pairs_are_told_apart_and_have_a_share(command, tmp_path):
    table, more, odd = (
        tmp_path / name for name in ("table", "more", "a=b\udcff")
    )
    table.write_text("ab\tba\n" * 6)
    more.write_text("ca\tac\n" * 9 + "abababab\tab\n")
    odd.write_text("ac\tca\n")
    words = [
        *("train", tmp_path / "model", "--pairs", table),
        *("--valid-pairs", table, "--extra", odd, "--extra", f"{more}=0.5"),
        *("--tokenizer=char", "--max-steps=1", "--device=cpu"),
        "--max-length=6",
    ]
    planned = command(*words, "--dry-run")
    assert re.search(r"pairs an epoch +14\n", planned.out)
    ended = command(*words)
    assert ended.status == 0, ended.err
    assert "more: 1 of 10 pairs have more than 6 tokens" in ended.err
    told = json.loads((tmp_path / "model" / "run.json").read_text())
    assert (told["data"]["pairs"], told["data"]["extra"]) == (6, 11)
    assert told["data"]["shares"] == {"extra 2": 0.5}
    assert r"a=b\xff" in told["command"]
    card = (tmp_path / "model" / "README.md").read_text()
    assert "and 11 extra ones" in card


def test_one_file_of_pairs_is_as_two_of_lines(command, trained, tmp_path):
    """In each format; the model says which languages it reads."""
    pairs = {"abc": "aBc", "cab": "cab"}
    (tmp_path / "a").write_text("".join(f"{x}\n" for x in pairs))
    (tmp_path / "b").write_text("".join(f"{x}\n" for x in pairs.values()))
    files = {
        "t.tsv": [f"{a}\t{b}" for a, b in pairs.items()],
        "t.csv": ["de,id,en", *(f"{b},1,{a}" for a, b in pairs.items())],
        "t.jsonl": [
            json.dumps({"target": b, "source": a}) for a, b in pairs.items()
        ],
    }
    for name in ("evaluate", "score"):
        two = command(name, trained, tmp_path / "a", tmp_path / "b")
        assert two.status == 0
        for file, lines in files.items():
            (tmp_path / file).write_text("\n".join(lines))
            assert command(name, trained, "--pairs", tmp_path / file) == two


# Learning curves


def test_curves_of_several_trainings(command, trained, tmp_path, monkeypatch):
    """In one picture, which names them; there is a line for each panel."""
    lines = (trained / "metrics.jsonl").read_text().splitlines()
    other, output = tmp_path / "other", tmp_path / "curve.svg"
    other.mkdir()
    first = {"step": 0, "valid_perplexity": 9.0}  # as of a fine-tuning
    more = "\n".join([json.dumps(first), *lines])
    (other / "metrics.jsonl").write_text(more)
    ended = command("curve", trained, other, "--output", output)
    assert ended == (0, f"{output}: {trained}, {other}\n", "")
    with mock.patch("matplotlib.figure.Figure.savefig", autospec=True) as save:
        save.side_effect = lambda _, path: path.touch()
        command("curve", trained, other, "--output", output)
    loss, perplexity = save.call_args[0][0].axes
    for panel, name in ((loss, "loss"), (perplexity, "valid_perplexity")):
        assert panel.get_xlabel() == "updates"
        drawn = {
            line.get_label(): [*zip(*line.get_data(), strict=True)]
            for line in panel.lines
        }
        found = [json.loads(x) for x in lines]
        points = [(x["step"], x[name]) for x in found]
        assert drawn.pop(str(trained)) == points
        before = [(0, 9.0)] * (name != "loss")
        assert drawn == {str(other): [*before, *points]}
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ended = command("curve", trained, "--output", output)
    assert ended.status == 1 and "annotated-transformer[plot]" in ended.err


def test_a_run_goes_on_in_the_precision_that_began_it(
    command, recipe_options, tmp_path
):
    """Another machine may have another one by default."""
    words = ("train", tmp_path / "model", *recipe_options, "--max-steps=4")
    begun = command(*words, "--bf16", "--max-minutes=0")
    assert begun.status == 0, begun.err
    ended = command(*words, "--resume")
    assert ended.status == 0, ended.err
    assert "continuing after update 1 of 4" in ended.err
    assert "in bfloat16" in ended.err
    refused = command(*words, "--resume", "--float32")
    assert "recipe.train.bf16 = True, now it is False" in refused.err
