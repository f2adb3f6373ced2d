"""What strangers write, or leave out: one clear line, and nothing lost."""

import gzip
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from refusal import refused

from annotated_transformer import Corpus, Translator
from annotated_transformer.data import Tokenizer, copy_task, train_tokenizer
from annotated_transformer.errors import UserError, printable
from annotated_transformer.pairs.alignment import align_pairs
from annotated_transformer.pairs.augmentation import extra_pairs
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.system.signals import stop_signals

PAIRS = copy_task(60)
PROGRAM = [sys.executable, "-m", "annotated_transformer"]


@pytest.mark.parametrize(
    "wrong", [["ab"], "ab", [("a", "b"), ("a",)], [("a", 1)], [None]]
)
def test_what_is_no_pair_is_named(wrong, trained):
    translator = Translator.load(trained)
    for use in (score_pairs, align_pairs):
        with pytest.raises(UserError, match=r"pair \d"):
            use(translator, iter(wrong))
    with pytest.raises(UserError, match=r"pair \d"):
        extra_pairs(translator, translator, iter(wrong))


def test_pairs_may_come_one_by_one(trained):
    translator = Translator.load(trained)
    assert len(score_pairs(translator, iter(PAIRS))) == len(PAIRS)
    with pytest.raises(ValueError, match="number = -1"):
        extra_pairs(translator, translator, PAIRS, -1)


def test_a_corpus_has_pairs_of_whole_characters():
    """In a process whose signatures are not checked, as a user's are not."""
    program = """
from annotated_transformer import Corpus
good = [("a", "b")]
for wrong in ["ab"], good + [("a",)], [("a", 1)], good + [("a\\ud800", "b")]:
    for train, valid in (wrong, good), (good, wrong):
        try:
            Corpus(train, valid, {}, "own", "a", "b", {})
        except ValueError as error:
            print(type(error).__name__, error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True
    )
    lines = ended.stdout.decode().splitlines()
    assert len(lines) == 8
    assert all(re.match(r"UserError .*pair [01]\b", line) for line in lines)
    assert lines[6].startswith("UserError train, pair 1: half a character")


@pytest.mark.parametrize("name", ["ä" * 101, "e\x1b[2Jn", "e\nn"])
def test_a_language_has_a_short_printable_name(name, command, tmp_path):
    with pytest.raises(UserError, match="language"):
        Corpus(PAIRS, PAIRS, {}, "own", name, "b", {})
    lines = "".join(f"{a}\t{b}\n" for a, b in PAIRS)
    (tmp_path / "t.tsv").write_text(lines)
    own = [f"--{x}-tsv={tmp_path / 't.tsv'}" for x in ("train", "valid")]
    refused(
        command("train", tmp_path / "out", *own, "--source", name), "language"
    )
    assert not (tmp_path / "out").exists()


RUSSIAN = "\u043f\u0440\u0438\u0432\u0435\u0442"  # all of it below U+0450


@pytest.mark.parametrize("text", ["a dog runs\nacross – a beach\n", RUSSIAN])
@pytest.mark.parametrize("name", ["UTF-16", "UTF-32"])
@pytest.mark.parametrize("order", ["", "LE", "BE"])
def test_wide_characters_are_refused(
    order, name, text, command, trained, tmp_path
):
    """With a mark and without one."""
    path = tmp_path / "input"
    path.write_bytes(f"{text}\n{text}\n".encode(name + order))
    refused(command("translate", trained, path), name, "iconv")
    refused(command("translate", trained, stdin=path.read_bytes()), name)


def test_a_zero_in_a_line_makes_no_wide_characters(command, trained):
    given = b"abc\nd\0e\n\0\nabc\n"
    ended = command("translate", trained, stdin=given)
    assert ended.status == 0 and ended.out.count("\n") == 4


def test_carriage_returns_alone_are_refused(command, trained, tmp_path):
    path = tmp_path / "input"
    path.write_bytes(b"abc\rde\r")
    refused(command("translate", trained, path), "carriage returns alone")
    path.write_bytes(b"abc\r")  # one line, of a file cut short
    assert command("translate", trained, path).status == 0


def test_a_gzip_file_of_nothing_is_cut_short(command, trained, tmp_path):
    path = tmp_path / "input.gz"
    path.write_bytes(b"")
    refused(command("translate", trained, path), "cut short")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="not Linux")
def test_a_device_without_end_is_no_text(command, trained):
    refused(command("score", trained, "/dev/zero", "/dev/zero"), "a device")
    assert command("translate", trained, "/dev/null") == (0, "", "")


def test_a_gzip_bomb_is_not_unpacked(command, trained, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "annotated_transformer.system.text_lines.MOST_UNZIPPED", 9999
    )
    path = tmp_path / "input.gz"
    path.write_bytes(gzip.compress(b"a" * 10_000))
    refused(command("translate", trained, path), path, "unpacks to more than")
    path.write_bytes(gzip.compress(b"abc\n" * 2_000))
    assert command("translate", trained, path).status == 0


def test_a_line_stays_a_line_and_a_column_a_column(
    command, trained, monkeypatch
):
    def decode(self, ids):
        return "x\ty\nz"

    monkeypatch.setattr("annotated_transformer.data.Tokenizer.decode", decode)
    given = b"abc\nde\n"
    plain = command("translate", trained, stdin=given)
    assert plain.out == "x\ty z\n" * 2
    best = command("translate", trained, "--n-best=2", stdin=given)
    rows = [line.split("\t") for line in best.out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert all(len(row) == 3 and row[2] == "x y z" for row in rows)


def test_a_long_line_is_left_blank_and_named(command, trained):
    given = b"abc\n" + b"a" * 5_000_000 + b"\nabc\n"
    ended = command("translate", trained, stdin=given)
    first, second, third, end = ended.out.split("\n")
    assert ended.status == 1 and first == third and not second and not end
    assert "standard input, line 2: 5000000 characters" in ended.err
    assert "1 lines left blank" in ended.err


def test_a_line_without_end_is_refused(command, trained, monkeypatch):
    monkeypatch.setattr(
        "annotated_transformer.system.stdio.MOST_WAITING", 99_999
    )
    ended = command("translate", trained, stdin=b"abc\n" + b"a" * 300_000)
    assert ended.status == 1
    assert "line 2" in ended.err and "without a line feed" in ended.err


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_checkpoint_is_a_file(make, command, trained, tmp_path):
    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    fifo = folder / "checkpoints" / "step-00000008.safetensors"
    make(fifo)
    refused(command("average", tmp_path / "mean", fifo), fifo, "it is no file")


def test_a_checkpoint_that_is_a_link_to_itself(command, tmp_path):
    path = tmp_path / "step-00000008.safetensors"
    path.symlink_to(path)
    refused(command("average", tmp_path / "mean", path), path, "symbolic")


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--set=train.peak_rate=0", "--peak-rate 0.0"),
        ("--accumulate=4294967295", "--accumulate 4294967295: must be"),
        ("--accumulate=99999999999999999999", "--accumulate 9999"),
        ("--set=model.layers=1000000000000", "`layers=1000000000000`"),
        ("--vocab-size=4294967295", "--vocab-size 4294967295"),
        ("--set=model.layers=" + "[" * 100_000, "must be"),
    ],
)
def test_settings_have_bounds(option, told, command, recipe_options, tmp_path):
    ended = command("train", tmp_path / "out", *recipe_options, option)
    refused(ended, told)
    assert len(ended.err) < 500
    assert not (tmp_path / "out").exists()


def test_processes_need_an_address(recipe_options, tmp_path):
    environ = {**os.environ, "RANK": "0", "WORLD_SIZE": "2"}
    environ.pop("MASTER_ADDR", None)
    ended = subprocess.run(
        [*PROGRAM, "train", tmp_path / "out", *recipe_options],
        env=environ,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "MASTER_ADDR is not set" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_other_languages_do_not_resume(command, recipe_options, trained):
    ended = command(
        "train", trained, *recipe_options, "--resume", "--target=fr"
    )
    refused(ended, "target", "fr")


def test_escapes_are_written_out(command, trained, tmp_path):
    assert printable("a\x1b[2J\u202eb\n") == "a\\x1b[2J\\u202eb\n"
    ended = command("translate", tmp_path / "no\x1b[2Jmodel", stdin=b"abc\n")
    refused(ended, "no\\x1b[2Jmodel")


def test_penalties_of_scores_keep_their_sign(command, trained, tmp_path):
    path = tmp_path / "text"
    path.write_text("abc\n")
    ended = command("score", trained, path, path, "--alpha=50")
    assert float(ended.out) < 0


def test_a_checkpoint_that_is_not_there(command, trained, tmp_path):
    there, gone = trained / "checkpoints/step-00000040.safetensors", "gone"
    for given in (there, gone), (gone, there):
        ended = command("average", tmp_path / "mean", *given)
        refused(ended, "gone: no such file")


def test_a_training_goes_on_from_known_subwords(
    command, trained, recipe_options, tmp_path
):
    shutil.copytree(trained, tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    config["history"]["recipe"]["tokenizer"] = "wordpiece\x1b[2J"
    path.write_text(json.dumps(config))
    options = [x for x in recipe_options if "tokenizer" not in x]
    start = f"--from={tmp_path / 'model'}"
    refused(
        command("train", tmp_path / "out", *options, start), "wordpiece\\x1b"
    )


def test_a_run_keeps_its_tokenizer(command, trained, recipe_options, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    other = train_tokenizer(["jihgfedcba", "jjjjjj"], 15, "char")
    path = tmp_path / "run" / "tokenizer.model"
    assert len(other) == len(Tokenizer(path.read_bytes()))
    assert other.model != path.read_bytes()
    path.write_bytes(other.model)
    ended = command("train", tmp_path / "run", *recipe_options, "--resume")
    refused(ended, "tokenizer.model")


LOST = {
    "full disk": "2>/dev/full",
    "reader that has left": "2>&1 | head -n 1",
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="not Linux")
@pytest.mark.parametrize("name", LOST)
def test_a_training_outlives_its_standard_error(
    name, recipe_options, trained, tmp_path
):
    program = shlex.join([*PROGRAM, "train", f"{tmp_path / 'out'}"])
    options = shlex.join(recipe_options)
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} {options} {LOST[name]}"],
        capture_output=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
    )
    assert ended.returncode == 0
    assert (tmp_path / "out/model.safetensors").read_bytes() == (
        trained / "model.safetensors"
    ).read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such terminals")
def test_a_training_shows_its_progress_on_a_terminal(
    recipe_options, trained, tmp_path
):
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "train", tmp_path / "out", *recipe_options],
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
        stderr=theirs,
    )
    os.close(theirs)
    told = bytearray()

    def read():
        with suppress(OSError):  # the terminal is closed
            while data := os.read(ours, 1 << 16):
                told.extend(data)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        assert process.wait(120) == 0
    finally:
        process.kill()
    reader.join()
    os.close(ours)
    assert b"100%" in told and b"the model is ready" in told
    assert (tmp_path / "out/model.safetensors").read_bytes() == (
        trained / "model.safetensors"
    ).read_bytes()


def test_hanging_up_saves_a_checkpoint(recipe_options, tmp_path):
    output = tmp_path / "out"
    options = [*recipe_options, "--max-steps=100000"]
    process = subprocess.Popen(
        [*PROGRAM, "train", output, *options],
        # the tests themselves may run under nohup, which ignores it
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    while not [*output.glob("checkpoints/*.safetensors")]:
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 128 + signal.SIGHUP
    last = max(output.glob("checkpoints/*.safetensors"))
    step = json.loads((output / "metrics.jsonl").read_text().splitlines()[-1])[
        "step"
    ]
    assert int(last.stem[5:]) == step


def test_hanging_up_is_ignored_where_it_was(monkeypatch):
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with stop_signals() as received:
            signal.raise_signal(signal.SIGHUP)
        assert not received
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with stop_signals() as received:
            signal.raise_signal(signal.SIGHUP)
        assert received == [signal.SIGHUP]
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("seconds", [0.3, 1.0, 2.0])
def test_ctrl_c_while_the_program_loads(seconds, recipe_options, tmp_path):
    process = subprocess.Popen(
        [*PROGRAM, "train", tmp_path / "out", *recipe_options],
        stderr=subprocess.PIPE,
        text=True,
        # a shell has those ignore it that it starts in the background
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode and "annotated_transformer/" not in told
