"""What a message of the library names, and how the command line shows it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from inspect import signature

import chapters
import pytest

from annotated_transformer import (
    LabConfig,
    ModelConfig,
    Recipe,
    Start,
    TrainConfig,
    back_translate,
    train,
)
from annotated_transformer.commands.app import options_by_name, with_options
from annotated_transformer.convert.export import export_model


def strings() -> Iterator[tuple[str, str, bool]]:
    """The strings of the library: module, text, and whether it is shown."""
    for path in chapters.PACKAGE.rglob("*.py"):
        name = path.relative_to(chapters.PACKAGE).as_posix()
        if name.startswith("commands/"):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        told = {  # docstrings
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield name, node.value, id(node) not in told


def test_the_library_names_no_option_of_the_command_line():
    found = [
        (name, text)
        for name, text, _ in strings()
        if re.search(r"--[a-z][a-z-]+", text)
    ]
    assert found == []


def test_what_the_library_names_there_is():
    classes = ModelConfig, TrainConfig, LabConfig, Recipe, Start
    known = {field.name for kind in classes for field in fields(kind)}
    known |= signature(train).parameters.keys()
    known |= signature(back_translate).parameters.keys()
    known |= signature(export_model).parameters.keys()
    named = {
        word
        for name, text, shown in strings()
        if shown and not name.startswith("teaching/")
        for word in re.findall(r"`(\w+)(?:=[^`]*)?`", text)
    } - {chapters.PACKAGE.name}
    assert {"resume", "max_length", "start"} <= named <= known
    assert named <= options_by_name().keys()


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("`max_length` raises the limit", "--max-length raises the limit"),
        ("go on with `resume=True`", "go on with --resume"),
        ("add `start=MODEL`", "add --from MODEL"),
        ("`compiled`: not here", "--compile: not here"),
        ("use `tokenizer='bpe'`", "use --tokenizer bpe"),
        ("`bf16=True`, not `bf16=False`", "--bf16, not --float32"),
        ("with `pre_norm=False`", "with --post-norm"),
        ("`r_drop=''`: must", "--r-drop: must"),
        ("`recipe.train.seed=-1`: must be", "--seed -1: must be"),
        ("`clip=-1`, `x y` and `source", "`clip=-1`, `x y` and `source"),
    ],
)
def test_a_message_names_options_on_the_command_line(message, shown):
    assert with_options(message) == shown
