"""One GPU, recorded: the tests, the translation task, speed: `make gpu`.

Each step is a process of its own with a limit in seconds. It writes what it
measures into the record at once, and the traceback of what fails.
`STEPS="task speed"` runs those alone and keeps the rest of the record;
`SMOKE=1` is the whole on a GPU in a minute, and `REHEARSE=1` on a CPU in half
a minute, both with sizes that measure nothing.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from traceback import format_exc

import torch

from annotated_transformer.commands import app
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.generated import copy_corpus
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.model import PRESETS
from annotated_transformer.runs.devices import allow_tf32
from annotated_transformer.storage.checkpoints import read_metrics
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.machine import environment
from annotated_transformer.translation import Translator, corpus_scores

from . import decoding, systems, training
from .clock import Job, Record, Sample, largest, measure, summary
from .text import VOCABULARY, ids_of

ROOT = Path(__file__).parents[1]
PROGRAM = [sys.executable, "-m", "benchmarks.gpu"]
OURS, TORCH, MARIAN = "this package", "torch.nn.Transformer", "Marian"
SCORED = 32768  # tokens of a batch, the beam counted, when tests are scored


@dataclass(frozen=True)
class Scale:
    """How much is measured, and where."""

    device: str = "cuda"
    task: tuple[str, ...] = (
        "--task=multi30k",
        "--float32",
        "--tf32",
    )
    alone: int = 30  # seconds for which the first seed has the device
    seeds: int = 3
    batches: int = 20  # of a round
    rounds: int = 5
    tokens: int = 25_000  # of such a batch
    captions: int = 1000
    presets: tuple[str, ...] = ("tiny", "base")

    def corpus(self) -> Corpus:
        """The text that is trained on."""
        return multi30k() if "multi30k" in self.task[0] else copy_corpus()


SMOKE = replace(
    Scale(),
    task=(
        "--task=multi30k",
        "--batch-tokens=16384",
        "--max-steps=20",
        "--checkpoint-every=10",
    ),
    seeds=2,
    alone=0,
    batches=2,
    rounds=2,
    captions=64,
)
REHEARSAL = replace(
    SMOKE,
    device="cpu",
    task=(
        "--task=copy",
        "--batch-tokens=512",
        "--max-steps=2",
        "--checkpoint-every=2",
    ),
    seeds=1,
    rounds=1,
    tokens=256,
    captions=4,
    presets=("tiny",),
)
SCALES = {"": Scale(), "smoke": SMOKE, "rehearsal": REHEARSAL}


def tests(scale: Scale, work: Path) -> Iterator[Record]:
    """What only a GPU can show, by tests/test_gpu.py."""
    words = (
        "-m pytest -q -rf tests/test_gpu.py -o addopts= -p no:cacheprovider"
    )
    ended = subprocess.run(
        [sys.executable, *words.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    lines = ended.stdout.strip().splitlines()
    yield {"status": ended.returncode, "last": lines[-1] if lines else ""}
    if ended.returncode:
        raise RuntimeError(ended.stdout[-4000:] + ended.stderr[-2000:])


def trained(folder: Path, began: float, log: str) -> Record:
    """What a training has reached, and what it took."""
    lines = log.splitlines()
    history = read_config(folder).history
    assert history and history.result.seconds  # which train has written
    curve = read_metrics(folder)
    tokens = sum(line["tokens"] for line in curve)
    return {
        "command": history.command.replace(str(folder.parent), "runs"),
        "said": lines[0],
        "recipe": history.recipe,
        "seconds": history.result.seconds,
        "whole_command": round(time.monotonic() - began, 1),
        "tokens_per_second": round(tokens / history.result.seconds),
        "memory": int(lines[-1].rpartition(" ")[2]),
        "valid_perplexity": history.result.valid_perplexity,
        "curve": curve,
    }


def side_by_side(scale: Scale, folders: dict[str, Path]) -> dict[str, Record]:
    """Train a seed in each folder, all at once; what each has reached.

    The first has the device alone for a while.
    """
    began, running = {}, {}
    for seed, (name, folder) in enumerate(folders.items()):
        if seed == 1:
            time.sleep(scale.alone)
        began[name] = time.monotonic()
        words = [f"--device={scale.device}", f"--seed={seed}", *scale.task]
        running[name] = subprocess.Popen(
            [*PROGRAM, "--train", str(folder), *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    found = {}
    for name, process in running.items():
        log, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{name}: {log[-4000:]}")
        found[name] = trained(folders[name], began[name], log)
    return found


def task(scale: Scale, work: Path) -> Iterator[Record]:
    """The translation task from nothing: seeds side by side on one device.

    The first begins earlier, so that its curve says how quick it is alone.
    """
    folders = {f"seed {i}": work / f"seed-{i}" for i in range(scale.seeds)}
    runs = side_by_side(scale, folders)
    yield {"runs": runs}
    corpus = scale.corpus()
    for name, folder in folders.items():
        began = time.monotonic()
        translator = Translator.load(folder, scale.device)
        runs[name]["scores"] = {}
        for test, pairs in corpus.tests.items():
            pairs = pairs[: scale.captions]
            sources, references = map(list, zip(*pairs, strict=True))
            outputs = translator(sources, batch_tokens=SCORED)
            scores = corpus_scores(outputs, references, corpus.target)
            runs[name]["scores"][test] = vars(scores)
        runs[name]["scoring_seconds"] = round(time.monotonic() - began, 1)
    means = {
        "valid_perplexity": [x["valid_perplexity"] for x in runs.values()]
    }
    for test in corpus.tests:
        means[test] = [x["scores"][test]["bleu"] for x in runs.values()]
    yield {"runs": runs, "mean": {name: mean(means[name]) for name in means}}


def speed(scale: Scale, work: Path) -> Iterator[Record]:
    """Training in turns with torch's layers, eager, in three precisions."""
    yield from training_speed(scale, ("float32", "TF32", "bfloat16"))


def compiled(scale: Scale, work: Path) -> Iterator[Record]:
    """The largest of the sizes compiled, in bfloat16, both systems."""
    last = replace(scale, presets=scale.presets[-1:])
    yield from training_speed(last, ("bfloat16",), compile_first=True)


def training_speed(
    scale: Scale, precisions: tuple[str, ...], compile_first: bool = False
) -> Iterator[Record]:
    """Rates, ratios, memory and the share of the peak of products."""
    found: dict[str, Record] = {}
    device = torch.device(scale.device)
    text = ids_of(scale.corpus())
    with allow_tf32(device, False):
        size = 8192 if device.type == "cuda" else 256
        peaks = in_turns(
            {
                kind: training.product(size, scale.device, kind == "bfloat16")
                for kind in ("float32", "bfloat16")
            },
            1,
            scale,
        )
    found["products"] = summary(peaks, dict.fromkeys(peaks, 0), "wall")
    yield found
    for preset in scale.presets:
        config = replace(PRESETS[preset], vocab_size=VOCABULARY)
        number = max(scale.batches // (1 if preset == "tiny" else 3), 1)
        parts = text.batches(scale.tokens, number)
        operations = training.operations(config, parts, scale.device)
        found[preset] = {"operations": operations}
        for kind in precisions:
            work = config, parts, scale.device, kind == "bfloat16"
            makers = {
                OURS: partial(training.ours, *work, compile_first),
                TORCH: partial(
                    training.theirs,
                    systems.TorchLoss,
                    *work,
                    compiled=compile_first,
                ),
            }
            with allow_tf32(device, kind == "TF32"):
                jobs, memory = {}, {}
                for name, make in makers.items():
                    jobs[name], memory[name] = made(make, device, number)
                samples = in_turns(jobs, number, scale)
            rows = summary(samples, memory, "wall")
            ours = rows[OURS]["wall_rate"] * operations / samples[OURS][0].work
            peak = found["products"].get(kind, {}).get("wall_rate")
            found[preset][kind] = {
                "systems": rows,
                "operations_per_second": ours,
                "share": ours / peak if peak else None,
                "gigabytes": {x: memory[x] / 1e9 for x in memory},
            }
            yield found


def made(
    make: Callable[[], Job], device: torch.device, parts: int
) -> tuple[Job, int]:
    """A job, warmed up, and by how many bytes it raised the peak."""
    if device.type != "cuda":
        job = make()
        job(0)
        return job, 0
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    job = make()
    for part in range(parts):
        job(part)
    torch.cuda.synchronize()
    return job, torch.cuda.max_memory_allocated() - before


def whole(job: Job, parts: int) -> float:
    """Do the first parts of a job; how much work that was."""
    return sum(map(job, range(parts)))


def in_turns(
    jobs: Mapping[str, Job], parts: int, scale: Scale
) -> dict[str, list[Sample]]:
    """All parts by each in turn, so often; a GPU is waited for at the end."""
    samples: dict[str, list[Sample]] = {name: [] for name in jobs}
    for _ in range(scale.rounds):
        for name, job in jobs.items():
            measured = measure(partial(whole, job), parts)
            samples[name].append(Sample(*measured))
    return samples


def search(scale: Scale, work: Path) -> Iterator[Record]:
    """Beam search of test captions, the same random weights in both."""
    sources = sorted(ids_of(scale.corpus()).sources[: scale.captions], key=len)
    config = replace(PRESETS["tiny"], vocab_size=VOCABULARY)
    found = {}
    for size in (32, 256):
        parts = [sources[i : i + size] for i in range(0, len(sources), size)]
        jobs = {
            OURS: decoding.decode(
                decoding.ours, config, parts, device=scale.device
            ),
            MARIAN: decoding.decode(
                decoding.marian, config, parts, device=scale.device
            ),
        }
        for job in jobs.values():
            job(0)
        once = replace(scale, rounds=min(scale.rounds, 2))
        samples = in_turns(jobs, len(parts), once)
        rows = summary(samples, dict.fromkeys(jobs, 0), "wall")
        rows[MARIAN]["identical"] = sum(
            ours == theirs
            for part in range(len(parts))
            for ours, theirs in zip(
                jobs[OURS].outputs[part],
                jobs[MARIAN].outputs[part],
                strict=True,
            )
        )
        found[f"batches of {size}"] = {
            "systems": rows,
            "sentences": len(sources),
        }
        yield found


Step = Callable[[Scale, Path], Iterator[Record]]
STEPS: dict[str, tuple[Step, int]] = {  # what is run, and its limit in seconds
    "tests": (tests, 90),
    "task": (task, 270),
    "speed": (speed, 120),
    "search": (search, 90),
    "compiled": (compiled, 200),
}


def figures(found: Record, name: str = "") -> Iterator[str]:
    """The table at the end: each number, after the keys that lead to it."""
    for key, x in found.items():
        if isinstance(x, dict) and key != "recipe":
            yield from figures(x, f"{name}{key}, ")
        elif isinstance(x, (int, float)):
            yield f"{name + key:60} {x:>16,.6g}"


def note(path: Path, name: str, found: Record) -> None:
    """Add what a step has found to the record."""
    record = json.loads(path.read_text("utf-8"))
    record["steps"].setdefault(name, {}).update(found)
    write_text(path, json.dumps(record, indent=1) + "\n")


def one_step(name: str, path: Path, scale: Scale) -> None:
    """Run a step in this process; the record gets what it yields."""
    torch.set_num_threads(1 if scale.device == "cpu" else 4)
    run, _ = STEPS[name]
    with TemporaryDirectory() as work:
        try:
            for found in run(scale, Path(work)):
                note(path, name, found)
        except BaseException:
            note(path, name, {"error": format_exc()[-8000:]})
            raise


def run_step(name: str, kind: str, path: Path) -> str:
    """Run a step in a process of its own, within its limit; its error."""
    began, limit = time.monotonic(), STEPS[name][1]
    plain = {"TORCHDYNAMO_DISABLE": "1"} if kind == "rehearsal" else {}
    with subprocess.Popen(
        [*PROGRAM, str(path), "--step", name, "--scale", kind],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | plain,
        start_new_session=True,  # what it starts is ended with it
    ) as process:
        try:
            _, error = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            error = f"not done after {limit} seconds"
    seconds = round(time.monotonic() - began, 1)
    found = {"error": error[-8000:]} if process.returncode else {}
    note(path, name, {"step_seconds": seconds, **found})
    print(f"{name}: {seconds} s {found.get('error', '')}", flush=True)
    return found.get("error", "")


def main() -> None:
    """Run the steps, or one of them in this process."""
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="benchmarks.gpu")
    parser.add_argument("record", nargs="?", default="gpu.json", type=Path)
    parser.add_argument("--scale", choices=list(SCALES), default="")
    parser.add_argument("--steps", nargs="*", choices=list(STEPS))
    parser.add_argument("--step", help=argparse.SUPPRESS)
    given = parser.parse_args()
    scale, path = SCALES[given.scale], given.record.absolute()
    if given.step:
        one_step(given.step, path, scale)
        return
    steps = given.steps or list(STEPS)
    record = json.loads(path.read_text()) if path.exists() else {"steps": {}}
    record |= environment(scale.device)
    record |= {"scale": given.scale or "whole", "command": "make gpu"}
    record["steps"] |= {name: {} for name in steps}
    if scale.device == "cuda":
        record["memory"] = torch.cuda.get_device_properties(0).total_memory
    write_text(path, json.dumps(record, indent=1) + "\n")
    errors = [run_step(name, given.scale, path) for name in steps]
    print(*figures(json.loads(path.read_text())["steps"]), sep="\n")
    sys.exit(any(errors))


def train(words: list[str]) -> None:
    """The command train, then a last line with the memory that it took."""
    sys.argv = ["annotated-transformer", "train", *words]
    try:
        app.main()
    except SystemExit as end:
        if end.code:
            raise
    print(f"memory {largest()}", flush=True)


if __name__ == "__main__":
    main()
