"""What strangers write, or leave out: one clear line, and nothing lost."""

import signal
import subprocess
import sys
import time

import pytest
from refusal import refused

from annotated_transformer import Translator
from annotated_transformer.data import copy_task
from annotated_transformer.errors import UserError, printable
from annotated_transformer.pairs.alignment import align_pairs
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.system.signals import stop_signals

PAIRS = copy_task(60)
PROGRAM = [sys.executable, "-m", "annotated_transformer"]


@pytest.mark.parametrize("wrong", ["ab", [("a", "b"), ("a",)], [("a", 1)]])
def test_what_is_no_pair_is_named(wrong, trained):
    translator = Translator.load(trained)
    for use in (score_pairs, align_pairs):
        with pytest.raises(UserError, match=r"pair \d"):
            use(translator, iter(wrong))
    assert len(score_pairs(translator, iter(PAIRS))) == len(PAIRS)


def test_a_line_stays_a_line_and_a_column_a_column(
    command, trained, monkeypatch
):
    def decode(self, ids):
        return f"x\ty\nz{ids}"

    monkeypatch.setattr("annotated_transformer.data.Tokenizer.decode", decode)
    given = b"abc\nde\n"
    plain = command("translate", trained, stdin=given)
    assert [x[:6] for x in plain.out.splitlines()] == ["x y z["] * 2
    best = command("translate", trained, "--n-best=2", stdin=given)
    rows = [line.split("\t") for line in best.out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert all(len(row) == 3 and row[2][:6] == "x y z[" for row in rows)


def test_a_long_line_is_named(command, trained):
    given = b"abc\n" + b"a" * 1_000_000 + b"\nabc\n"
    ended = command("translate", trained, stdin=given)
    assert ended.status == 1 and ended.out.count("\n") < 2
    assert "standard input, line 2: 1000000 characters" in ended.err


def test_a_line_without_end_is_refused(command, trained, monkeypatch):
    monkeypatch.setattr(
        "annotated_transformer.system.console.MOST_WAITING", 99_999
    )
    ended = command("translate", trained, stdin=b"abc\n" + b"a" * 300_000)
    assert ended.status == 1
    assert "line 2" in ended.err and "without a line feed" in ended.err


def test_escapes_are_written_out(command, tmp_path):
    assert printable("a\x1b[2J\u202eb\n") == "a\\x1b[2J\\u202eb\n"
    ended = command("translate", tmp_path / "no\x1b[2Jmodel", stdin=b"abc\n")
    refused(ended, "no\\x1b[2Jmodel")


def test_hanging_up_is_ignored_where_it_was():
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


@pytest.mark.parametrize("seconds", [1.0, 3.0])
def test_ctrl_c_while_the_program_loads(seconds, recipe_options, tmp_path):
    endless = ["--max-steps=1000000"]  # it would be done before the signal
    process = subprocess.Popen(
        [*PROGRAM, "train", tmp_path / "out", *recipe_options, *endless],
        stderr=subprocess.PIPE,
        text=True,
        # a shell has those ignore it that it starts in the background
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    # of the signal, or after a checkpoint: nothing that loads swallows it
    assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert "Traceback" not in told
