"""The benchmarks: their arithmetic here, their result in the record."""

import json
import re
import tomllib
from multiprocessing import get_context
from pathlib import Path

from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.storage.pretrained import find_model
from benchmarks import clock
from benchmarks.clock import Sample, interleave, summary

ROOT = Path(__file__).parents[2]


def test_their_environment_has_what_the_package_needs():
    """With the versions of the book's own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.split("[<>=]", line)[0] for line in project["dependencies"]]
    book, bench = (
        dict(re.findall(r"^([\w-]+)==(\S+)$", path.read_text(), re.MULTILINE))
        for path in (
            ROOT / "requirements.txt",
            ROOT / "benchmarks/requirements.txt",
        )
    )
    assert {name: bench.get(name) for name in names} == {
        name: book[name] for name in names
    }


def test_a_ratio_is_the_median_of_each_rounds_ratio():
    # the second round came while the machine was ten times as slow
    ours = [Sample(100, t, 2 * t) for t in (1.0, 10.0, 1.0)]
    theirs = [Sample(100, t, 4 * t) for t in (2.0, 20.0, 2.5)]
    rows = summary({"a": ours, "b": theirs}, {"a": 1, "b": 2})
    assert rows["a"]["rate"] == 100 and rows["a"]["ratio"] == 1
    assert rows["b"]["rate"] == 40 and rows["b"]["ratio"] == 2
    assert rows["b"]["wall_rate"] == 10 and rows["b"]["memory"] == 2
    wall = summary({"a": ours, "b": theirs}, {"a": 1, "b": 2}, "wall")
    assert wall["b"]["ratio"] == 4


def remember(place, name):
    """A job that writes its turns into a file."""

    def job(part):
        with open(place, "a") as file:
            file.write(f"{name}{part} ")
        return part + 1

    return job


def test_systems_work_in_turns(tmp_path, monkeypatch):
    """In processes that need not import PyTorch again."""
    forks = get_context("fork")
    monkeypatch.setattr(clock, "get_context", lambda _: forks)
    place = str(tmp_path / "turns")
    makers = {name: (remember, (place, name)) for name in "ab"}
    samples, memory, outputs = interleave(makers, parts=2, rounds=2)
    turns = (tmp_path / "turns").read_text().split()
    assert sorted(turns[:2]) == ["a0", "b0"]  # both make themselves ready
    assert turns[2:] == ["a0", "b0", "a1", "b1"] * 2
    assert [s.work for s in samples["b"]] == [3, 3]
    assert outputs == {"a": None, "b": None}
    assert all(0 <= grown < 2**27 for grown in memory.values())


def test_the_record_of_exports_is_of_the_weights_that_are_shipped():
    record = json.loads((ROOT / "book/runs/benchmark-export.json").read_text())
    shipped = read_config(find_model(record["model"]))
    assert record["weights"] == shipped.sha256["model.safetensors"]
