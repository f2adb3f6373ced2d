"""Private names of PyTorch stand in speed/ and nowhere else.

Tests may look inside PyTorch, and are not read here.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import chapters
import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.speed.matrix_products import TESTED

FOLDERS = ("annotated_transformer", "benchmarks", "book", "experiments")
FOLDERS += ("tools",)
SPEED = chapters.PACKAGE / "speed"
DISPATCH = "torch.utils._python_dispatch"
EXCEPTIONS = {
    ("07_loss", DISPATCH): "only there tensors of the way back are seen",
    ("17_modern", DISPATCH): "counts every tensor, on whatever level",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


# what a layer, a tensor or an operation has, by whatever name it is called
OWNERS = (nn.Module(), Tensor, torch.ops.aten.add.Tensor)
INSIDE = {name for x in OWNERS for name in dir(x) if is_private(name)}


def dotted(node: ast.AST) -> list[str]:
    """The names of a.b.c, or nothing if it does not begin with a name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return [*before, node.attr]
    return []


def private_names(source: str) -> Iterator[str]:
    """The private names of PyTorch that a source imports or asks for."""
    tree, known = ast.parse(source), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name, short = alias.name, alias.name.partition(".")[0]
                known[alias.asname or short] = name if alias.asname else short
                yield from found_in(name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                known[alias.asname or alias.name] = name
                yield from found_in(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, *rest = dotted(node) or [""]
            name = ".".join([known.get(first, first), *rest])
            if first in known and name.startswith("torch."):
                yield from found_in(name)
            elif node.attr in INSIDE:
                yield node.attr


def found_in(name: str) -> list[str]:
    """A dotted name up to its first private part; torch.ops is private."""
    parts = name.split(".")
    if parts[0] != "torch":
        return []
    for place, part in enumerate(parts, 1):
        if is_private(part) or parts[:place] == ["torch", "ops"]:
            return [".".join(parts[:place])]
    return []


def sources() -> Iterator[tuple[Path, str]]:
    """Every Python file, and the code of every chapter."""
    for folder in FOLDERS:
        for path in (chapters.ROOT / folder).rglob("*.py"):
            if ".venv" not in path.parts:
                yield path, path.read_text("utf-8")
    for path in chapters.find_chapters():
        cells = chapters.read(path).cells
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        lines = "\n".join(code).splitlines()
        yield path, "\n".join(x for x in lines if not x.startswith("%"))


def test_only_speed_calls_private_functions():
    found = {
        (path.stem, name)
        for path, source in sources()
        if SPEED not in path.parents
        for name in private_names(source)
    }
    assert found == EXCEPTIONS.keys()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch\ntorch._foreach_add", "torch._foreach_add"),
        ("from torch import nn\nnn.modules._f()", "torch.nn.modules._f"),
        (
            "from torch.nn import functional as F\nF._x",
            "torch.nn.functional._x",
        ),
        ("import torch.distributed as d\nd._x", "torch.distributed._x"),
        ("from torch._dynamo import config", "torch._dynamo"),
        ("import torch\ntorch.ops.aten.add(1, 2)", "torch.ops"),
        ("import torch._inductor", "torch._inductor"),
        ("layer._parameters", "_parameters"),
        ("x.sum()._version", "_version"),
        ("func._schema", "_schema"),
    ],
)
def test_a_private_name_is_found(source, found):
    assert {*private_names(source)} == {found}


@pytest.mark.parametrize(
    "source", ["import torch\ntorch.nn.Linear", "torch.__version__", "a._b"]
)
def test_a_public_name_is_not(source):
    assert not [*private_names(source)]


def test_speed_was_tested_with_the_release_that_is_pinned():
    text = (chapters.ROOT / "requirements.txt").read_text()
    assert any(f"\ntorch=={release}\n" in text for release in TESTED)
