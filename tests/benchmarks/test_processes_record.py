"""What exchanging gradients costs: the record, and what follows from it."""

import json
import re
from pathlib import Path
from statistics import median

import pytest

from annotated_transformer.model import PRESETS, parameter_count
from annotated_transformer.runs.cost import Ring

BOOK = Path(__file__).parents[2] / "book"
RECORD = json.loads((BOOK / "runs/benchmark-processes.json").read_text())
PAGE = (BOOK / "toolkit_devices.md").read_text("utf-8")
HOURS = {"base": 100_000 / 3600, "big": 300_000 / 3600}  # of a second each


@pytest.mark.parametrize("case", RECORD["processes"])
def test_what_is_foretold_is_near_what_is_measured(case):
    row = RECORD["processes"][case]
    ring = Ring(row["start"], row["bandwidth"])
    foretold = row["computed"] + ring.seconds(row["gradient"], 2)
    assert foretold == pytest.approx(row["foretold"])
    samples = row["samples"]["together"]
    assert len(samples) == 5 and median(samples) == row["together"]
    assert foretold == pytest.approx(row["together"], rel=0.25)


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
    line = re.search(rf"(?m)^\| {re.escape(row)}.*$", PAGE)[0]
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
