"""`make gpu`: rehearsed on a CPU, and the record that it has written."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import gpu

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "book/runs/benchmark-gpu.json"
# Validation perplexity and BLEU of 2016, set before a GPU has run the recipe,
# from three runs on a CPU. Perplexities are a subword, of 8,000 and of 4,000.
BOUNDS = {"adam": (5.15, 39.3), "muon": (4.15, 38.7)}


def test_a_rehearsal_measures_without_a_gpu(tmp_path, monkeypatch, capsys):
    """One step as the command does it, in processes; two of them here."""
    path = tmp_path / "gpu.json"
    path.write_text('{"steps": {}}')
    for name in ("speed", "search"):
        gpu.one_step(name, path, gpu.REHEARSAL)
    words = f"gpu {path} --scale rehearsal --steps task"
    monkeypatch.setattr(sys, "argv", words.split())
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    assert not ended.value.code
    steps = json.loads(path.read_text())["steps"]
    assert {*steps} == {"speed", "search", "task"}
    assert not any("error" in step for step in steps.values())
    told = "speed, tiny, float32, systems, this package, wall_rate "
    assert told in capsys.readouterr().out
    (run,) = steps["task"]["runs"].values()
    assert run["valid_perplexity"] > 1 and run["scores"]["test"]["bleu"] >= 0
    for one in (
        steps["speed"]["tiny"]["float32"],
        steps["search"]["batches of 32"],
    ):
        assert all(row["wall_rate"] > 0 for row in one["systems"].values())


def fails(scale, work):
    """A step that measures something and then fails."""
    yield {"measured": 1}
    raise ArithmeticError("the reason")


def test_a_step_that_fails_keeps_what_it_measured_and_why(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(gpu.STEPS, "search", (fails, 9))
    path = tmp_path / "gpu.json"
    path.write_text('{"steps": {}}')
    with pytest.raises(ArithmeticError):
        gpu.one_step("search", path, gpu.REHEARSAL)
    found = json.loads(path.read_text())["steps"]["search"]
    assert found["measured"] == 1
    assert "in fails" in found["error"] and "the reason" in found["error"]


def test_the_record_reaches_the_quality_of_a_core():
    record = json.loads(RECORD.read_text("utf-8"))
    steps = record["steps"]
    assert (
        steps["tests"]["status"] == 0
        and "failed" not in steps["tests"]["last"]
    )
    runs = steps["task"]["runs"]
    assert len(runs) == 3
    (name,) = {
        x["recipe"]["train"].get("optimizer", "adam") for x in runs.values()
    }
    perplexity, least = BOUNDS[name]
    assert steps["task"]["mean"]["valid_perplexity"] <= perplexity
    assert steps["task"]["mean"]["test_2016_flickr"] >= least
    mean = sum(run["valid_perplexity"] for run in runs.values()) / 3
    assert mean == pytest.approx(steps["task"]["mean"]["valid_perplexity"])
    minutes = sum(run["seconds"] for run in runs.values()) / 3 / 60
    bleu = steps["task"]["mean"]["test_2016_flickr"]
    page = (ROOT / "book" / "toolkit_devices.md").read_text("utf-8")
    card = record["machine"]["processor"]
    assert f"takes ${minutes:.1f}$ minutes on an {card}" in page
    assert f"to {{number}}`{bleu:.1f} benchmark-gpu: task mean" in page
