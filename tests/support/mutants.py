"""Damaged copies of good folders: what Hypothesis makes of them."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from faults import Work, peak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotated_transformer import Translator
from annotated_transformer.corpora.parallel_text import read_parallel
from annotated_transformer.errors import UserError
from annotated_transformer.system.atomic_files import sha256

NASTY = [
    *(None, True, -1, 0, 1, 3, 2**31, 10**9, 10**30, 0.5, -0.0, 1e308),
    *(float("nan"), "", "x", "../../etc/passwd", "\0"),
    *([], {}, [[1]], {"a": {"b": "c"}}, [0] * 999),
]


class Found(NamedTuple):
    """What became of some hostile inputs, and what they cost."""

    taken: list[str]
    refused: dict[str, str]  # messages
    broken: dict[str, str]  # exceptions that are no UserError
    memory: int  # bytes more than before, at the worst


def attempt(tries: Iterable[tuple[str, Callable[[], object]]]) -> Found:
    """Call each function; only a UserError may be raised."""
    found = Found([], {}, {}, 0)
    before = peak()
    for name, function in tries:
        try:
            function()
            found.taken.append(name)
        except UserError as error:
            found.refused[name] = str(error)
        except Exception as error:
            found.broken[name] = repr(error)
    return found._replace(memory=peak() - before)


def change_bytes(data: bytes, rng: random.Random) -> bytes:
    """Cut, repeat, insert or overwrite some bytes."""
    start, end = sorted(rng.choices(range(len(data) + 1), k=2))
    noise = rng.randbytes(rng.randint(1, 16))
    middle = rng.choice([b"", noise, noise + data[start:end]])
    return data[:start] + middle + rng.choice([b"", data[end:], data[start:]])


def change_json(value: object, rng: random.Random) -> object:
    """Replace, rename or drop something, anywhere in a JSON value."""
    if not value or not isinstance(value, dict) or rng.random() < 0.2:
        return rng.choice(NASTY)
    name = rng.choice(list(value))
    rest = {key: value[key] for key in value if key != name}
    if rng.random() < 0.2:
        return rest
    return {**rest, name: change_json(value[name], rng)}


def change_folder(folder: Path, rng: random.Random) -> None:
    """Change one file or two; half the time, mend the checksums."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in rng.sample(files, rng.randint(1, 2)):
        data = path.read_bytes()
        if path.suffix == ".json" and rng.random() < 0.8:
            value = change_json(json.loads(data), rng)
            path.write_text(json.dumps(value))
        elif rng.random() < 0.05:
            path.unlink()
        else:
            path.write_bytes(change_bytes(data, rng))
    if rng.random() < 0.5:
        mend_sums(folder)


def mend_sums(folder: Path) -> None:
    """Make the checksums of config.json right, if it has any."""
    path = folder / "config.json"
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        config = json.loads(path.read_bytes() if path.is_file() else b"")
        for name in config["sha256"]:
            if (folder / name).is_file():
                config["sha256"][name] = sha256(folder / name)
        path.write_text(json.dumps(config))


def mutants(
    good: Path, scratch: Path, numbers: range, use: Callable[[Path], object]
) -> Found:
    """Use so many changed copies of a good folder; one that breaks is shrunk.

    Where a crash ends the process, the copy stays in scratch.
    """
    found = Found([], {}, {}, 0)

    @given(st.randoms(use_true_random=False))
    @settings(
        max_examples=len(numbers),
        deadline=None,
        database=None,
        derandomize=bool(os.environ.get("CI")),
        suppress_health_check=[*HealthCheck],
    )
    def try_one(rng: random.Random) -> None:
        folder = scratch / "mutant"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good, folder)
        change_folder(folder, rng)
        taken, refused, broken, _ = attempt([("it", lambda: use(folder))])
        assert not broken, broken
        found.taken.extend(taken)
        found.refused.update((told, told) for told in refused.values())

    before = peak()
    try_one()
    return found._replace(memory=peak() - before)


# What is done with a copy


def translated(folder: Path) -> None:
    """Load a model folder and translate with it: a line for each line."""
    texts = Translator.load(folder)(["abc", "", "\u2028\0é"], beam=1)
    assert len(texts) == 3 and texts[1] == ""


class Resumed(NamedTuple):
    """Continue the run in a folder."""

    work: Work

    def __call__(self, folder: Path) -> None:
        if (folder / "run.json").exists():
            self.work.into(folder)


def read(folder: Path) -> None:
    """Read parallel text."""
    read_parallel([folder / "a.txt", folder / "b.gz"])
    for name in ("c.tsv", "c.csv", "c.jsonl"):
        read_parallel([folder / name])
