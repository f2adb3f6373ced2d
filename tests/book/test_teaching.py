"""The page for teachers: what it promises is in the book."""

import json
import re
from pathlib import Path

import pytest

from annotated_transformer.teaching.exercises import exercises

BOOK = Path(__file__).parents[2] / "book"
PAGE = (BOOK / "teaching.md").read_text("utf-8")
PAGES = {
    label: path.stem
    for path in BOOK.glob("*.ipynb")
    for label in re.findall(r"\((chap-[a-z-]+)\)=", path.read_text("utf-8"))
}


def sessions() -> list[list[str]]:
    """The cells of each row of the table of sessions."""
    rows = re.findall(r"^\| (\d+) \| (\{ref.*) \|$", PAGE, re.MULTILINE)
    return [[number, *rest.split(" | ")] for number, rest in rows]


@pytest.mark.parametrize("session", sessions(), ids=lambda row: row[0])
def test_a_session_has_its_minutes_and_exercises(session, book):
    _, read, minutes, _, named = session
    words = json.loads((book.parent / "words.json").read_text())
    labels = re.findall(r"`(chap-[a-z-]+)`", read)
    prose = sum(words[f"book/{PAGES[label]}"] for label in labels)
    assert int(minutes.split()[0]) == pytest.approx(prose / 200, abs=1)
    found = re.findall(r"`([a-z-]+)`", named)
    assert found and {exercises()[name].chapter for name in found} <= {
        PAGES[label] for label in labels
    }


def test_hints_are_given_for_a_file_of_answers(tmp_path, monkeypatch, capsys):
    (tmp_path / "student.py").write_text(
        "import torch\n"
        "def causal_mask(n):\n"
        "    return torch.ones(n, n, dtype=torch.bool).tril()\n"
        "def three_masks(): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "causal-mask right"
    assert lines[1].startswith("three-masks It cannot be called as ")
    assert len(lines) == 2
