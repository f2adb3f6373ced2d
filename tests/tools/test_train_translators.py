"""The steps that lead from nothing to the shipped models."""

import gzip
import shlex
import sys
from functools import partial
from pathlib import Path
from unittest.mock import create_autospec

import pytest
import torch
import train_translators
import typer.main
from train_translators import FEW, Workshop

from annotated_transformer import Translator
from annotated_transformer.commands.app import app
from annotated_transformer.corpora.multi30k import DATA_VARIABLE
from annotated_transformer.corpora.parallel_text import read_parallel
from annotated_transformer.storage.history import History
from annotated_transformer.storage.model_folder import load_model, read_config
from experiments.shared.made_pairs import extra_pairs

SHIPPED = {
    "multi30k-en-de": "en-de",
    "multi30k-de-en": "de-en",
    "multi30k-en-fr": "en-fr",
    "pronouns": "pronouns",
    "plays": "plays",
}
MEANS = {"en-fr-8": "en-fr-7"}  # and of what became which model
STEPS = {
    *("describe", "every_eighth", "more_pairs", "draw", "swap", "misspell"),
    *("shorten", "mean", "score", "pack"),
}


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """What is called, at first and again. It makes what it would, empty."""
    folder, calls = tmp_path_factory.mktemp("translators"), []

    def stand_in(*given):
        name, *words = map(str, given)
        calls.append([name, *words])
        words = [x.removeprefix("--output=") for x in words]
        paths = [Path(word.partition("=")[0]) for word in words]
        output = paths[{"score": 3, "backtranslate": 3}.get(name, 0)]
        for path in paths:  # what is used must be there
            if folder / "made" in path.parents:
                assert path == output or path.exists(), words
        if name == "train":
            output.mkdir()
            output = output / "config.json"
        output.touch()

    calls_of_rounds = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DATA_VARIABLE, str(folder / "text"))
        patch.setattr(train_translators, "transformer", stand_in)
        for name in STEPS:
            step = getattr(train_translators, name)
            made = create_autospec(step, side_effect=partial(stand_in, name))
            patch.setattr(train_translators, name, made)
        for _ in range(2):
            train_translators.make_all(Workshop(folder / "made"))
            calls_of_rounds.append([*calls])
            calls.clear()
    return calls_of_rounds


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


def test_every_command_is_one_of_the_program(called):
    calls, _ = called
    program = typer.main.get_group(app)
    ours = [words for words in calls if words[0] not in STEPS]
    assert len(ours) > 20
    for name, *words in ours:
        program.commands[name].make_context(name, words)  # or it raises
    assert {words[0] for words in calls if words not in ours} == STEPS


def test_what_is_there_is_not_made_again(called):
    _, again = called
    assert again == []


def test_what_was_broken_off_goes_on(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(
        train_translators, "transformer", lambda *words: calls.append(words)
    )
    for name in ("de-en-0", "en-de-0"):  # the first before its run.json
        (tmp_path / name / "checkpoints").mkdir(parents=True)
    (tmp_path / "en-de-0" / "run.json").touch()
    shop = Workshop(tmp_path, updates=5)
    for name in ("de-en-0", "en-de-0"):
        shop.translator(name, "--preset tiny")
    begun, broken_off = calls
    assert broken_off[-3:] == ("--resume", "--max-steps", "5")
    assert "--resume" not in begun


def test_a_training_that_is_told_to_stop_is_waited_for(tmp_path, monkeypatch):
    """It writes a checkpoint, and what comes after it is not begun."""
    program = tmp_path / "program"
    program.write_text(
        "#!/bin/sh\nsleep 0.3; kill -INT $PPID; sleep 0.6\n"
        'touch "$3.checkpoint"; exit 3\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(SystemExit, match="3"):
        train_translators.transformer(tmp_path / "en-de-0")
    assert (tmp_path / "en-de-0.checkpoint").exists()


def test_a_rehearsal_reads_the_beginning_of_a_text(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    lines = {x: [f"{x} {i}\n" for i in range(FEW + 2)] for x in ("en", "fr")}
    for language, text in lines.items():
        with gzip.open(tmp_path / f"val.{language}.gz", "wt") as file:
            file.writelines(text)
    for updates, most in ((None, None), (5, FEW)):
        shop = Workshop(tmp_path / "made", updates)
        for path, text in zip(
            shop.captions("val", "en-fr"), lines.values(), strict=True
        ):
            with gzip.open(path, "rt") as file:
                assert file.readlines() == text[:most]


def test_steps_make_what_the_functions_that_they_call_give(
    tmp_path, real_folder, monkeypatch
):
    lines = {
        "en": ["A dog\truns on the beach.", "Two children are playing."],
        "de": ["Ein Hund rennt am Strand.", "Zwei Kinder spielen."],
    }
    for name, text in lines.items():
        (tmp_path / name).write_text("\n".join(text) + "\n")
    names = ("multi30k-en-de", "multi30k-de-en")
    monkeypatch.chdir(tmp_path)
    train_translators.more_pairs(Path("made"), *names, "en", "de")
    models = [Translator.load(name) for name in names]
    for model in models:
        model.beam = 8
    expected = extra_pairs(*models, [*zip(*lines.values(), strict=True)])
    assert read_parallel(["made"]) == [
        (source.replace("\t", " "), target) for source, target in expected
    ]
    train_translators.draw(Path("drawn"), names[1], Path("de"))
    assert [target for _, target in read_parallel(["drawn"])] == lines["de"]
    train_translators.misspell(Path("typed"), Path("made"))
    for (source, target), (other, same) in zip(
        2 * read_parallel(["made"]), read_parallel(["typed"]), strict=True
    ):
        assert source != other and target == same
    train_translators.swap(Path("swapped"), Path("made"))
    swapped = [pair[::-1] for pair in read_parallel(["swapped"])]
    assert swapped == read_parallel(["made"])
    Path("many").write_text("".join(f"{i}\n" for i in range(1, 25)))
    train_translators.every_eighth(Path("some"), Path("many"))
    assert Path("some").read_text() == "8\n16\n24\n"
    for name, text in lines.items():
        Path(name).write_text(3 * "\n".join([*text, ""]).replace("\t", " "))
    train_translators.shorten(Path("short"), names[0], "en", "de")
    assert ("dog", "Hund") in read_parallel(["short"])
    if not (real_folder / "descriptions").is_dir():
        pytest.skip("the descriptions are not here")
    train_translators.describe(Path("text.de"), None)
    assert Path("text.de").read_text("utf-8").count("\n") == 144_524
    french = "multi30k-en-fr"
    train_translators.mean(Path("mean"), french, french)
    a, b = (load_model(x)[0].state_dict() for x in (french, "mean"))
    assert all(torch.allclose(a[name], b[name], atol=1e-6) for name in a)


TASK = "--task multi30k"


@pytest.mark.parametrize("shipped", SHIPPED)
def test_they_are_those_of_the_shipped_models(called, shipped):
    calls, _ = called
    trained = {
        Path(output).name: words
        for name, output, *words in calls
        if name == "train"
    }
    name, history = SHIPPED[shipped], read_config(shipped).history
    told: History | None = history
    while told:
        words = trained[name]
        # as the recipe of 2017 is called since there is a faster one
        theirs = shlex.split(told.command.replace(TASK, f"{TASK}-2017"))
        assert options(words) == options(theirs[3:]), name
        start = words[words.index("--from") + 1] if "--from" in words else ""
        name, told = Path(start).name, told.start
        name = MEANS.get(name, name)
    assert not name
