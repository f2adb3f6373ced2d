"""The commands that lead from nothing to the shipped models."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import typer.main

from annotated_transformer import Translator
from annotated_transformer.commands.app import app
from annotated_transformer.corpora.parallel_text import read_table
from annotated_transformer.storage.history import History
from annotated_transformer.storage.model_folder import (
    load_model,
    read_config,
)
from experiments.shared.made_pairs import extra_pairs

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "train_translators.sh"
STAND_IN = '''\
"""Notes each command, and makes what it would make, empty."""
import sys, json, pathlib
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(words) + "\\n")
made = {{
    "train": lambda: pathlib.Path(words[3]) / "config.json",
    "backtranslate": lambda: words[words.index("--output") + 1],
    "-c": lambda: words[-1],
    "tools/pack_model.py": lambda: pathlib.Path(words[1]) / "config.json",
}}
for option, word in zip(words, words[1:]):  # what is used must be there
    if option in ("--extra", "--from"):
        assert pathlib.Path(word.partition("=")[0]).exists(), word
if "backtranslate" in words and not words[3].endswith(".gz"):
    assert pathlib.Path(words[3]).exists(), words
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
MEANS = {"en-fr-8": "en-fr-7"}  # and of what became which model
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
        calls.append([json.loads(line) for line in lines])
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
    assert len(ours) > 20
    for name, *words in ours:
        program.commands[name].make_context(name, words)  # or it raises
    rest = {words[0] for words in calls if words[:2] != PROGRAM}
    assert rest == {"-c", "tools/record_scores.py", "tools/pack_model.py"}


def test_what_is_there_is_not_made_again(called):
    _, again = called
    assert again == []


def test_what_is_written_in_the_script_runs(called, tmp_path, real_folder):
    """The programs in it make what the functions that they call give."""
    calls, _ = called
    codes = [*dict.fromkeys(words[1] for words in calls if words[0] == "-c")]
    descriptions, pairs, drawn, short, misspell, mean = codes
    lines = {
        "en": ["A dog\truns on the beach.", "Two children are playing."],
        "de": ["Ein Hund rennt am Strand.", "Zwei Kinder spielen."],
    }
    for name, text in lines.items():
        (tmp_path / name).write_text("\n".join(text) + "\n")
    names = ("multi30k-en-de", "multi30k-de-en")
    program = [sys.executable, "-c", pairs, *names, "en", "de", "made"]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}  # it runs in ROOT
    subprocess.run(program, cwd=tmp_path, env=environ, check=True)
    models = [Translator.load(name) for name in names]
    for model in models:
        model.beam = 8
    expected = extra_pairs(*models, [*zip(*lines.values(), strict=True)])
    assert read_table(tmp_path / "made") == [
        (source.replace("\t", " "), target) for source, target in expected
    ]
    program = [sys.executable, "-c", drawn, names[1], "de", "drawn"]
    subprocess.run(program, cwd=tmp_path, env=environ, check=True)
    targets = [target for _, target in read_table(tmp_path / "drawn")]
    assert targets == lines["de"]
    program = [sys.executable, "-c", misspell, "made", "typed"]
    subprocess.run(program, cwd=tmp_path, check=True)
    typed = read_table(tmp_path / "typed")
    for (source, target), (other, same) in zip(
        2 * read_table(tmp_path / "made"), typed, strict=True
    ):
        assert source != other and target == same
    texts = [str(tmp_path / f"many.{name}") for name in lines]
    for path, text in zip(texts, lines.values(), strict=True):
        Path(path).write_text(3 * ("\n".join(text).replace("\t", " ") + "\n"))
    program = [sys.executable, "-c", short, names[0], *texts, "short"]
    subprocess.run(program, cwd=tmp_path, env=environ, check=True)
    assert ("dog", "Hund") in read_table(tmp_path / "short")
    if not (real_folder / "descriptions").is_dir():
        pytest.skip("the descriptions are not here")
    environ = os.environ | {"ANNOTATED_TRANSFORMER_DATA": str(real_folder)}
    program = [sys.executable, "-c", descriptions, "de", tmp_path / "text"]
    subprocess.run(program, env=environ, check=True)
    assert (tmp_path / "text").read_text("utf-8").count("\n") == 144_524
    french = "multi30k-en-fr"
    given = [french, french, "en", "fr", tmp_path / "mean"]
    subprocess.run(
        [sys.executable, "-c", mean, *given], env=environ, check=True
    )
    a, b = (load_model(x)[0].state_dict() for x in (french, tmp_path / "mean"))
    assert all(torch.allclose(a[name], b[name], atol=1e-6) for name in a)


@pytest.mark.parametrize("shipped", SHIPPED)
def test_they_are_those_of_the_shipped_models(called, shipped):
    calls, _ = called
    trained = trainings(calls)
    name, history = SHIPPED[shipped], read_config(shipped).history
    told: History | None = history
    while told:
        words = trained[name]
        theirs = shlex.split(told.command)
        assert options(words) == options(theirs[3:]), name
        start = words[words.index("--from") + 1] if "--from" in words else ""
        name, told = Path(start).name, told.start
        name = MEANS.get(name, name)
    assert not name
