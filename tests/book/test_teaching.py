"""The page for teachers: what it promises is in the book."""

import json
import math
import re
from pathlib import Path

import chapters
import pytest
import torch
from torch.nn import functional as F

from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.loss import label_smoothing_loss
from annotated_transformer.optimizer import inverse_sqrt_rate
from annotated_transformer.teaching.exercises import exercises
from ledger.records import read_run

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


def test_minutes_of_every_notebook_are_those_of_the_record():
    """A new notebook is to be measured with all others."""
    seconds = read_run("benchmark-notebooks")["seconds"]
    assert [*seconds] == [path.stem for path in chapters.find_chapters()]
    for name, x in seconds.items():
        assert f"\n| {{doc}}`{name}` | {x / 60:.1f} |\n" in PAGE
    assert max(seconds.values()) < 60
    assert f"all {len(seconds)} together take eight" in PAGE
    assert sum(seconds.values()) / 60 == pytest.approx(8, abs=0.5)


def key(number: int) -> str:
    """What the key says of a question."""
    *_, answer = re.findall(rf"^\| {number} \| (.*) \|$", PAGE, re.MULTILINE)
    return answer


def test_key_of_the_exam_has_the_numbers_of_the_code():
    q, k = torch.tensor([[2.0, 0]]), torch.tensor([[1.0, 0], [0, 1], [1, 1]])
    values = torch.tensor([[3.0], [6], [9]])
    weights = (q @ k.T / math.sqrt(2)).softmax(-1)
    a, b, c = weights[0].tolist()
    out = F.scaled_dot_product_attention(q, k, values).item()
    assert f"weights {a:.3f}, {b:.3f} and {c:.3f}; output {out:.2f}" in key(1)

    seen = torch.ones(5, 5).tril() * torch.tensor([1, 1, 1, 0, 0])
    *first, last = map(str, seen.sum(-1).int().tolist())
    assert f"{', '.join(first)} and {last} keys" in key(2)

    for heads in (8, 16):
        layer = MultiHeadAttention(256, heads)
        assert f"{sum(p.numel() for p in layer.parameters()):,}" in key(3)

    p = torch.tensor([0.75, 0.25])
    for smoothing in (0.0, 0.1):
        table = (1 - smoothing) * F.pad(p, (0, 8)) + smoothing / 10
        logits = table.clamp(min=1e-30).log().expand(2, 10)  # the best model
        parts = [
            label_smoothing_loss(
                logits[i : i + 1], torch.tensor([i]), smoothing
            )
            for i in range(2)
        ]
        assert f"{(p[0] * parts[0] + p[1] * parts[1]).item():.3f}" in key(7)

    rates = [inverse_sqrt_rate(step, 256, 400) for step in range(1, 4001)]
    half = next(
        step
        for step, rate in enumerate(rates, 1)
        if step > 400 and rate <= max(rates) / 2 * (1 + 1e-9)
    )
    assert f"{half:,}, which is {half - 400:,} after the peak" in key(8)
    assert f"{0.6 / 4:.2f}" in key(9) and f"{0.4 * 0.9:.2f}" in key(9)
    assert f"{2 * 32 * 8 * 128 * 2:,}" in key(13)
