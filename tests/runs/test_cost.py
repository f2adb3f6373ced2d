"""What an update costs, against sums by hand and a ring that is walked."""

import os
import re

import pytest
import torch
from chapters import BOOK
from small_runs import CORPUS, SMALL, learning
from started import ends, start
from torch import nn

from annotated_transformer.data import make_batch
from annotated_transformer.model import (
    PRESETS,
    parameter_count,
    transformer,
)
from annotated_transformer.optimizer import make_optimizer
from annotated_transformer.runs import cost, dry_run
from annotated_transformer.runs.cost import (
    Cost,
    Ring,
    first_rows,
    kept_bytes,
    measured_cost,
)
from annotated_transformer.system.processes import Processes
from annotated_transformer.training import TrainConfig, batch_loss

HOURS = {"base": 100_000 / 3600, "big": 300_000 / 3600}  # of a second each


def test_what_is_kept_is_counted_once_and_without_weights():
    x = torch.rand(5, 7)
    model = nn.Sequential(nn.Linear(7, 3), nn.Sigmoid(), nn.Linear(3, 2))
    # the input, and the sigmoid's output, which the next layer keeps, too
    expected = 4 * (5 * 7 + 5 * 3)
    assert kept_bytes(model, lambda: model(x).sum()) == expected
    x = x[:2]  # of a larger tensor, all of which stays
    expected = 4 * (5 * 7 + 2 * 3)
    assert kept_bytes(model, lambda: model(x).sum()) == expected


@pytest.mark.parametrize("rows", [1, 2, 3, 9])
def test_first_rows_are_a_batch_of_these_sentences(rows):
    pairs = [([5, 2], [4, 6, 2]), ([7, 8, 2], [9, 2]), ([4, 2], [2])]
    found, expected = first_rows(make_batch(pairs), rows), pairs[:rows]
    assert found.tokens == sum(len(target) for _, target in expected)
    assert found.targets.tolist() == sum((y for _, y in expected), [])
    labels = found.labels.flatten()[found.places]
    assert labels.tolist() == found.targets.tolist()
    assert len(found.source) == len(found.inputs) == len(expected)


def test_cost_is_measured_and_changes_what_it_may_alone():
    def batches():
        while True:
            yield make_batch([([5, 6, 2], [7, 8, 9, 2])] * 3)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformer(SMALL.model).train()
        optimizer = make_optimizer(model)
        found = measured_cost(
            model, batches(), optimizer, TrainConfig(), batch_loss
        )
    assert all(0 < x < 1e9 for x in found)
    assert found.seconds(100) == pytest.approx(100 * found.token + found.step)
    # a batch of three is soon computed, so all of its rows were
    whole = kept_bytes(
        model, lambda: batch_loss(model, next(batches()), TrainConfig())
    )
    assert found.kept == pytest.approx(whole / 12)


def ring_seconds(size, devices, seconds_before, bandwidth):
    """Walk round: each device has parts, and sends one in every turn."""
    has = [[{place} for _ in range(devices)] for place in range(devices)]
    time = 0.0
    for turn in range(10**6):
        if all(len(part) == devices for parts in has for part in parts):
            return time
        sent = [(p - turn) % devices for p in range(devices)]
        parts = [set(has[p][part]) for p, part in enumerate(sent)]
        for place, part, what in zip(range(devices), sent, parts, strict=True):
            has[(place + 1) % devices][part] |= what
        time += seconds_before + size / devices / bandwidth
    return None


@pytest.mark.parametrize("devices", [1, 2, 3, 8])
def test_an_exchange_takes_the_turns_of_a_ring(devices):
    ring = Ring(0.25, 4e6)
    walked = ring_seconds(1e6, devices, 0.25, 4e6)
    assert ring.seconds(10**6, devices) == pytest.approx(walked)


@pytest.mark.parametrize(
    ("row", "cards", "bandwidth"),
    [
        ("1", 1, 1e10),
        ("8", 8, 1e10),
        ("64, $1.25$", 64, 1.25e9),
        ("64, $12.5$", 64, 12.5e9),
    ],
)
def test_the_page_foretells_what_the_formula_says(row, cards, bandwidth):
    """On cards that do 7e12 operations a second, 25,000 tokens an update."""
    page = (BOOK / "toolkit_devices.md").read_text("utf-8")
    line = re.search(rf"(?m)^\| {re.escape(row)}.*$", page)[0]
    told = re.findall(r"\$([\d.]+)\$ s, \$([\d.]+)\$ (hours|days)", line)
    for preset, (seconds, time, unit) in zip(HOURS, told, strict=True):
        size = parameter_count(PRESETS[preset])
        computed = 6 * size * 25_000 / 7e12 / cards
        exchanged = Ring(0.0, bandwidth).seconds(4 * size, cards)
        found = computed + exchanged
        assert f"{found:.2f}" == seconds
        hours = found * HOURS[preset] / (24 if unit == "days" else 1)
        digits = len(time.partition(".")[2])
        assert f"{hours:.{digits}f}" == time


@pytest.mark.parametrize("size", [2, 4])
def test_constants_are_found_from_two_sizes(monkeypatch, size):
    true = Ring(0.002, 3e8)

    def sums(processes, number, device):
        return [9.0, *[true.seconds(number, processes.size)] * 4, 0.0]

    monkeypatch.setattr(cost, "sums", sums)
    found = Ring.measured(Processes(0, size), "cpu")
    assert found.start == pytest.approx(true.start)
    assert found.bandwidth == pytest.approx(true.bandwidth)


def rows_of(text):
    lines = (line.split("  ", 1) for line in text.splitlines())
    return {name: value.strip() for name, value in lines}


def test_times_follow_from_the_cost(monkeypatch):
    given = Cost(0.25, 2.0, 1000.0)
    monkeypatch.setattr(dry_run, "measured_cost", lambda *_: given)
    recipe = learning(SMALL, steps=7, accumulation_steps=2)
    rows = rows_of(dry_run.plan(recipe, CORPUS, device="cpu"))
    targets = float(rows["tokens an update"].split()[-2].replace(",", ""))
    update = 0.25 * targets + 2
    assert rows["an update"] == f"about {dry_run.spoken(update)}"
    assert rows["to the end"] == f"about {dry_run.spoken(7 * update)}"
    logits = 4 * int(rows["subwords"])
    assert rows["activations of a batch"] == (
        f"about {200 * (1000 + logits) / 1000:.1f} kB"
    )


def test_more_devices_take_the_exchange_into_account():
    ring, each = Ring(0.0, 1e6), Cost(0.01, 0.0, 1.0)
    recipe = learning(SMALL, steps=10)
    size = 4 * parameter_count(recipe.model)
    rows = dry_run.times(recipe, size, 100, each, ring, 3.0)
    assert rows["an update"].startswith("about 1 s, 0 s of it")
    for n in (8, 64):
        seconds = 1 + 2 * (n - 1) / n * size / 1e6
        told = f"about {100 * n / seconds:,.0f} target tokens a second"
        assert rows[f"on {n} such devices"].startswith(told)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0123, "0.012 s"),
        (9.96, "10 s"),
        (119, "119 s"),
        (120, "2.0 minutes"),
        (7200, "2.0 hours"),
        (200_000, "2.3 days"),
    ],
)
def test_a_time_has_the_unit_that_fits(seconds, told):
    assert dry_run.spoken(seconds) == told


def plan_together(folder):
    before = torch.get_rng_state()
    text = dry_run.plan(SMALL, CORPUS, device="cpu")
    assert torch.equal(torch.get_rng_state(), before)
    (folder / os.environ["RANK"]).write_text(text)


def test_processes_measure_how_they_exchange(tmp_path):
    assert ends(start(plan_together, 2, tmp_path)) == [0, 0]
    for path in tmp_path.iterdir():
        rows = rows_of(path.read_text())
        assert "to exchange" in rows["an update"]
        assert "target tokens a second" in rows["on 64 such devices"]
