"""The commands that lead from nothing to the shipped models."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from annotated_transformer.commands.app import app
from annotated_transformer.storage.history import History
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.storage.pretrained import find_model

SCRIPT = Path(__file__).parents[2] / "tools" / "train_translators.sh"
STAND_IN = '''\
"""Notes each command, and makes what it would make, empty."""
import sys, shlex, pathlib
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(shlex.join(words) + "\\n")
made = {{
    "train": lambda: pathlib.Path(words[3]) / "config.json",
    "backtranslate": lambda: words[words.index("--output") + 1],
    "data": lambda: words[-1] if "--descriptions" in words else {log!r},
    "tools/pack_model.py": lambda: pathlib.Path(words[1]) / "config.json",
}}
for option, word in zip(words, words[1:]):
    if option == "--extra":
        assert pathlib.Path(word.partition("=")[0]).exists(), word
for word in words[:3]:
    if word in made:
        path = pathlib.Path(made[word]())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
'''
SHIPPED = {
    "multi30k-en-de": "en-de",
    "multi30k-de-en": "de-en",
    "multi30k-en-fr": "en-fr",
    "pronouns": "pronouns",
}
PROGRAM = ["-m", "annotated_transformer"]


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """What the script calls, at first and again."""
    folder = tmp_path_factory.mktemp("translators")
    log, program = folder / "log", folder / "python"
    script = folder / "stand_in.py"
    script.write_text(STAND_IN.format(log=str(log)))
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {script} "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PYTHON": str(program)}
    environment.pop("ANNOTATED_TRANSFORMER_DATA", None)
    calls = []
    for _ in range(2):
        log.write_text("")
        subprocess.run([SCRIPT, folder / "made"], env=environment, check=True)
        lines = log.read_text().splitlines()
        calls.append([shlex.split(line) for line in lines])
    return calls


def options(words: list[str]) -> dict[str, set]:
    """The values by option, but for names of files and for defaults."""
    found: dict[str, set] = {}
    for word in words:
        if word.startswith("--"):
            values = found.setdefault(word, set())
        elif found:
            values.add(word)
    found["--extra"] = {
        name.partition("=")[2] for name in found.get("--extra", ())
    }
    for name, default in {"--source": "en", "--target": "de"}.items():
        found.setdefault(name, {default})
    return {name: found[name] for name in found.keys() - {"--from"}}


def trainings(calls: list[list[str]]) -> dict[str, list[str]]:
    """The words of each training, by the model's name."""
    return {
        Path(words[3]).name: words[4:]
        for words in calls
        if words[:3] == [*PROGRAM, "train"]
    }


def test_every_command_is_one_of_the_program(called):
    calls, _ = called
    program = typer.main.get_group(app)
    ours = [words[2:] for words in calls if words[:2] == PROGRAM]
    assert len(ours) > 30
    for name, *words in ours:
        program.commands[name].make_context(name, words)  # or it raises
    rest = {words[0] for words in calls if words[:2] != PROGRAM}
    assert rest == {"tools/record_scores.py", "tools/pack_model.py"}


def test_what_is_there_is_not_made_again(called):
    _, again = called
    assert {words[2] for words in again} == {"data"}


def test_a_model_is_there_before_it_is_used(called):
    calls, _ = called
    there = set()
    for words in calls:
        if words[2] == "train":
            if "--from" in words:
                assert words[words.index("--from") + 1] in there
            there.add(words[3])
        if words[2] in ("augment", "backtranslate"):
            models = words[3:5] if words[2] == "augment" else words[3:4]
            assert set(models) <= there


@pytest.mark.parametrize("shipped", SHIPPED)
def test_they_are_those_of_the_shipped_models(called, shipped):
    calls, _ = called
    trained = trainings(calls)
    name, history = SHIPPED[shipped], read_config(find_model(shipped)).history
    told: History | None = history
    while told:
        words = trained[name]
        theirs = shlex.split(told.command)
        assert options(words) == options(theirs[3:]), name
        start = words[words.index("--from") + 1] if "--from" in words else ""
        name, told = Path(start).name, told.start
    assert not name
