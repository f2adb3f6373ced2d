"""What loads PyTorch, and what must not: help and bad options."""

import ast
import json
import re
import subprocess
import sys
from importlib import import_module
from inspect import getmembers, isclass, isfunction, ismethod, unwrap
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import annotated_transformer
from annotated_transformer import HOMES
from annotated_transformer import __all__ as public

ROOT = Path(__file__).parents[2]
# Each takes from a tenth of a second to two.
HEAVY = (
    "torch",
    "numpy",
    "sacrebleu",
    "sacremoses",
    "sentencepiece",
    "safetensors.torch",
    "matplotlib",
    "transformers",
)
COMMANDS = {
    "train": "out",
    "translate": "model",
    "score": "model a b",
    "backtranslate": "model a --output b",
    "evaluate": "model a b",
    "curve": "run --output a",
}
HELPS = ["--help", "--version", *(f"{name} --help" for name in COMMANDS)]
MISTAKES = [
    "nonsense",
    "train out --max-steps three",
    "train out --preset huge",
    *COMMANDS,
    *(f"{name} {rest} --nonsense" for name, rest in COMMANDS.items()),
]
# Runs each command line; says how it ended, and what was loaded by then.
RUN = """
import json, sys
from annotated_transformer.commands.app import main
found = []
for line in sys.argv[1:]:
    sys.argv[1:] = line.split()
    try:
        main()
    except SystemExit as end:
        found.append([line, end.code, [*sys.modules]])
sys.stderr.write("\\n" + json.dumps(found))
"""


def python(code, *words):
    """Run Python code in a fresh process that has to end well."""
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def test_neither_help_nor_a_mistake_loads_anything_heavy():
    ended = python(RUN, *HELPS, *MISTAKES)
    found = json.loads(ended.stderr.rpartition("\n")[2])
    assert [line for line, *_ in found] == HELPS + MISTAKES
    for line, status, modules in found:
        assert status == (0 if line in HELPS else 2), line
        assert "annotated_transformer.commands.train" in modules
        assert not {*HEAVY}.intersection(modules), line


def test_help_comes_in_half_a_second():
    """Of processor time, since other programs may be at work."""
    resource = pytest.importorskip("resource")
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "annotated_transformer", "-h"]
        subprocess.run(words, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime - before.ru_utime)
    assert min(taken) < 0.5


def test_every_name_is_that_of_its_module():
    for name in public:
        home = import_module(f"annotated_transformer.{HOMES[name]}")
        assert getattr(annotated_transformer, name) is getattr(home, name)


def parts(kind):
    """The package's classes that a type is made of."""
    for part in get_args(kind):
        yield from parts(part)
    if isclass(kind) and kind.__module__.startswith("annotated_transformer"):
        yield kind.__name__


def test_what_the_names_take_and_give_has_a_name():
    named = set()
    for value in (getattr(annotated_transformer, name) for name in public):
        members = [x for _, x in getmembers(value)] if isclass(value) else []
        for call in [value, *members]:
            if isfunction(call) or ismethod(call):
                for kind in get_type_hints(unwrap(call)).values():
                    named |= {*parts(kind)}
    assert {"Corpus", "Recipe", "Translation"} <= named
    # Transformer and Translator are kinds of these
    assert named - {*public} == {"EncoderDecoder", "TextModel"}


def test_page_and_type_checkers_have_the_same_names():
    page = (ROOT / "book" / "api.md").read_text("utf-8")
    table = page.partition("|---|")[2].partition("```")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(public)
    tree = ast.parse(Path(annotated_transformer.__file__).read_text("utf-8"))
    (checked,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )
    homes = {
        name.asname or name.name: line.module
        for line in checked.body
        for name in line.names
    }
    assert homes == HOMES and sorted(homes) == sorted(public)


def test_names_are_there_before_they_are_loaded():
    """And a model loads no chapter that it does not need."""
    python(
        f"""
import sys, annotated_transformer as package
assert {{"__version__", *package.__all__}} <= {{*dir(package)}}
assert package.errors.UserError is package.UserError
assert "torch" not in sys.modules
others = ("modern", "recurrence", "writing")  # chapters, and a compiler
unused = {{*(f"annotated_transformer.{{name}}" for name in others)}}
package.Translator.load("multi30k-en-de")
assert not {{*unused, "torch._dynamo", "sympy"}}.intersection(sys.modules)
assert package.translation.Translator is package.Translator
assert callable(package.train) and "torch" in sys.modules
from annotated_transformer import *
{", ".join(public)}
"""
    )
