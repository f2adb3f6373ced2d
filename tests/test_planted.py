"""A fault that is planted in a definition turns the claims about it red.

Each fault is planted in a copy of the package, and in the exported cell where
the chapter that is run defines the thing itself. Only the chapters that own a
claim about it are run, with every error allowed, and exactly those claims must
fail. It takes minutes: `make soak`.
"""

import os
import re
import shutil
from pathlib import Path

import chapters
import pytest
from export import export_cells
from nbclient import NotebookClient

RED = re.compile(r"claim (\S+) does not agree")
# module, what stands there, what is planted, and what must go red where
FAULTS = {
    "no scale": (
        "attention",
        "key.transpose(-2, -1) / math.sqrt(query.size(-1))",
        "key.transpose(-2, -1)",
        {"01_attention": {"P-3.2.1-a", "P-3.2.2-a"}},
    ),
    "softmax over the wrong axis": (
        "attention",
        ".softmax(-1)",
        ".softmax(-2)",
        {"01_attention": {"P-3.2.1-a", "P-3.2.2-a"}},
    ),
    "leaking mask": (
        "attention",
        "device=device).tril()",
        "device=device).tril(1)",
        {"03_layers": {"P-3.1-d"}, "04_model": {"P-3-a"}},
    ),
    "no positions": (
        "embedding",
        "return waves[:, :d_model]",
        "return 0 * waves[:, :d_model]",
        {"02_embedding": {"P-3.5-f"}},
    ),
    "unshifted targets": (
        "data",
        "[BOS, *target[:-1]]",
        "target",
        {"09_training": {"C-a", "averaging-gain-hot", "untrained-tied"}},
    ),
    "dropout left on": (
        "layers",
        "nn.Dropout(dropout)",
        "lambda x: F.dropout(x, dropout)",
        {"10_decoding": {"cache-changes-nothing"}},
    ),
    "candidates not shared out": (
        "risk",
        "log_p.softmax(-1)",
        "log_p.exp()",
        {"13_risk": {"risk-gradient"}},
    ),
}
# one of them each time, all of them at length
TRIED = FAULTS if "SOAK" in os.environ else ["no positions"]


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_can_still_be_planted(name):
    module, old, _, owners = FAULTS[name]
    text = (chapters.PACKAGE / f"{module}.py").read_text("utf-8")
    assert old in text
    assert all((chapters.BOOK / f"{owner}.ipynb").exists() for owner in owners)


@pytest.mark.parametrize("name", TRIED)
def test_exactly_the_claims_about_it_go_red(name, tmp_path, monkeypatch):
    module, old, new, owners = FAULTS[name]
    folder = tmp_path / "annotated_transformer"
    shutil.copytree(chapters.PACKAGE, folder)
    shutil.copytree(
        chapters.BOOK, tmp_path / "book", ignore=shutil.ignore_patterns("_*")
    )
    planted = folder / f"{module}.py"
    planted.write_text(planted.read_text("utf-8").replace(old, new), "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = {
        owner: red(tmp_path / "book", owner, old, new) for owner in owners
    }
    assert found == owners


def red(book: Path, owner: str, old: str, new: str) -> set[str]:
    """The claims that fail when a chapter is run with the fault in it."""
    notebook = chapters.read(book / f"{owner}.ipynb")
    for cell in export_cells(notebook):
        cell.source = cell.source.replace(old, new)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(book)}},
    )
    client.execute()
    errors = [
        output.evalue
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    ]
    return {claim for error in errors for claim in RED.findall(error)}
