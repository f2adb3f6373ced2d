"""The experiments: their runner on a toy, their records against the book."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from importlib import import_module
from inspect import getsource
from pathlib import Path

import chapters
import pytest
import torch
from drawn_once import drawn_once

from annotated_transformer.corpora.builtin import examples
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import MULTI30K_SUMS
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.runs.recipes import LabConfig, Recipe
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.training import TrainConfig
from experiments.forced_terms import Required
from experiments.linear_attention import linear_attention
from experiments.mixture_of_experts import MixtureOfExperts
from experiments.shared import command_line
from experiments.shared.command_line import (
    Task,
    finished,
    measure,
    measure_run,
    source,
)
from experiments.shared.reproduction import moved
from ledger.claims import as_registered

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "experiments").glob("[!_]*.py"))
RECORDS = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in (ROOT / "book" / "runs").glob("*.json")
}
# of the fields that a recipe may lack
DEFAULTS = {
    field.name: field.default
    for kind in (TrainConfig, Recipe, LabConfig)
    for field in fields(kind)
}
TOY = '''
"""A toy: what is tossed.

More of it.
"""

from functools import partial
from pathlib import Path

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.errors import Interrupted, UserError

RECIPE = {"tosses": 2}
CALLS = Path(__file__).with_name("calls")


def corpus():
    return Corpus([("a", "b")], [], {}, "toy", "x", "y", {"train": "0"})


def toss(seed, sides):
    with CALLS.open("a") as calls:
        calls.write(f"{sides}/{seed}\\n")
    if CALLS.with_name("stopped").exists():
        raise Interrupted(15, CALLS, 1)
    if CALLS.with_name("broken").exists():
        raise ValueError("lost the die")
    if CALLS.with_name("missing").exists():
        raise UserError("there is no die; buy one")
    return {"figure": sides + seed % 10 / 100, "curve": [1, 2], "seconds": 9.0}


RUNS = {
    f"sides = {sides} seed={seed}": partial(toss, seed=seed, sides=sides)
    for sides in (6, 20)
    for seed in (0, 1)
}
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Measures the toy; gives status, record and calls so far."""
    name = f"toy_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "runs" / f"{name}.json"

    def run(offset=0):
        kept = tmp_path / "kept"
        status = measure([name], 1, offset, kept, path.parent)
        found = json.loads(path.read_text()) if path.exists() else None
        return status, found, (tmp_path / "calls").read_text().split()

    run.folder = tmp_path
    run.module = import_module(name)
    return run


def test_a_record_has_every_run_and_says_what_it_was(toy):
    status, record, calls = toy()
    assert status == 0 and len(calls) == 4
    assert {*record["results"]} == {*toy.module.RUNS}
    assert record["results"]["sides = 20 seed=1"]["figure"] == 20.01
    assert record["about"] == "A toy: what is tossed."
    assert record["recipe"] == {"tosses": 2}
    assert record["data"] == {
        "name": "toy",
        "pairs": 1,
        "sha256": {"train": "0"},
    }
    assert {"date", "versions", "machine", "command"} <= {*record}


def test_finished_runs_are_not_repeated(toy, monkeypatch):
    toy()
    path = next((toy.folder / "kept").rglob("*seed=1.json"))
    path.unlink()
    assert len(toy()[2]) == 5
    path.write_text("{cut off")
    assert len(toy()[2]) == 6
    monkeypatch.setitem(toy.module.RECIPE, "tosses", 3)
    assert len(toy()[2]) == 10


def test_kept_runs_of_other_source_are_told(toy, capsys):
    toy()
    assert "made before" not in capsys.readouterr().out
    toy()
    assert "made before" not in capsys.readouterr().out
    path = toy.folder / f"{toy.module.__name__}.py"
    path.write_text(f"{TOY}# another toss")
    source.cache_clear()
    assert len(toy()[2]) == 4
    told = capsys.readouterr().out
    assert f"remove {toy.folder}" in told
    assert "4 of these were made before the experiment's source" in told


def test_source_is_that_of_all_an_experiment_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / tmp_path.name / "shared"
    folder.mkdir(parents=True)
    for name in ("two", "three", "four"):
        (folder / f"{name}.py").write_text("x = 1\n")
    (folder / "two.py").write_text("from . import three\nx = three.x\n")
    one = folder.parent / "one.py"
    one.write_text("import json\nfrom .shared.two import x\n")
    first = source(f"{tmp_path.name}.one")
    for name, other in (("four", False), ("two", True), ("three", True)):
        with (folder / f"{name}.py").open("a") as file:
            file.write("# more\n")
        source.cache_clear()
        found = source(f"{tmp_path.name}.one")
        assert (found != first) == other
        first = found


def test_a_record_keeps_what_was_registered_and_its_commit(
    toy, tmp_path, monkeypatch
):
    """If all was committed before the first run; later claims do not count."""
    name = f"toy_{toy.folder.name}"
    first = {"records": [name], "statement": "A.", "registered": {"seeds": 8}}
    claims = {"B": {"records": [name]}, "C": {"registered": {}}}
    monkeypatch.setattr(command_line, "read_claims", lambda book: claims)
    monkeypatch.setattr(toy.module, "CLAIMS", ["A"], raising=False)
    with pytest.raises(UserError, match="measure A; register"):
        toy()
    claims["A"] = first
    root = tmp_path / "repository"
    monkeypatch.setattr(command_line, "ROOT", root)
    (root / "experiments").mkdir(parents=True)
    (root / "experiments" / "a.py").touch()
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=b"]
    for words in (["init", "-q"], ["commit", "-qm", "a", "--allow-empty"]):
        subprocess.run([*git, *words], check=True)
    with pytest.raises(UserError, match="measure A,.*commit"):
        toy()
    for words in (["add", "."], ["commit", "-qm", "b"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True)
    (toy.folder / "broken").touch()
    assert toy()[0] == 4  # it has begun, and nothing is known
    (toy.folder / "broken").unlink()
    kept = {"commit": head.strip(), "claims": {"A": as_registered(first)}}
    assert toy()[1]["registered"] == kept
    claims["A"] = first | {"statement": "Another."}
    claims["D"] = first
    for tosses in (2, 3):  # what is measured anew is known
        monkeypatch.setitem(toy.module.RECIPE, "tosses", tosses)
        assert toy()[1]["registered"] == kept


def test_what_waits_for_its_tuning_says_so(toy, monkeypatch):
    monkeypatch.setattr(toy.module, "RUNS", {})
    with pytest.raises(UserError, match="no runs before its tuning"):
        toy()


def test_help_has_the_hours_of_each_experiment_and_their_sum(capsys):
    with pytest.raises(SystemExit):
        command_line.main(["--help"])
    said = capsys.readouterr().out
    known = [RECORDS[name] for name in NAMES if name in RECORDS]
    hours = [record["seconds"] / 3600 for record in known]
    assert f"together {sum(hours):.1f} h" in said
    (asked,) = re.findall(r"without \* ([\d.]+) h", said)
    for place in ("Makefile", "experiments/README.md"):
        text = (ROOT / place).read_text("utf-8")
        assert f"{float(asked):.0f} hours" in text
    for name in NAMES:
        if name in RECORDS:
            expected = f"{RECORDS[name]['seconds'] / 3600:.2f} h"
            assert re.search(rf"^  {name} +{expected}( \*)?$", said, re.M)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("broken", "ValueError: lost the die"),
        ("missing", "error: there is no die; buy one"),
    ],
)
def test_a_failed_run_leaves_the_others_and_no_record(
    toy, capsys, fault, told
):
    (toy.folder / fault).touch()
    status, record, _ = toy()
    assert status == 4 and record is None
    out = capsys.readouterr().out
    assert out.count(told) == 4
    assert ("Traceback" in out) == (fault == "broken")
    (toy.folder / fault).unlink()
    assert toy()[0] == 0


def test_one_run_beside_the_record(toy, capsys):
    """Which stays as it is; a run that is kept is not repeated."""
    _, record, _ = toy()
    name, kept = toy.module.__name__, toy.folder / "kept"
    folders = kept, toy.folder / "runs"

    def go(key="sides = 20 seed=1"):
        capsys.readouterr()
        status = measure_run(name, key, *folders)
        lines = capsys.readouterr().out.split("\n")
        assert lines[0].endswith(" 0.0 minutes on average")
        rows = [re.split("  +", x) for x in lines]
        return status, {row[0]: row[1:] for row in rows if row[3:]}

    row = ["20.01", "20.01", "20 to 20.01"]
    status, rows = go()
    assert status == 0 and rows["figure"] == row and "curve" not in rows
    shutil.rmtree(kept)
    assert go() == (0, rows) and len(toy()[2]) == 4 + 1 + 3
    path = folders[1] / f"{name}.json"
    record["results"]["sides = 20 seed=1"]["figure"] = 30.0
    record["results"]["sides = 20 seed=0"]["figure"] = 30.1
    path.write_text(json.dumps(record))
    status, rows = go()
    assert status == 1 and rows["figure"] == ["20.01", "30", "30 to 30.1"]
    assert json.loads(path.read_text()) == record
    told = "'sides=6 seed=1': none of the 4 runs of .* 'sides = 6 seed=1', "
    with pytest.raises(UserError, match=told):
        go("sides=6 seed=1")
    path.unlink()
    with pytest.raises(UserError, match="has no record yet"):
        go()
    with pytest.raises(UserError, match="are such as 'sides = 6 seed=0', "):
        go("?")


def test_one_run_of_no_experiment(capsys):
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["--run", "2017 seed=0"])
    assert "--run goes with --only" in capsys.readouterr().err


def test_a_signal_stops_all_runs(toy):
    (toy.folder / "stopped").touch()
    with pytest.raises(KeyboardInterrupt):
        toy()
    assert len((toy.folder / "calls").read_text().split()) == 1
    (toy.folder / "stopped").unlink()
    assert toy()[0] == 0


def test_other_seeds_are_compared_and_not_written(toy, capsys):
    _, record, _ = toy()
    status, same, calls = toy(offset=10)
    assert status == 0 and same == record
    assert calls[4:] == ["6/10", "6/11", "20/10", "20/11"]
    path = next((toy.folder / "runs").glob("*.json"))
    record["results"]["sides = 20 seed=0"]["figure"] = 25.0
    path.write_text(json.dumps(record))
    capsys.readouterr()
    status, same, _ = toy(offset=10)
    assert status == 0 and same == record  # 20 and 25 are noise to each other
    record["results"]["sides = 20 seed=1"]["figure"] = 25.01
    path.write_text(json.dumps(record))
    assert toy(offset=10)[0] == 1
    assert "sides = 20, figure: 25.01 was recorded, now 20.01" in (
        capsys.readouterr().out
    )


def test_the_command_runs_two_processes(tmp_path):
    """The command itself, moved to where the toy is all there is."""
    package = tmp_path / "experiments"
    for part in ("experiments/shared", "book/ledger"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for name in ("__init__", "__main__"):
        shutil.copy(ROOT / "experiments" / f"{name}.py", package)
    (package / "toy.py").write_text(TOY)
    words = [sys.executable, "-m", "experiments", "--jobs=2"]
    ended = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "runs: 4, 0 of them kept" in ended.stdout
    assert len((package / "calls").read_text().split()) == 4
    record = json.loads((tmp_path / "book/runs/toy.json").read_text())
    assert len(record["results"]) == 4


def results(*figures):
    return {f"a seed={i}": {"f": x} for i, x in enumerate(figures)}


def test_only_what_the_seeds_cannot_explain_has_moved():
    # spread 0.02, so the mean of two may move by 3 * 0.02 = 0.06
    stored = results(1.0, 1.0 + 0.02 * 2**0.5)
    assert moved(stored, stored) == []
    assert moved(stored, results(1.05, 1.05)) == []
    assert len(moved(stored, results(1.10, 1.10))) == 1
    assert len(moved(stored, results(0.94, 0.94))) == 1
    # what is less steady than the others is judged by its own spread
    calm = {f"b{i} seed={s}": {"f": 1.0} for i in range(9) for s in (0, 1)}
    assert moved(calm | results(1.0, 1.3), calm | results(1.6, 1.7)) == []
    assert len(moved(calm | results(1.0, 1.3), calm | results(3.0, 3.1))) == 1
    assert moved(results(0.0, 0.0), results(0.0, 0.01)) == []
    exact = {"a": {"parameters": 7}}
    assert moved(exact, {"a": {"parameters": 8}}) != []
    assert moved(exact, {"b": {"parameters": 7}}) == [
        "a: only in the record",
        "b, parameters: not in the record",
    ]


@pytest.fixture(scope="module", autouse=True)
def first_sentences():
    """The grammar's examples, of which most experiments read the first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examples, "drawn_examples", drawn_once())
        yield


@cache
def made(corpus: Callable[[], Corpus]) -> Corpus:
    """An experiment's text; several have the same."""
    return corpus()


def test_what_has_no_record_is_planned():
    readme = (ROOT / "experiments" / "README.md").read_text("utf-8")
    *_, planned = readme.partition("\n## Planned")
    for name in {*NAMES} - {*RECORDS}:
        assert f"`{name}`" in planned and name in command_line.LONG


def as_then(now: object, then: object) -> object:
    """A recipe of today, without fields that were not there and do nothing."""
    if not (isinstance(now, dict) and isinstance(then, dict)):
        return now
    return {
        name: as_then(value, then.get(name))
        for name, value in now.items()
        if name in then or value != DEFAULTS.get(name, ...)
    }


@pytest.mark.parametrize("name", [x for x in NAMES if x in RECORDS])
def test_a_record_is_whole_and_of_this_recipe(name, tmp_path):
    module, record = import_module(f"experiments.{name}"), RECORDS[name]
    assert module.__doc__.partition("\n")[0]
    assert {*record["results"]} == {*module.RUNS}
    recipe = json.loads(json.dumps(module.RECIPE))  # as a record has it
    assert record["recipe"] == as_then(recipe, record["recipe"])
    for key, run in module.RUNS.items():
        assert f"seed={run.keywords['seed']}" in key
        task = Task(f"experiments.{name}", key, 0, tmp_path / "none")
        assert finished(task) is None
    if record["data"]["name"] == "multi30k":  # not every machine has it
        languages = {name.split(".")[1] for name in record["data"]["sha256"]}
        assert len(languages) >= 2
        expected = {
            name: its_sum
            for name, its_sum in MULTI30K_SUMS.items()
            if name.split(".")[1] in languages
        }
    else:
        expected = made(module.corpus).checksums
    assert record["data"]["sha256"] == expected


def test_the_shipped_model_of_pronouns_never_read_the_book_s_sentence():
    corpus = made(import_module("experiments.pronoun_resolution").corpus)
    assert corpus.checksums == read_config("pronouns").history.data.sha256
    followed = re.compile(r"The \w+ ate the \w+ because it was \w+\.")
    assert not any(followed.fullmatch(source) for source, _ in corpus.train)


def bare(source: str) -> dict[str, str]:
    """Functions and classes by name, without docstrings and annotations."""
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
        found[node.name] = ast.unparse(node)
    return found


def test_the_page_shows_the_bugs_that_were_trained():
    module = import_module("experiments.bugs")
    trained = bare(Path(module.__file__).read_text("utf-8"))
    page = json.loads((ROOT / "book" / "16_bugs.ipynb").read_text("utf-8"))
    shown = bare(
        "\n".join(
            "".join(cell["source"])
            for cell in page["cells"]
            if cell["cell_type"] == "code"
        )
    )
    for bug in module.BUGS.values():
        assert shown[bug.__name__] == trained[bug.__name__]
    for name in ("Program", "unchanged", "translate", "attentions"):
        assert shown[name] == trained[name]


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("ladder", linear_attention),
        ("ladder", MixtureOfExperts),
        ("beam_search_settings", Required),
    ],
)
def test_a_lab_shows_what_was_measured(page, shown):
    cells = chapters.read(ROOT / "book" / f"{page}.ipynb").cells
    assert getsource(shown).rstrip() in [cell.source for cell in cells]


def test_the_softmax_over_queries_sums_to_one_over_them():
    module = import_module("experiments.bugs")
    config = ModelConfig(**module.SIZES | {"vocab_size": 20})
    query, keys = torch.randn(2, 1, 4, 6, 16)
    unit, mask = torch.eye(6).expand(1, 4, 6, 6), torch.ones(6, 6).bool()
    for bug, axis in (
        ("control", -1),
        ("softmax over keys", -1),
        ("softmax over queries", -2),
    ):
        program = module.Program(transformer(config).eval())
        module.BUGS[bug](program)
        layer = program.model.encoder.layers[0].self_attention
        weights = layer.attention_fn(
            query, keys, unit, attn_mask=mask, dropout_p=0.0
        )
        even = [(weights.sum(d) - 1).abs().max() < 1e-5 for d in (-2, -1)]
        assert even == [axis == -2, axis == -1]
