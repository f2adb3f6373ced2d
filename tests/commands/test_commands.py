"""The command line: what it does, and one clear line for each bad input."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import pytest
import typer.main
from refusal import refused
from sacrebleu.metrics import BLEU, CHRF

from annotated_transformer import Translator, __version__
from annotated_transformer.commands import app
from annotated_transformer.commands import train as training_command
from annotated_transformer.corpora.generated import copy_corpus
from annotated_transformer.corpora.multi30k import MULTI30K_SUMS
from annotated_transformer.model import Transformer
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.storage import averaging
from annotated_transformer.storage.averaging import average_checkpoints
from annotated_transformer.storage.history import Search
from annotated_transformer.system.stdio import arriving, put
from annotated_transformer.system.text_lines import decode_lines

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "train",
    "translate",
    "score",
    "augment",
    "backtranslate",
    "evaluate",
    "average",
    "data",
)


@pytest.fixture
def text(tmp_path):
    """Write text files; give their paths."""

    def write(**files):
        paths = []
        for name, data in files.items():
            paths.append(tmp_path / name)
            data = data if isinstance(data, bytes) else data.encode()
            paths[-1].write_bytes(data)
        return paths

    return write


@pytest.fixture
def train(command, tmp_path):
    """Run train on these files; no folder may be left if it fails."""

    def run(training, valid, *options):
        files = ["--train", *training, "--valid", *valid]
        ended = command("train", tmp_path / "model", *files, *options)
        assert not (tmp_path / "model").exists()
        return ended

    return run


# What it does


@pytest.mark.parametrize("name", COMMANDS)
def test_help_describes_every_option(command, name):
    ended = command(name, "--help")
    assert ended.status == 0
    assert "Usage" in ended.out


def test_no_option_is_without_help():
    for name, sub in typer.main.get_command(app.app).commands.items():
        assert sub.help, name
        for parameter in sub.params:
            assert parameter.help or parameter.hidden, (name, parameter.name)


def test_the_help_of_train_is_short_and_says_where_the_rest_is(command):
    told = command("train", "--help").out
    options = re.findall(r"(?m)^\W*(--[a-z][a-z-]*)", told)
    assert 15 < len(options) == len({*options}) <= 20
    assert {"--train", "--valid", "--preset", "--resume"} <= {*options}
    last = " ".join(told.split())[-200:]
    assert last.endswith("(book/toolkit_options.md).")
    assert (ROOT / "book" / "toolkit_options.md").exists()


def test_the_page_of_options_has_every_option_of_train():
    page = (ROOT / "book" / "toolkit_options.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| (`--.*?) \| .+ \|$", page)
    named = re.findall(r"`(--[a-z][a-z0-9-]*)", " ".join(rows))
    train = typer.main.get_command(app.app).commands["train"]
    there = [
        switch
        for option in train.params
        for switch in (*option.opts, *option.secondary_opts)
        if switch.startswith("--")
    ]
    assert sorted(named) == sorted(there)


def recorded(found):
    """The commands that a record tells of, its own and earlier ones'."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from recorded(value)
        elif name == "command":
            yield value


def test_recorded_commands_still_run():
    """As far as their options go: the files that they name are elsewhere."""
    records = [*(ROOT / "book" / "runs").glob("*.json")]
    commands = {
        x for p in records for x in recorded(json.loads(p.read_text()))
    }
    lines = [x for x in commands if x.startswith("annotated-transformer ")]
    assert len(lines) > 20
    group = typer.main.get_command(app.app)
    for line in lines:
        _, name, *words = shlex.split(line)
        with group.commands[name].make_context(name, words) as context:
            assert context.params["output"]


def test_module_runs_like_the_command():
    words = [sys.executable, "-m", "annotated_transformer", "frobnicate"]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "No such command 'frobnicate'" in ended.stderr


def test_the_version_is_the_same_everywhere(command):
    ended = command("--version")
    assert ended == (0, f"annotated-transformer {__version__}\n", "")
    assert version("annotated-transformer") == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_one_line_out_for_each_line_in(command, trained):
    lines = ["abc", "", "a\u2028b", "\x85c", "a\rb", "\0", "\U0001f600", "  "]
    ended = command("translate", trained, stdin="\n".join(lines).encode())
    assert ended.status == 0 and ended.err == ""
    found = ended.out.split("\n")
    assert len(found) == len(lines) + 1 and found[-1] == ""
    assert found[1] == found[7] == ""
    assert found[:-1] == Translator.load(trained)(lines)


def test_order_is_kept_whatever_the_lengths(command, trained):
    lines = ["abcdefghij"[: 1 + i * 7 % 10] for i in range(40)]
    whole = command("translate", trained, stdin="\n".join(lines).encode())
    translator = Translator.load(trained)
    one_by_one = [translator(line) for line in lines]
    assert whole.out.splitlines() == one_by_one


def test_a_file_reads_as_standard_input_does(command, trained, text):
    (path,) = text(source="abc\r\nde\n")
    from_file = command("translate", trained, path, "--beam", 1)
    from_stdin = command("translate", trained, "--beam", 1, stdin=b"abc\nde\n")
    assert from_file == from_stdin
    assert from_file.out.count("\n") == 2


def test_lines_are_answered_as_they_come(trained):
    words = [sys.executable, "-m", "annotated_transformer", "translate"]
    with subprocess.Popen(
        [*words, str(trained), "--beam=1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        expected = Translator.load(trained)
        for line in ("abc", "", "de", "fgh"):  # each waits for the answer
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            answer = process.stdout.readline().decode()
            assert answer == expected(line, beam=1) + "\n"
        process.stdin.write(b"a\n\xe4")  # of a line that has no end
        process.stdin.close()
        assert process.stdout.read().count(b"\n") == 1
        assert b"standard input, line 6" in process.stderr.read()
    assert process.returncode == 1


def test_a_long_file_comes_in_parts_and_in_order(command, trained, text):
    lines = ["abcdefghij"[: i % 3 + 1] for i in range(2345)]
    (path,) = text(source="\n".join(lines))
    ended = command("translate", trained, path, "--beam", 1)
    short = ["a", "ab", "abc"]
    answers = dict(
        zip(short, Translator.load(trained)(short, beam=1), strict=True)
    )
    assert ended.out.splitlines() == [answers[line] for line in lines]


def test_several_translations_of_a_line(command, trained):
    words = ("translate", trained, "--n-best=3", "--beam=4")
    ended = command(*words, stdin=b"abc\n\nde\n")
    expected = Translator.load(trained).n_best(["abc", "", "de"], 3, beam=4)
    found = [line.split("\t") for line in ended.out.splitlines()]
    assert [int(number) for number, *_ in found] == [1] * 3 + [2] + [3] * 3
    flat = [one for best in expected for one in best]
    for (_, score, text), one in zip(found, flat, strict=True):
        assert text == one.text and abs(float(score) - one.score) <= 5e-5
    refused(command(*words[:3], "--beam=2", stdin=b"a\n"), "needs --beam 3")
    ended = command(*words[:2], "--n-best=1001")  # no beam is that wide
    assert ended.status == 2 and "'--n-best'" in ended.err


@pytest.fixture
def cells(monkeypatch):
    """How many cells the source matrix of each batch has, and its length."""
    seen, encode = [], Transformer.encode

    def watched(model, source):
        seen.append((source.numel(), source.size(1)))
        return encode(model, source)

    monkeypatch.setattr(Transformer, "encode", watched)
    return seen


@pytest.mark.parametrize(
    ("name", "beam"), [("translate", 2), ("score", 1), ("augment", 3)]
)
def test_smaller_batches_say_the_same(
    command, trained, text, cells, name, beam
):
    models, lines = [trained], ["abc", "", "abcdefgh", "ab"] * 5
    options = {"translate": ["--beam=2", "--n-best=2"]}.get(name, [])
    if name == "augment":
        models = ["multi30k-en-de", "multi30k-de-en"]
        lines = ["A dog runs.", "Two men"]
        options = ["--beam=3", "--number=1"]
    files = text(source="\n".join(lines), target="\n".join(lines))
    if name == "translate":
        files.pop()
    words = (name, *models, *files, *options)
    whole = command(*words)
    assert whole.status == 0 and whole.out
    batches = []
    for budget in (1, 60, 100_000):
        cells.clear()
        assert command(*words, f"--batch-tokens={budget}") == whole
        longest = max(length for _, length in cells)
        most = max(budget // beam, longest)
        assert all(number <= most for number, _ in cells)
        batches.append(len(cells))
    assert batches[0] >= batches[1] >= batches[2] < batches[0]
    ended = command(*words, "--batch-tokens=0")
    assert ended.status == 2 and "'--batch-tokens'" in ended.err
    assert "greater than or equal to" in ended.err and ended.out == ""


def test_nothing_in_nothing_out(command, trained):
    assert command("translate", trained) == (0, "", "")
    assert Translator.load(trained)([]) == []


def test_a_reader_that_leaves_is_no_error(trained):
    words = [sys.executable, "-m", "annotated_transformer", "translate"]
    process = subprocess.Popen(
        [*words, str(trained), "--beam=1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    process.stdin.write(b"abc\n")
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_standard_output_on_a_full_disk(trained):
    words = [sys.executable, "-m", "annotated_transformer", "translate"]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [*words, str(trained), "--beam=1"],
            input=b"abc\n",
            stdout=full,
            stderr=subprocess.PIPE,
            env={
                k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"
            },
        )
    assert ended.returncode == 1
    told = (
        b"error: standard output cannot be written (No space left on device)"
    )
    assert ended.stderr.splitlines() == [told]


def test_a_hostile_model_is_refused_in_one_line(command, trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "model")
    (folder / "config.json").write_text("[" * 100_000)
    refused(command("translate", folder), "nested too deeply")
    checkpoint = sorted((folder / "checkpoints").iterdir())[-1]
    (folder / "run.json").write_text('{"recipe": {"model": {"heads": "x"}}}')
    ended = command("average", tmp_path / "mean", checkpoint)
    refused(ended, checkpoint, "not inside the folder of a run")
    assert not (tmp_path / "mean").exists()


def test_evaluate_agrees_with_sacrebleu(command, trained, text, tmp_path):
    source, reference = text(source="abc\ncab\n", reference="aBc\ncab\n")
    ended = command("evaluate", trained, source, reference, "--json")
    assert ended.status == 0
    result = json.loads(ended.out)
    outputs = Translator.load(trained)(["abc", "cab"])
    references = [["aBc", "cab"]]
    lower = BLEU(lowercase=True).corpus_score(outputs, references).score
    assert result["bleu"] == BLEU().corpus_score(outputs, references).score
    assert result["bleu_lowercase"] == lower
    assert result["chrf"] == CHRF().corpus_score(outputs, references).score
    assert "case:lc" in result["signatures"]["bleu_lowercase"]
    assert "tok:moses-" in result["signatures"]["bleu_moses"]
    search = {"beam": 2, "alpha": 1.5, "no_repeat": 3}
    assert {name: result[name] for name in search} == asdict(Search())
    words = ("--beam=2", "--alpha=1.5", "--no-repeat=3", "--json")
    other = command("evaluate", trained, source, reference, *words)
    assert search.items() <= json.loads(other.out).items()
    shown = command("evaluate", trained, source, reference)
    for name, signature in result["signatures"].items():
        assert f"{result[name]:.2f}  {signature}" in shown.out
        assert name in shown.out


def test_of_averages_into_one_folder_one_is_made(
    trained, tmp_path, monkeypatch
):
    output, number = tmp_path / "mean", 4
    barrier, save = threading.Barrier(number), averaging.save_model

    def save_together(*words):
        barrier.wait()
        save(*words)

    monkeypatch.setattr(averaging, "save_model", save_together)
    checkpoints = sorted((trained / "checkpoints").iterdir())[-2:]
    with ThreadPoolExecutor(number) as threads:
        tries = [
            threads.submit(average_checkpoints, output, checkpoints)
            for _ in range(number)
        ]
    errors = [x.exception() for x in tries if x.exception()]
    assert len(errors) == number - 1
    assert all("mean: exists already" in str(error) for error in errors)
    assert [path.name for path in tmp_path.iterdir()] == ["mean"]
    assert isinstance(Translator.load(output)("abc"), str)


def test_average_of_one_is_that_checkpoint(command, trained, tmp_path):
    *_, last = sorted((trained / "checkpoints").iterdir())
    model = tmp_path / "averaged"
    assert command("average", model, last).status == 0
    one = Translator.load(model)(["abc"])
    assert isinstance(one[0], str)
    names = {path.name for path in model.iterdir()}
    assert names == {path.name for path in trained.iterdir()} - {
        "run.json",
        "checkpoints",
    }


def test_data_from_a_folder_with_all_files(command, real_folder):
    ended = command("data", "multi30k", "--dir", real_folder)
    assert ended.status == 0
    assert str(real_folder) in ended.out


def test_only_what_begins_with_a_mark_loses_it(text):
    """Also where the text comes in parts, and a part begins with one."""
    sent = b"\xef\xbb\xbf" + b"\n" * ((1 << 16) - 3) + b"\xef\xbb\xbfabc\n"
    (path,) = text(source=sent)
    with mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(sent))):
        parts = [line for part in arriving("input") for line in part]
    assert parts == decode_lines(path.read_bytes(), path)
    assert parts[0] == "" and parts[-1] == "\ufeffabc"


@pytest.mark.skipif(sys.platform != "linux", reason="names are other there")
def test_a_name_goes_out_as_the_bytes_that_it_is(tmp_path, capfdbinary):
    name = os.fsdecode(bytes(tmp_path) + b"/\xff")
    with mock.patch("sys.stdout", open(1, "w", closefd=False)):
        put(f"{name}\n")
    assert capfdbinary.readouterr().out == bytes(tmp_path) + b"/\xff\n"


# Bad input


def test_missing_file(train, text, tmp_path):
    (here,) = text(here="a b\n")
    gone = tmp_path / "gone"
    refused(train([here, gone], [here, here]), gone, "No such file")


def test_line_counts_that_differ(train, text):
    two, one = text(two="a\nb\n", one="a\n")
    ended = train([two, one], [one, one])
    refused(ended, f"{two} has 2 lines", f"{one} has 1")


def test_undecodable_bytes(train, text, command, trained):
    good, bad = text(good="a\nb\n", bad=b"a\nb\xff\n")
    refused(train([good, bad], [good, good]), f"{bad}, line 2", "0xff")
    ended = command("translate", trained, stdin=b"a\n\xe4\n")
    refused(ended, "standard input, line 2", "0xe4")


def test_empty_line(train, text):
    good, bad = text(good="a\nb\n", bad="a\n\n")
    refused(train([good, bad], [good, good]), f"{bad}, line 2: empty")


def test_empty_corpus(train, text):
    good, empty = text(good="a\n", empty="")
    refused(train([empty, good], [good, good]), f"{empty} is empty")
    refused(train([good, good], [empty, good]), f"{empty} is empty")


def test_all_sentences_over_the_limit(train, text):
    (long,) = text(long="a b a b a b\n" * 9)
    options = ("--tokenizer=char", "--max-length=4")
    ended = train([long, long], [long, long], *options)
    assert ended.status == 1
    assert "9 of 9 pairs have more than 4 tokens" in ended.err
    assert "none of its 9 sentence pairs" in ended.err.splitlines()[-1]


def test_a_sentence_over_the_limit_is_reported(command, text, tmp_path):
    training, valid = text(
        training="ab\tba\n" * 5 + "abababab\tab\n", valid="ab\tba\n"
    )
    ended = command(
        *("train", tmp_path / "model", "--train-tsv", training),
        *("--valid-tsv", valid, "--tokenizer=char", "--max-length=6"),
        *("--max-steps=1", "--device=cpu"),
    )
    assert ended.status == 0, ended.err
    assert "1 of 6 pairs have more than 6 tokens" in ended.err
    assert "the first in line 6" in ended.err


def test_extra_pairs_are_told_apart(command, text, tmp_path):
    table, more = text(table="ab\tba\n" * 5, more="abc\tcba\n" * 3)
    ended = command(
        *("train", tmp_path / "model", "--train-tsv", table),
        *("--valid-tsv", table, "--extra", more, "--tokenizer=char"),
        *("--max-steps=1", "--device=cpu"),
    )
    assert ended.status == 0, ended.err
    data = json.loads((tmp_path / "model" / "run.json").read_text())["data"]
    assert (data["pairs"], data["extra"]) == (5, 3)
    card = (tmp_path / "model" / "README.md").read_text()
    assert "5 sentence pairs of text\nand 3 extra ones" in card
    bad = text(bad="abc\n")[0]
    files = ("--task=copy", "--extra", bad)
    refused(command("train", tmp_path / "next", *files), f"{bad}, line 1")


def test_extra_pairs_have_a_share(command, text, tmp_path):
    table, more, odd = text(
        **{"table": "ab\tba\n" * 6, "more": "ca\tac\n" * 9, "a=b": "ac\tca\n"}
    )
    words = (
        *("train", tmp_path / "model", "--train-tsv", table),
        *("--valid-tsv", table, "--extra", odd, "--extra", f"{more}=0.5"),
        *("--tokenizer=char", "--max-steps=1", "--device=cpu"),
    )
    planned = command(*words, "--dry-run")
    assert re.search(r"pairs +16\npairs an epoch +14\n", planned.out)
    ended = command(*words)
    assert ended.status == 0, ended.err
    data = json.loads((tmp_path / "model" / "run.json").read_text())["data"]
    assert (data["pairs"], data["extra"]) == (6, 10)
    assert data["shares"] == {"extra 2": 0.5}
    card = (tmp_path / "model" / "README.md").read_text()
    assert "a share of an epoch's pairs: extra 2 0.5" in card
    other = [f"{more}=0.25" if x == f"{more}=0.5" else x for x in words]
    refused(command(*other, "--resume"), "{'extra 2': 0.5}", "0.25")
    for share, told in [("2", "a share of 2"), ("half", "'half' is no share")]:
        wrong = ("train", tmp_path / "next", "--task=copy")
        refused(command(*wrong, f"--extra={more}={share}"), more, told)


def test_batch_smaller_than_a_sentence(train, text):
    (good,) = text(good="a b a b a b\n")
    options = ("--tokenizer=char", "--batch-tokens=4")
    refused(train([good, good], [good, good], *options), "batch of 4")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_vocabulary_too_large(train, text, kind):
    (good,) = text(good="hello world\nhello there\n")
    files = [good, good]
    ended = train(files, files, f"--tokenizer={kind}")
    refused(ended, "--vocab-size: ", "8000", "the largest possible is ")
    largest = int(re.search(r"possible is (\d+)", ended.err)[1])
    over = train(files, files, f"--tokenizer={kind}", "--vocab-size=60")
    assert (over.status == 1) == (largest < 60)
    assert "INTERNAL" not in over.err


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_vocabulary_too_small(train, text, kind):
    (good,) = text(good="hello world\n")
    options = (f"--tokenizer={kind}", "--vocab-size=6")
    refused(train([good, good], [good, good], *options), "too small", "12")


@pytest.mark.parametrize(
    "words",
    [
        ("--task", "fly"),
        ("--task=copy", "--preset=huge"),
        ("--task=copy", "--tokenizer=letters"),
        ("--task=copy", "--schedule=flat"),
        ("--task=copy", "--device=abacus"),
        ("--task=copy", "--max-steps=0"),
        ("--task=copy", "--dropout=1.5"),
        ("--task=copy", "--seed=20261122103000"),
    ],
)
def test_unknown_choices_are_usage_errors(command, tmp_path, words):
    ended = command("train", tmp_path / "model", *words)
    assert ended.status == 2
    assert "Invalid value" in ended.err and "Traceback" not in ended.err
    assert not (tmp_path / "model").exists()


def test_no_text_or_two(command, text, tmp_path):
    (good,) = text(good="a\n")
    refused(command("train", tmp_path / "model"), "--task, or --train")
    files = ("--train", good, good)
    both = command("train", tmp_path / "model", "--task=copy", *files)
    refused(both, "--task, or --train")
    refused(command("train", tmp_path / "model", *files), "--valid")


def test_output_that_exists(command, trained, tmp_path):
    refused(command("train", trained, "--task=copy"), trained, "--resume")
    (tmp_path / "notes").write_text("mine")
    refused(command("train", tmp_path, "--task=copy"), "not empty")
    refused(command("train", tmp_path / "notes", "--task=copy"), "a file")
    checkpoint = next((trained / "checkpoints").iterdir())
    refused(command("average", tmp_path, checkpoint), "exists already")
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


@pytest.mark.parametrize(
    "words, named",
    [
        ("--risk=1", "--risk: 0, or at least 2"),
        ("--risk=4 --r-drop=5", "without --r-drop"),
        ("--risk=4", "--from MODEL"),
        ("--new-subwords", "--from MODEL"),
        ("--peak-rate=inf", "--peak-rate inf: must be from 1e-09 to 1e+38"),
        ("--set train.clip=-1", "`clip=-1.0`: must be from 1e-09 to inf"),
        ("--set train.label_smoothing=2", "--label-smoothing 2.0: must be"),
        ("--set train.seed=99999999999", "from 0 to 4,294,967,295"),
        ("--set tokenizer=foo", "must be bpe or unigram or char"),
        ("--set processes=4", "no field 'processes'"),
        ("--source=de --target=en", "--task copy has no other languages"),
        ("--tokenizer=char --bpe-dropout=0.1", "merges"),
        ("--from=MODEL --vocab-size=30", "vocab_size: the model that --from"),
        ("--from=MODEL --tokenizer=bpe", "tokenizer: the model that --from"),
        ("--from=MODEL --post-norm", "model.pre_norm: the model that --from"),
        ("--from=MODEL --set model.layers=6", "model.layers: the model that"),
    ],
)
def test_what_a_run_refuses_its_plan_refuses(
    command, trained, tmp_path, words, named
):
    options = words.replace("MODEL", str(trained)).split()
    for last in ([], ["--dry-run"]):
        folder = tmp_path / "model"
        ended = command("train", folder, "--task=copy", *options, *last)
        refused(ended, named)
        assert not folder.exists()


def test_a_plan_for_a_folder_that_is_taken(command, trained, tmp_path):
    """It writes nothing there, so it has nothing to refuse."""
    before = sorted((x, x.stat()) for x in trained.rglob("*"))
    words = ("--task=copy", "--dry-run")
    ended = command("train", trained, *words)
    assert ended.status == 0 and "updates" in ended.out, ended.err
    assert sorted((x, x.stat()) for x in trained.rglob("*")) == before
    ended = command("train", tmp_path / "none", *words, "--resume")
    refused(ended, "no run to resume")


def test_what_a_start_leaves_free(command, trained, tmp_path):
    words = ("--task=copy", f"--from={trained}", "--set=model.dropout=0.2")
    own = ("--new-subwords", "--vocab-size=40")
    for more in ((), own):
        ended = command("train", tmp_path / "x", *words, *more, "--dry-run")
        assert ended.status == 0, ended.err


def test_a_checkpoint_counts_once_in_a_mean(command, trained, tmp_path):
    last = max((trained / "checkpoints").iterdir())
    ended = command("average", tmp_path / "mean", last, last)
    refused(ended, "named twice")


def test_checkpoints_of_two_runs_have_no_mean(command, trained, tmp_path):
    other = shutil.copytree(trained, tmp_path / "other")
    one, two = (
        next((folder / "checkpoints").iterdir()) for folder in (trained, other)
    )
    ended = command("average", tmp_path / "mean", one, two)
    refused(ended, two, "the mean of two runs")
    assert not (tmp_path / "mean").exists()


def test_closed_streams(trained):
    program = f"{sys.executable} -m annotated_transformer translate {trained}"
    for closing, name in (("<&-", "input"), ("</dev/null >&-", "output")):
        ended = subprocess.run(
            ["sh", "-c", f"{program} {closing}"], stderr=subprocess.PIPE
        )
        assert ended.returncode == 1
        assert ended.stderr.startswith(b"error: standard " + name.encode())
        assert ended.stderr.count(b"\n") == 1


def test_an_error_is_never_among_the_outputs():
    program = f"{sys.executable} -m annotated_transformer translate nowhere"
    ended = subprocess.run(
        ["sh", "-c", f"{program} 2>&-"], stdout=subprocess.PIPE
    )
    assert ended.returncode == 1 and ended.stdout == b""


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes")
def test_a_pause_is_not_the_end(trained):
    """Where another program has told the pipe not to wait."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    words = [sys.executable, "-m", "annotated_transformer", "translate"]
    with subprocess.Popen(
        [*words, str(trained), "--beam=1"],
        stdin=reading,
        stdout=subprocess.PIPE,
    ) as process:
        os.close(reading)
        for line in (b"abc\n", b"de\n"):
            os.write(writing, line)
            assert process.stdout.readline()  # now it waits for more
        os.close(writing)
    assert process.returncode == 0


def test_a_command_in_any_bytes_can_be_read_back(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x", "train", "a\udcff.en"])
    told = training_command.command_line()
    assert told == r"annotated-transformer train 'a\xff.en'"


@pytest.mark.parametrize("name", ["a\udcff", "link", "file/model"])
def test_outputs_that_cannot_be(command, text, tmp_path, name):
    text(file="")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    ended = command("train", tmp_path / name, "--task=copy")
    refused(ended, "choose another")


def test_text_that_no_subwords_can_be_learned_from(train, text):
    (odd,) = text(odd="a \u2585 b\n" * 3)
    refused(train([odd, odd], [odd, odd]), "U+2585")


@pytest.mark.parametrize(
    "message",
    ["can't allocate memory: you tried", "MPS backend out of memory"],
)
def test_memory_that_a_library_lacks(monkeypatch, capsys, message):
    def fails():
        raise RuntimeError(message)

    monkeypatch.setattr(app, "app", fails)
    with pytest.raises(SystemExit):
        app.main()
    assert "error: out of memory" in capsys.readouterr().err


def test_resume_of_nothing(command, tmp_path):
    ended = command("train", tmp_path / "model", "--task=copy", "--resume")
    refused(ended, "no run to resume", "without --resume")


def test_languages_that_the_corpus_lacks(command, tmp_path):
    words = ("train", tmp_path / "model", "--task=multi30k", "--target=xx")
    refused(command(*words), "'xx'", "en, de, fr")


def test_model_folder_that_is_none(command, tmp_path, text):
    (file,) = text(file="a\n")
    for folder in (tmp_path, file):
        refused(command("translate", folder), folder, "no trained model")
    gone = tmp_path / "gone"
    refused(command("translate", gone), gone, "no such folder")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model"])
def test_model_folder_that_is_truncated(command, trained, tmp_path, name):
    folder = shutil.copytree(trained, tmp_path / "model")
    path = folder / name
    path.write_bytes(path.read_bytes()[:-9])
    refused(command("translate", folder), path, "copy the whole folder")
    path.unlink()
    refused(command("translate", folder), name, "is missing")


def test_model_of_another_configuration(command, trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "model")
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["model"]["layers"] = 3
    path.write_text(json.dumps(config))
    refused(command("translate", folder), "another configuration")
    path.write_text(path.read_text()[:99])
    refused(command("translate", folder), "not the configuration of a model")


def test_device_that_is_absent(command, trained):
    import torch

    if torch.backends.mps.is_available():
        pytest.skip("mps is at hand here")
    ended = command("translate", trained, "--device=mps")
    refused(ended, "device 'mps' is", "cpu")


def test_corrupted_download(command, tmp_path):
    name = next(iter(MULTI30K_SUMS))
    (tmp_path / name).write_bytes(b"damaged on its way")
    ended = command("data", "multi30k", "--dir", tmp_path)
    refused(ended, tmp_path / name, "is damaged", "delete it")


def test_every_task_has_a_recipe():
    from annotated_transformer.commands.train_options import Task

    assert set(RECIPES) == {task.value for task in Task}
    letters = copy_corpus()
    assert len(letters.valid) == len(letters.tests["test"]) == 500
    every = letters.train + letters.valid + letters.tests["test"]
    assert len(set(every)) == 21_000
