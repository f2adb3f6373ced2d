"""The recorded runs: whole, and shown as they are."""

import json
import re

import pytest

from ledger import BOOK
from ledger.records import read_run, show_run

RECORDS = sorted((BOOK / "runs").glob("*.json"))
RUNS = [
    path
    for path in RECORDS
    if "benchmark" not in path.stem and "experiment" not in read_run(path.stem)
]


# of two folders or more, in the home folder, or on a drive of Windows
PATHS = re.compile(r"(?<![\w.:/<-])(/[\w.-]+){2,}|~/|\b[A-Za-z]:\\")


def texts(part):
    """Every text of a record, names among them."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        yield from (text for inner in part for text in texts(inner))
    if isinstance(part, dict):
        yield from texts([*part.values()])


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_no_record_holds_a_path_of_its_machine(path):
    found = [text for text in texts(read_run(path.stem)) if PATHS.search(text)]
    assert found == []


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_record_says_what_a_reader_needs(path, capsys):
    run = read_run(path.stem)
    assert run == json.loads(path.read_text("utf-8"))
    assert {"command", "recipe", "data", "date", "versions", "machine"} <= {
        *run
    }
    steps = [line["step"] for line in run["curve"]]
    assert steps == sorted(set(steps))
    assert steps[-1] == run["result"]["updates"]
    assert run["data"]["sha256"]
    for scores in run["scores"].values():
        assert {"bleu_lowercase", "bleu_moses", "chrf"} < {*scores}
        assert 0 < scores["bleu"] < 100
        assert "tok:13a" in scores["signatures"]["bleu"]
    show_run(run)
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in printed] == [
        "command",
        "data",
        "time",
    ]


def test_a_missing_record_names_those_there_are():
    with pytest.raises(FileNotFoundError, match=r"no such record.*multi30k"):
        read_run("nothing")
