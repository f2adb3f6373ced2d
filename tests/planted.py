"""A fault in the code is found. `make soak`; not a part of `make test`.

An operator, a comparison or a number in a chapter's module is another one,
drawn at random, and some test of that module has to fail.
"""

import ast
import copy
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import chapters
from export import export_cells

TESTS = Path(__file__).parent
SWAPS = [  # what may stand in the place of what
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.And, ast.Or),
    (ast.BitAnd, ast.BitOr),
]
OTHER = {ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult}
OTHER |= {a: b for pair in SWAPS for a, b in (pair, pair[::-1])}
MUTANTS = 60
MISSED = 18  # of them at most: some change nothing that can be seen
TESTED = [
    name
    for path in chapters.find_chapters()
    if export_cells(chapters.read(path))
    and (TESTS / f"test_{(name := chapters.module_name(path))}.py").exists()
]


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
