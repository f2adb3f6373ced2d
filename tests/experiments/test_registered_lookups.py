"""What the registered lookups were trained with follows from their tuning."""

from statistics import stdev

import pytest

from experiments.registered_lookups import SEEDS
from experiments.tuned_lookups import (
    CHOSEN,
    HEADS,
    PATHS,
    PILOT,
    ROWS,
    SCALE,
    TUNING,
)
from ledger import BOOK
from ledger.claims import read_claims
from ledger.records import read_run

TUNED = read_run("tuned_lookups")["results"]
COMPARED = {  # by claim
    "P-3.2.1-g": (SCALE, ("scaled, d_k=256", "dot, d_k=256")),
    "P-2-c": (HEADS, ("heads=2, picks=2", "heads=1, picks=2")),
    "short-paths": (PATHS, ("recurrent, middle", "unattended, middle")),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_the_setting_that_ended_with_the_least_loss(row):
    task, _ = ROWS[row]
    losses = {
        (rate, warmup): TUNED[
            f"{row}, rate={rate:.2g} warmup={warmup} seed={TUNING}"
        ]["loss"]
        for rate in task.rates
        for warmup in task.warmups
    }
    assert losses[CHOSEN[row]] == min(losses.values())


@pytest.mark.parametrize("name", COMPARED)
def test_rates_and_seeds_are_those_that_were_registered(name):
    task, rows = COMPARED[name]
    known = read_claims(BOOK)[name]["registered"]
    assert known["rates"] == pytest.approx(task.rates, rel=0.01)
    spreads = [
        stdev(TUNED[f"{row} seed={seed}"]["right"] for seed in PILOT)
        for row in rows
    ]
    assert known["pilot"] == pytest.approx(max(spreads), rel=0.01)
    assert known["seeds"] == SEEDS[task]
