"""Registered comparisons: grid, pilot and what counts follow one another."""

from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import product
from math import isfinite, nan, sqrt
from pathlib import Path
from statistics import stdev

import pytest
from drawn_once import drawn_once

from annotated_transformer.corpora.builtin import examples
from annotated_transformer.corpora.corpus import Corpus
from experiments import averaging_by_schedule as averaging
from experiments import (
    ladder,
    modern_parts,
    three_translators,
    tuned_ladder,
    warmup_and_norms,
)
from experiments import table3_captions as captions
from experiments.shared import registering, small_translator
from experiments.shared.registering import (
    Comparison,
    counted,
    recorded,
    tuning,
)
from ledger import BOOK
from ledger.claims import read_claims

EXPERIMENTS = Path(registering.__file__).parents[1]
TUNED = sorted(path.stem for path in EXPERIMENTS.glob("tuned_*.py"))
MEASURED = [name for name in TUNED if recorded(name)]


def toss(side, rate, warmup, seed):
    """Best at 0.003 and 20; the figures of a side are `spread` apart."""
    loss = abs(rate - 0.003) * 1000 + abs(warmup - 20) / 100
    return {"loss": loss, "figure": side + seed % 2 * 0.02}


COMPARED = Comparison(
    claims=["C"],
    rows={"heads": partial(toss, 1), "tails": partial(toss, 2)},
    controls={"edge": partial(toss, 3)},
    rates=registering.around(0.003),
    warmups=(10, 20),
    figures=["figure"],
    margin="accuracy",
)


def results(runs):
    return {key: run() for key, run in runs.items()}


def test_the_pilot_comes_after_the_grid_and_what_counts_after_both():
    assert not counted([COMPARED], {})
    known = results(tuning([COMPARED], {}))
    assert len(known) == 3 * 6
    assert not counted([COMPARED], known)
    known = results(tuning([COMPARED], known))
    assert len(known) == 3 * (6 + 4)
    runs = counted([COMPARED], known)
    deviation = 0.01 * 2 / sqrt(3)  # of two figures 0.02 apart, twice each
    assert COMPARED.pilot(known) == pytest.approx(deviation, rel=0.01)
    number = COMPARED.seeds(known)
    assert 8 < number <= 24 and len(runs) == 5 * number
    for key, run in runs.items():
        first, last = (
            (300, 300 + number) if "again" in key else (200, 200 + number)
        )
        assert first <= run.keywords["seed"] < last
        assert run.keywords["rate"] == 0.003 and run.keywords["warmup"] == 20
        assert not key.startswith("again, edge")
    seeds = {run.keywords["seed"] for run in runs.values()}
    tried = {
        run.keywords["seed"] for run in tuning([COMPARED], known).values()
    }
    assert not seeds & tried


def test_a_run_that_diverges_is_not_the_best():
    known = results(tuning([COMPARED], {}))
    for key in known:
        if "rate=0.003 warmup=20" in key:
            known[key] = {"loss": nan}
    for learn in COMPARED.at_best(known).values():
        assert learn.keywords["warmup"] == 10


def test_rates_that_a_record_cannot_tell_apart_are_refused():
    with pytest.raises(ValueError, match="two rates are the same"):
        Comparison(["C"], {}, [0.0101, 0.0102], [5], ["figure"], "nats")


def test_one_setting_has_no_grid():
    one = Comparison(["C"], COMPARED.rows, [0.1], [5], ["figure"], "nats")
    pilot = tuning([one], {})
    assert len(pilot) == 2 * 4 and not counted([one], {})
    runs = counted([one], results(pilot))
    assert len(runs) == 2 * 2 * 8
    for run in (*pilot.values(), *runs.values()):
        assert run.keywords["rate"] == 0.1 and run.keywords["warmup"] == 5


@pytest.mark.parametrize("name", MEASURED)
def test_claims_say_what_was_tuned_and_what_the_pilot_asks_for(name):
    """Computed here from the record, by its keys."""
    module, known = import_module(f"experiments.{name}"), recorded(name)
    claims = read_claims(BOOK)
    for one in module.COMPARED:
        for claim in (x for x in one.claims if "registered" in claims[x]):
            said = claims[claim]["registered"]
            assert said["rates"] == pytest.approx(one.rates, rel=0.01)
            spreads = [
                stdev(
                    known[f"{row} seed={seed}"][figure]
                    for seed in range(101, 105)
                )
                for row, figure in product(one.rows, one.figures)
            ]
            assert said["pilot"] == pytest.approx(max(spreads), rel=0.01)
            assert said["seeds"] == one.seeds(known)
            assert claims[claim]["records"] == [f"registered_{name[6:]}"]


@pytest.mark.parametrize("name", MEASURED)
def test_a_row_has_the_setting_that_ended_with_the_least_loss(name):
    known = recorded(name)
    for one in import_module(f"experiments.{name}").COMPARED:
        for row, learn in one.at_best(known).items():
            losses = {
                key: found["loss"]
                for key, found in known.items()
                if key.startswith(f"{row}, rate=")
            }
            given = learn.keywords
            setting = f"rate={given['rate']:.2g} warmup={given['warmup']}"
            chosen = losses.get(f"{row}, {setting} seed=100")
            assert chosen == min(losses.values(), default=None)


@pytest.mark.parametrize("name", TUNED)
def test_what_is_registered_rests_on_the_tuning_of_its_name(name):
    tuned = import_module(f"experiments.{name}")
    module = import_module(f"experiments.registered_{name[6:]}")
    assert module.tuned is tuned and module.RECIPE is tuned.RECIPE
    assert bool(module.RUNS) == bool(recorded(name))
    claims = read_claims(BOOK)
    assert module.CLAIMS and claims.keys() >= {*module.CLAIMS}
    for one in tuned.COMPARED:
        assert {claims[x]["margin"] for x in one.claims} == {one.margin}


@pytest.fixture(scope="module")
def few_updates():
    """Trainings of a few updates, tested on a few sentences."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examples, "drawn_examples", drawn_once())
        text = small_translator.corpus()
        tests = {"test": text.tests["test"][:3]}
        few = Corpus(
            text.train[:500], text.valid[:20], tests, "few", "a", "b", {}
        )
        small_translator.tokenizer()  # of the whole text
        for module in (
            averaging,
            captions,
            modern_parts,
            small_translator,
            warmup_and_norms,
        ):
            patch.setattr(module, "corpus", lambda: few)
        short = {**ladder.LEARNING, "steps": 80, "decay": 20, "batch": 2}
        patch.setattr(ladder, "LEARNING", short)
        some = [part[:9000] for part in ladder.letters()]
        patch.setattr(tuned_ladder, "letters", lambda: some)
        reading = {**modern_parts.READING, "steps": 20, "held_out": 100}
        patch.setattr(modern_parts, "READING", reading)
        short = {**averaging.LEARNING, "steps": 20}
        patch.setattr(averaging, "LEARNING", short)
        patch.setattr(averaging, "APART", {"near": 1, "far": 3})
        patch.setattr(three_translators, "UPDATES", {None: 20})
        for module in (small_translator, captions):
            train = replace(module.BASE.train, steps=5)
            base = replace(module.BASE, train=train)
            patch.setattr(module, "BASE", base)
        patch.setattr(captions, "tokenizer", small_translator.tokenizer)
        patch.setattr(captions, "HELD_OUT", "test")
        yield {"tuned_warmup": {"steps": 20}}


@pytest.mark.parametrize("name", [x for x in TUNED if x not in MEASURED])
def test_a_rehearsal_of_what_is_planned(name, few_updates):
    """Each row has its figures; rate and warm-up reach the training."""
    given = few_updates.get(name, {})
    for one in import_module(f"experiments.{name}").COMPARED:
        for learn in one.all_rows.values():
            found = learn(rate=0.003, warmup=2, seed=1, **given)
            assert all(isfinite(found[x]) for x in ("loss", *one.figures))
        for other in ({"rate": 0.002}, {"warmup": 9}, {"seed": 2}):
            setting = {"rate": 0.003, "warmup": 2, "seed": 1} | other
            assert learn(**setting, **given)["loss"] != found["loss"]
