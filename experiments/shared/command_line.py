"""Run the trained experiments and write their records: `make measure`.

What is finished is kept, so that a measurement that was stopped goes on
where it was. README.md says how an experiment is written.
"""

import argparse
import ast
import hashlib
import json
import re
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec, resolve_name
from math import nan
from multiprocessing import get_context
from pathlib import Path
from subprocess import run
from types import ModuleType
from typing import NamedTuple, TypedDict
from urllib.parse import quote

import torch

from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.errors import Interrupted, UserError
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.machine import environment
from ledger import BOOK
from ledger.claims import as_registered, read_claims

from .grid import Result
from .reproduction import SEED, moved

EXPERIMENTS = Path(__file__).parents[1]
ROOT = EXPERIMENTS.parent
RECORDS = ROOT / "book" / "runs"
KEPT = ROOT / "_build" / "measure"
# measured if asked for: what takes hours, or a GPU, and what is for a claim
LONG = {
    *("back_translation", "deep_encoder", "size_and_dropout"),
    *("single_words", "speed_run_builtin"),
    *("speed_run_captions", "speed_run_plays", "speed_run_plays_tried"),
}
LONG |= {
    path.stem
    for kind in ("tuned", "registered")
    for path in EXPERIMENTS.glob(f"{kind}_*.py")
}
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Task(NamedTuple):
    """One run of an experiment, and where its result is kept."""

    module: str  # the experiment's, by its full name
    key: str
    offset: int  # added to the seed
    path: Path


class Kept(TypedDict):
    """A result as it is kept."""

    settings: str  # see settings
    source: str  # see source
    seconds: float  # of the processor
    result: Result


def task_of(full: str, key: str, offset: int, kept: Path) -> Task:
    """The task of a run by its key."""
    name = full.rpartition(".")[2]
    folder = kept / (f"{name}+{offset}" if offset else name)
    return Task(full, key, offset, folder / f"{quote(key, safe=' =')}.json")


def settings(task: Task) -> str:
    """What a kept result was made with; another setting, another result."""
    module = import_module(task.module)
    arguments = getattr(module.RUNS[task.key], "keywords", {})
    return ADDRESS.sub("", f"{module.RECIPE} {arguments} {task.offset}")


@cache
def source(full: str) -> str:
    """The SHA-256 of an experiment and all that it imports from beside it."""
    found: dict[str, str] = {}
    waiting = [full]
    while waiting:
        name = waiting.pop()
        spec = None
        with suppress(ModuleNotFoundError):  # no module, but what is in one
            spec = find_spec(name)
        if name in found or spec is None or spec.origin is None:
            continue
        found[name] = Path(spec.origin).read_text("utf-8")
        for node in ast.walk(ast.parse(found[name])):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = "." * node.level + (node.module or "")
                where = resolve_name(base, spec.parent)
                waiting += [where, *(f"{where}.{x.name}" for x in node.names)]
    texts = "".join(found[name] for name in sorted(found))
    return hashlib.sha256(texts.encode()).hexdigest()


def finished(task: Task) -> Kept | None:
    """The kept result with its seconds, if it was made with the settings."""
    try:
        kept: Kept = json.loads(task.path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return kept if kept["settings"] == settings(task) else None


def ended(task: Task) -> Kept:
    """What is kept of a task that was performed without an error."""
    kept = finished(task)
    assert kept is not None
    return kept


def perform(task: Task) -> tuple[Task, str | None]:
    """Run, and keep the result; returns the error's text if there is one."""
    run = import_module(task.module).RUNS[task.key]
    start = time.process_time()
    try:
        if task.offset:
            result = run(seed=run.keywords["seed"] + task.offset)
        else:
            result = run()
        kept: Kept = {
            "settings": settings(task),
            "source": source(task.module),
            "seconds": time.process_time() - start,
            "result": result,
        }
        task.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(task.path, json.dumps(kept))
    except Interrupted as error:  # by a signal, which is for all runs
        raise KeyboardInterrupt from error
    except UserError as error:
        return task, f"error: {error}"
    except Exception:
        return task, traceback.format_exc()
    return task, None


def one_thread() -> None:
    """Make a process ready to run tasks; Ctrl-C is for the one that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)


def brief(result: Result) -> str:
    """The plain numbers of a result in one line."""
    return ", ".join(
        f"{name} {value:.4g}"
        for name, value in result.items()
        if isinstance(value, int | float)
    )


def follow(done: Iterable[tuple[Task, str | None]], number: int) -> int:
    """Print a line for each run that ends; returns how many failed."""
    start, failed = time.monotonic(), 0
    for place, (task, error) in enumerate(done, 1):
        left = (time.monotonic() - start) / place * (number - place) / 60
        shown = error or brief(ended(task)["result"])
        failed += error is not None
        to_go = f"; {left:.0f} min left" if place < number else ""
        print(f"{place}/{number} {task.key}: {shown}{to_go}", flush=True)
    return failed


def run_all(tasks: Sequence[Task], jobs: int) -> int:
    """Run what is not finished; returns how many runs failed."""
    kept = {task: finished(task) for task in tasks}
    waiting = [task for task, found in kept.items() if not found]
    old = [
        task
        for task, found in kept.items()
        if found and found.get("source") != source(task.module)
    ]
    print(f"runs: {len(tasks)}, {len(tasks) - len(waiting)} of them kept")
    if old:
        print(
            f"{len(old)} of these were made before the experiment's source "
            f"changed; to make them again, remove {old[0].path.parent}"
        )
    sys.stdout.flush()
    if jobs == 1:
        torch.set_num_threads(1)
        return follow(map(perform, waiting), len(waiting))
    with get_context("spawn").Pool(jobs, one_thread) as pool:
        done = pool.imap_unordered(perform, waiting)
        return follow(done, len(waiting))


def registration(
    module: ModuleType, tasks: Sequence[Task], folder: Path, earlier: Path
) -> Result:
    """The registered claims that rest on an experiment, and their commit.

    They are written down when the first of its runs begins, so that a record
    says what was asked before anything was known. What is not committed then
    is refused with a UserError, and so are runs whose module names CLAIMS that
    are not registered. If some of the runs are in an earlier record,
    their figures are known: then nothing but what that one has kept counts.
    """
    name = module.__name__.rpartition(".")[2]
    claims = {
        claim: as_registered(entry)
        for claim, entry in read_claims(BOOK).items()
        if name in entry.get("records", ()) and "registered" in entry
    }
    known: Result = {}
    if earlier.exists():
        known = json.loads(earlier.read_text("utf-8"))
    if known.get("results", {}).keys() & {task.key for task in tasks}:
        return known.get("registered", {})
    path = folder / "registered.json"
    if path.exists() and any(map(finished, tasks)):
        kept: Result = json.loads(path.read_text("utf-8"))
        return kept
    found: Result = {}
    if missing := {*getattr(module, "CLAIMS", ())} - claims.keys():
        raise UserError(
            f"{name} is to measure {', '.join(sorted(missing))}; register "
            f"them before its first run: in book/claims, with records: "
            f"[{name}]"
        )
    if claims:
        where = "book/claims", "experiments", "book/runs/tuned_*"
        if changed := git("status", "--porcelain", "--", *where):
            raise UserError(
                f"{name} is to measure {', '.join(claims)}, which are "
                f"registered; commit what has changed before its first run:\n"
                f"{changed}"
            )
        found = {"commit": git("rev-parse", "HEAD"), "claims": claims}
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(found))
    return found


def git(*arguments: str) -> str:
    """What git says in this repository."""
    command = ["git", "-C", str(ROOT), *arguments]
    done = run(command, check=True, capture_output=True, text=True)
    return done.stdout.rstrip()


def about(module: ModuleType) -> str:
    """The first line of what an experiment says of itself."""
    return (module.__doc__ or "").partition("\n")[0]


def taken(path: Path) -> str:
    """How long an experiment takes one core, by its record."""
    if not path.exists():
        return "not yet measured"
    return f"{json.loads(path.read_text('utf-8'))['seconds'] / 3600:.2f} h"


def total(names: Iterable[str]) -> float:
    """The hours of one core that all these experiments take."""
    paths = [RECORDS / f"{name}.json" for name in names]
    found = (json.loads(path.read_text()) for path in paths if path.exists())
    return sum(float(record["seconds"]) for record in found) / 3600


def record(
    module: ModuleType,
    name: str,
    tasks: Sequence[Task],
    registered: Result,
) -> Result:
    """All results of an experiment and what a reader must know of them."""
    corpus = module.corpus()
    kept = {task.key: ended(task) for task in tasks}
    return {
        "experiment": name,
        "about": about(module),
        "command": f"python -m experiments --only {name}",
        "recipe": module.RECIPE,
        "registered": registered,
        "data": {
            "name": corpus.name,
            **(
                {"bytes": corpus.size}
                if isinstance(corpus, RunningText)
                else {"pairs": len(corpus.train)}
            ),
            "sha256": corpus.checksums,
        },
        **environment(getattr(module, "DEVICE", "cpu")),
        "seconds": sum(found["seconds"] for found in kept.values()),
        "results": {key: found["result"] for key, found in kept.items()},
    }


def measure(
    modules: Sequence[str],
    jobs: int = 2,
    offset: int = 0,
    kept: Path = KEPT,
    records: Path = RECORDS,
) -> int:
    """Run experiments, write their records, say what moved.

    With an offset of the seeds nothing is written, since the record is of
    the seeds that it names. Returns how many runs failed or figures moved.
    """
    torch.set_num_threads(1)
    bad = 0
    for full in modules:
        module, name = import_module(full), full.rpartition(".")[2]
        tasks = [task_of(full, key, offset, kept) for key in module.RUNS]
        path = records / f"{name}.json"
        print(f"{name}: {about(module)} ({taken(path)})")
        if not tasks:
            raise UserError(f"{name} has no runs before its tuning is whole")
        registered = registration(module, tasks, tasks[0].path.parent, path)
        if failed := run_all(tasks, jobs):
            bad += failed
            continue
        found = record(module, name, tasks, registered)
        if path.exists():
            stored = json.loads(path.read_text("utf-8"))["results"]
            lines = moved(stored, found["results"])
            print(
                *lines, f"{len(lines)} figures of {path.name} moved", sep="\n"
            )
            bad += len(lines)
        if not offset:
            records.mkdir(parents=True, exist_ok=True)
            write_text(path, json.dumps(found, indent=1) + "\n")
    return bad


def measure_run(
    full: str, key: str, kept: Path = KEPT, records: Path = RECORDS
) -> int:
    """Make one run of an experiment; print its figures beside the record's.

    Nothing is recorded. Returns 1 if it failed, or if a figure is further
    away than the seeds of its variation explain. UserError for a run, or a
    record, that there is not.
    """
    module, name = import_module(full), full.rpartition(".")[2]
    if key not in module.RUNS:
        near = get_close_matches(key, module.RUNS) or [*module.RUNS][:3]
        raise UserError(
            f"{key!r}: none of the {len(module.RUNS)} runs of {name}, which "
            f"are such as {', '.join(map(repr, near))}"
        )
    tasks = [task_of(full, x, 0, kept) for x in module.RUNS]
    task, path = task_of(full, key, 0, kept), records / f"{name}.json"
    if not path.exists():
        raise UserError(f"{name} has no record yet: measure all of it first")
    registration(module, tasks, task.path.parent, path)
    stored = json.loads(path.read_text("utf-8"))
    seeds = stored["results"]
    minutes = stored["seconds"] / len(seeds) / 60
    usual = f"the runs of its record took {minutes:.1f} minutes on average"
    print(f"{name}, {key}: {usual}", flush=True)
    if run_all([task], 1):
        return 1
    found, row = ended(task)["result"], SEED.sub("", key)
    alike = {x: seeds[x] for x in seeds if SEED.sub("", x) == row}
    columns = [found, alike.get(key, {}), *alike.values()]
    width = max(map(len, found))
    print(f"{'':{width}}  {'here':>12}  {'the record':>12}  over its seeds")
    for figure, value in found.items():
        if isinstance(value, int | float):
            here, there, *others = (x.get(figure, nan) for x in columns)
            print(
                f"{figure:{width}}  {here:12.6g}  {there:12.6g}  "
                f"{min(others):.6g} to {max(others):.6g}"
            )
    lines = moved(alike, {key: found})
    print(*lines, sep="\n", end="\n" * bool(lines))
    return int(bool(lines))


def main(arguments: Sequence[str]) -> None:
    """Read the command line and measure."""
    names = sorted(path.stem for path in EXPERIMENTS.glob("[!_]*.py"))
    each = {name: taken(RECORDS / f"{name}.json") for name in names}
    parser = argparse.ArgumentParser(
        prog="experiments",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
        epilog="hours of one core, by the records:\n"
        + "".join(
            f"  {name:34}{hours}{' *' * (name in LONG)}\n"
            for name, hours in each.items()
        )
        + f"together {total(names):.1f} h, without * "
        f"{total({*names} - LONG):.1f} h; * is measured where --only names it",
    )
    parser.add_argument(
        "--only",
        choices=names,
        metavar="EXPERIMENT",
        help="one of those below",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--seed-offset",
        type=int,
        default=0,
        help="added to every seed: compares, and writes no record",
    )
    parser.add_argument(
        "--run",
        metavar="KEY",
        help="one run of --only: its figures beside the record's",
    )
    given = parser.parse_args(arguments)
    if given.run is not None and (given.only is None or given.seed_offset):
        parser.error("--run goes with --only, and with no --seed-offset")
    chosen = [given.only] if given.only else sorted({*names} - LONG)
    modules = [f"experiments.{name}" for name in chosen]
    try:
        if given.run is not None:
            sys.exit(measure_run(modules[0], given.run))
        sys.exit(bool(measure(modules, given.jobs, given.seed_offset)))
    except UserError as error:
        parser.error(str(error))
