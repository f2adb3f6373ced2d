"""A fault in the code is found. `make soak`; not a part of `make test`.

Each of FAULTS is planted in a copy of the package, and in the exported cell
where the chapter that is run defines the thing itself. Only the chapters that
check it are run, with every error allowed, and exactly the checks that are
named must fail: a claim by its id, an assertion by what it says.

Others are drawn at random: an operator, a comparison or a number in a
chapter's module is another one, and some test of that module has to fail.
"""

import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import chapters
import pytest
from export import export_cells
from nbclient import NotebookClient
from nbformat import NotebookNode

TESTS = Path(__file__).parent
CLAIM = re.compile(r"(?m)^claim (\S+) ([a-z ]+): ")
WRONG_ANSWERS = {"by loop", "answers", "from the formula"}
# module, what stands there, what is planted, and what must go red where
FAULTS = {
    "no scale": (
        "attention",
        "key.transpose(-2, -1) / math.sqrt(query.size(-1))",
        "key.transpose(-2, -1)",
        {"01_attention": WRONG_ANSWERS},
    ),
    "softmax over the wrong axis": (
        "attention",
        ".softmax(-1)",
        ".softmax(-2)",
        {"01_attention": WRONG_ANSWERS},
    ),
    "leaking mask": (
        "attention",
        "device=device).tril()",
        "device=device).tril(1)",
        {"04_layers": {"P-3.1-d"}, "05_model": {"the future leaks"}},
    ),
    "no positions": (
        "embedding",
        "return waves[:, :d_model]",
        "return 0 * waves[:, :d_model]",
        {"03_embedding": {"squared length"}},
    ),
    "unshifted targets": (
        "data",
        "F.pad(labels, (1, -1), value=BOS)",
        "labels",
        {"09_training": {"untrained-tied"}},
    ),
    "dropout left on": (
        "layers",
        "nn.Dropout(dropout)",
        "lambda x: F.dropout(x, dropout)",
        {"10_decoding": {"cached"}},
    ),
    "candidates not shared out": (
        "risk",
        "log_p.softmax(-1)",
        "log_p.exp()",
        {"risk": {"by hand"}},
    ),
}
# what is put in place of an operator
OTHER = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
MUTANTS = 60
MISSED = 18  # of them at most: some change nothing that can be seen
TESTED = [
    name
    for path in chapters.find_chapters()
    if export_cells(chapters.read(path))
    and (TESTS / f"test_{(name := chapters.module_name(path))}.py").exists()
]


@pytest.mark.parametrize("name", FAULTS)
def test_exactly_the_checks_of_it_go_red(name, tmp_path, monkeypatch):
    module, old, new, owners = FAULTS[name]
    text = (chapters.PACKAGE / f"{module}.py").read_text("utf-8")
    assert old in text
    planted(tmp_path, module, text.replace(old, new))
    shutil.copytree(
        chapters.BOOK, tmp_path / "book", ignore=shutil.ignore_patterns("_*")
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = {
        owner: red(tmp_path / "book", owner, old, new) for owner in owners
    }
    assert found == owners


def places(tree: ast.Module) -> list[ast.AST]:
    """The nodes of a module's functions that can be mutated: no types."""
    hints = {
        id(part)
        for node in ast.walk(tree)
        for field in ("annotation", "returns")
        if getattr(node, field, None)
        for part in ast.walk(getattr(node, field))
    }
    return [
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        for node in ast.walk(statement)
        if id(node) not in hints
        and (
            isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare)
            or (isinstance(node, ast.Constant) and type(node.value) is int)
        )
    ]


def mutated(tree: ast.Module, draw: random.Random) -> tuple[str, str]:
    """A module with something else in one place; and what was there."""
    tree = copy.deepcopy(tree)
    node = draw.choice(places(tree))
    old = ast.unparse(node)
    match node:
        case ast.Constant():
            node.value += 1
        case ast.Compare():
            kind = type(node.ops[0])
            node.ops[0] = OTHER.get(kind, kind)()
        case ast.BinOp() | ast.BoolOp():
            node.op = OTHER.get(type(node.op), type(node.op))()
    return ast.unparse(tree), f"line {node.lineno}: {old}: {ast.unparse(node)}"


def test_tests_find_what_is_changed_at_random(tmp_path):
    draw = random.Random(int(os.environ.get("SOAK", "1")))
    missed = []
    for number in range(MUTANTS):
        module = draw.choice(TESTED)
        text = (chapters.PACKAGE / f"{module}.py").read_text("utf-8")
        tree = ast.parse(text)
        other, change = mutated(tree, draw)
        if other == ast.unparse(tree):
            continue
        folder = tmp_path / str(number)
        planted(folder, module, other)
        words = ["pytest", "-q", "-x", "-o", "addopts=", "--basetemp=made"]
        file = TESTS / f"test_{module}.py"
        try:
            ended = subprocess.run(
                [sys.executable, "-m", *words, file],
                cwd=folder,  # so that its package is the one that is tested
                capture_output=True,
                timeout=300,
                env={**os.environ, "PYTHONPATH": str(folder)},
            )
        except subprocess.TimeoutExpired:
            continue
        if ended.returncode == 0:
            missed.append(f"{module}.py, {change}")
    assert len(missed) <= MISSED, "\n".join(missed)


def planted(folder: Path, module: str, text: str) -> None:
    """Put the package into a folder, with another text of one module."""
    package = shutil.copytree(
        chapters.PACKAGE,
        folder / "annotated_transformer",
        ignore=shutil.ignore_patterns("__pycache__"),
        copy_function=os.symlink,
    )
    path = package / f"{module}.py"
    path.unlink()
    path.write_text(text, "utf-8")


def red(book: Path, owner: str, old: str, new: str) -> set[str]:
    """What fails when a chapter is run with the fault in it.

    The claims whose verdict is another or that stop with an error, and the
    assertions that fail, by their message.
    """
    notebook = chapters.read(book / f"{owner}.ipynb")
    before = dict(CLAIM.findall(printed(notebook)))
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
    after = dict(CLAIM.findall(printed(notebook)))
    found = {name for name in after if after[name] != before[name]}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                named = re.match(r"claim ([^ :]+)", output.evalue)
                if named or output.ename == "AssertionError":
                    found.add(named[1] if named else output.evalue)
    return found


def printed(notebook: NotebookNode) -> str:
    """All that its cells have printed but for the lines of controls."""
    text = "".join(
        output.get("text", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    return re.sub(r"(?m)^claim \S+ control: .*$", "", text)
