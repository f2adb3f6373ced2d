"""One GPU, recorded: the tests, the translation task, speed: `make gpu`.

Each step is a process of its own with a limit in seconds; what it has
measured is in the record as soon as it is measured, and so is the traceback
of what failed. `STEPS="task speed"` runs those alone and keeps the rest of
the record; `SMOKE=1` is the whole on a GPU in a minute, and `REHEARSE=1` on
a CPU in half a minute, both with sizes that measure nothing.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from traceback import format_exc

import torch

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
from .clock import Job, Sample, summary
from .text import VOCABULARY, Text, ids_of

ROOT = Path(__file__).parents[1]
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
        "--batch-tokens=8192",
        "--max-steps=6000",
        "--warmup=400",
        "--checkpoint-every=500",
        "--average=3",
    )
    rates: tuple[float, ...] = (0.004, 0.006, 0.008, 0.012)
    rate: float = 0.006  # of the task, unless `rates` has found a better one
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
    rates=(0.004,),
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


def tests(scale: Scale, work: Path) -> Iterator[dict]:
    """What only a GPU can show, by tests/test_gpu.py."""
    ended = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-rf",
                "tests/test_gpu.py",
            ),
            *("-o", "addopts=", "-p", "no:cacheprovider"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    lines = ended.stdout.strip().splitlines()
    yield {"status": ended.returncode, "last": lines[-1] if lines else ""}
    if ended.returncode:
        told = ended.stdout.splitlines()
        kept = [x for x in told if x.startswith(("E  ", "FAILED", "ERROR"))]
        raise RuntimeError("\n".join(kept) or ended.stderr[-2000:])


def train_command(scale: Scale, folder: Path, *more: str) -> list[str]:
    """The package's own command, in a process that tells its memory."""
    return [
        *(sys.executable, "-m", "benchmarks.gpu", "--train", str(folder)),
        *(f"--device={scale.device}", *scale.task, *more),
    ]


def trained(folder: Path, began: float, log: str) -> dict:
    """What a training has reached, and what it took."""
    lines = log.splitlines()
    history = read_config(folder).history
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


def side_by_side(
    scale: Scale,
    commands: dict[str, tuple[Path, list[str]]],
    alone: int = 0,
) -> dict[str, dict]:
    """Trainings that share the device, and what each has reached.

    The first has it alone for so many seconds.
    """
    began, running = {}, {}
    for name, (folder, options) in commands.items():
        began[name] = time.monotonic()
        if len(running) == 1:
            time.sleep(alone)
            began[name] += alone
        running[name] = subprocess.Popen(
            train_command(scale, folder, *options),
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
        found[name] = trained(commands[name][0], began[name], log)
    return found


def rates(scale: Scale, work: Path) -> Iterator[dict]:
    """Which peak rate suits the large batches, by a seed of its own."""
    found = side_by_side(
        scale,
        {
            f"{rate}": (
                work / f"rate-{rate}",
                ["--seed=9", f"--peak-rate={rate}"],
            )
            for rate in scale.rates
        },
    )
    kept = ("valid_perplexity", "curve")
    yield {"options": [*scale.task]} | {
        name: {field: one[field] for field in kept}
        for name, one in found.items()
    }


def task(scale: Scale, work: Path) -> Iterator[dict]:
    """The translation task from nothing: seeds side by side on one device.

    The first begins earlier, so that its curve says how quick it is alone.
    """
    names = [f"seed {seed}" for seed in range(scale.seeds)]
    commands = {
        name: (
            work / name.replace(" ", "-"),
            [f"--seed={seed}", f"--peak-rate={scale.rate}"],
        )
        for seed, name in enumerate(names)
    }
    runs = side_by_side(scale, commands, scale.alone)
    yield {"runs": runs}
    corpus = scale.corpus()
    for name in names:
        began = time.monotonic()
        translator = Translator.load(commands[name][0], scale.device)
        runs[name]["scores"] = {}
        for test, pairs in corpus.tests.items():
            pairs = pairs[: scale.captions]
            sources, references = map(list, zip(*pairs, strict=True))
            outputs = translator(sources, batch_tokens=SCORED)
            scores = corpus_scores(outputs, references, corpus.target)
            runs[name]["scores"][test] = vars(scores)
        runs[name]["scoring_seconds"] = round(time.monotonic() - began, 1)
        yield {"runs": runs}
    yield {
        "runs": runs,
        "mean": {
            "valid_perplexity": mean(
                one["valid_perplexity"] for one in runs.values()
            ),
            **{
                test: mean(x["scores"][test]["bleu"] for x in runs.values())
                for test in corpus.tests
            },
        },
    }


def speed(scale: Scale, work: Path) -> Iterator[dict]:
    """Training in turns with torch's layers, eager, in three precisions."""
    yield from training_speed(scale, ("float32", "TF32", "bfloat16"))


def compiled(scale: Scale, work: Path) -> Iterator[dict]:
    """The largest of the sizes compiled, in bfloat16, both systems."""
    last = replace(scale, presets=scale.presets[-1:])
    yield from training_speed(last, ("bfloat16",), compile_first=True)


def training_speed(
    scale: Scale, precisions: tuple[str, ...], compile_first: bool = False
) -> Iterator[dict]:
    """Rates, ratios, memory and the share of the peak of products."""
    found: dict[str, dict] = {}
    device = torch.device(scale.device)
    text = text_of(scale)
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


def in_turns(
    jobs: dict[str, Job], parts: int, scale: Scale
) -> dict[str, list[Sample]]:
    """All parts by each in turn, so often; a GPU is waited for at the end."""

    def wait() -> None:
        if scale.device == "cuda":
            torch.cuda.synchronize()

    samples: dict[str, list[Sample]] = {name: [] for name in jobs}
    for _ in range(scale.rounds):
        for name, job in jobs.items():
            wait()
            process, wall = time.process_time(), time.perf_counter()
            work = sum(job(part) for part in range(parts))
            wait()
            samples[name].append(
                Sample(
                    work,
                    time.process_time() - process,
                    time.perf_counter() - wall,
                )
            )
    return samples


def search(scale: Scale, work: Path) -> Iterator[dict]:
    """Beam search of test captions, the same random weights in both."""
    sources = sorted(text_of(scale).sources[: scale.captions], key=len)
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


def text_of(scale: Scale) -> Text:
    """The text as ids: that of the task."""
    return ids_of(scale.corpus())


Step = Callable[[Scale, Path], Iterator[dict]]
STEPS: dict[str, tuple[Step, int]] = {  # what is run, and its limit in seconds
    "tests": (tests, 90),
    "rates": (rates, 150),
    "task": (task, 270),
    "speed": (speed, 120),
    "search": (search, 90),
    "compiled": (compiled, 200),
}


def write(path: Path, record: dict) -> None:
    """The record as it is now, in one step."""
    write_text(path, json.dumps(record, indent=1) + "\n")


def one_step(name: str, path: Path, scale: Scale) -> None:
    """Run a step in this process, and write what it yields as it comes."""
    torch.set_num_threads(1 if scale.device == "cpu" else 4)
    run, _ = STEPS[name]
    found: dict = {}
    with TemporaryDirectory() as work:
        try:
            for found in run(scale, Path(work)):
                write(path, found)
        except BaseException:
            write(path, found | {"error": format_exc()[-8000:]})
            raise


def best_rate(record: dict, default: float) -> float:
    """The rate whose model predicts best, of those that were tried."""
    tried = {
        float(rate): one["valid_perplexity"]
        for rate, one in record["steps"].get("rates", {}).items()
        if isinstance(one, dict)
    }
    return min(tried, key=tried.__getitem__, default=default)


def run_step(name: str, kind: str, folder: Path, rate: float) -> dict:
    """Run a step in a process of its own, within its limit."""
    path, began = folder / f"step-{name}.json", time.monotonic()
    path.unlink(missing_ok=True)
    limit = STEPS[name][1]
    plain = {"TORCHDYNAMO_DISABLE": "1"} if kind == "rehearsal" else {}
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "benchmarks.gpu", "--step", name),
            *(str(path), "--scale", kind, "--rate", str(rate)),
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | plain,
        start_new_session=True,
    ) as process:
        late = False
        try:
            _, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(process.pid, signal.SIGKILL)
            _, errors = process.communicate()
    found = json.loads(path.read_text()) if path.exists() else {}
    if late:
        found["error"] = f"not done after {limit} seconds"
    elif process.returncode and "error" not in found:
        found["error"] = errors[-8000:]
    found["step_seconds"] = round(time.monotonic() - began, 1)
    return found


def table(record: dict) -> str:
    """What was measured, a line each."""
    lines = []
    for name, step in record["steps"].items():
        ended = step.get("error", "").strip().splitlines()[-1:] or ["done"]
        lines.append(f"{name:10}{step['step_seconds']:7.1f} s  {ended[0]}")
    steps = record["steps"]
    for rate, one in steps.get("rates", {}).items():
        if isinstance(one, dict):
            lines.append(f"rate {rate}: perplexity {one['valid_perplexity']}")
    for name, one in steps.get("task", {}).get("runs", {}).items():
        bleu = [f"{s['bleu']:.2f}" for s in one.get("scores", {}).values()]
        lines.append(
            f"{name}: {one['seconds']} s ({one['whole_command']} s in all), "
            f"perplexity {one['valid_perplexity']}, BLEU {' '.join(bleu)}, "
            f"{one['tokens_per_second']} tokens/s, "
            f"{one['memory'] / 1e9:.2f} GB"
        )
    if found := steps.get("task", {}).get("mean"):
        lines.append(f"mean: {found}")
    for step in ("speed", "compiled"):
        for preset, kinds in steps.get(step, {}).items():
            if not isinstance(kinds, dict):
                continue
            for kind, one in kinds.items():
                if preset == "products":
                    rate = one["wall_rate"] / 1e12
                    lines.append(f"product, {kind}: {rate:.1f} TFLOP/s")
                elif kind != "operations":
                    lines += rows(f"{step}, {preset}, {kind}", one)
    for kind, one in steps.get("search", {}).items():
        if isinstance(one, dict):
            lines += rows(f"search, {kind}", one)
    return "\n".join(lines)


def rows(title: str, one: dict) -> list[str]:
    """The systems of a comparison: rate, how often ours is as fast."""
    share = one.get("share")
    told = f", {share:.1%} of the peak" if share else ""
    return [
        f"{title}: {name} {row['wall_rate']:,.0f}/s, ours is "
        f"{row['ratio']:.2f} x, {row['memory'] / 1e9:.2f} GB"
        + (told if name == OURS else "")
        + (f", {row['identical']} identical" if "identical" in row else "")
        for name, row in one["systems"].items()
    ]


def main() -> None:
    """Run the steps, or one of them in this process."""
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="benchmarks.gpu")
    parser.add_argument("record", nargs="?", default="gpu.json", type=Path)
    parser.add_argument("--scale", choices=list(SCALES), default="")
    parser.add_argument("--steps", nargs="*", choices=list(STEPS))
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    scale = SCALES[given.scale]
    if given.step:
        name, path = given.step
        one_step(name, Path(path), replace(scale, rate=given.rate))
        return
    path = given.record.absolute()
    record = json.loads(path.read_text()) if path.exists() else {"steps": {}}
    record |= environment(scale.device)
    record["scale"] = given.scale or "whole"
    record["command"] = "make gpu"
    if scale.device == "cuda":
        record["memory"] = torch.cuda.get_device_properties(0).total_memory
    steps = given.steps or [x for x in STEPS if x != "rates"]
    for name in steps:
        rate = best_rate(record, scale.rate)
        found = run_step(name, given.scale, path.parent, rate)
        record["steps"][name] = found
        write(path, record)
        print(f"{name}: {record['steps'][name]['step_seconds']} s", flush=True)
    print(table(record))
    errors = [x for x in steps if "error" in record["steps"][x]]
    for name in errors:
        print(f"\n{name}:\n{record['steps'][name]['error'][-1500:]}")
    sys.exit(bool(errors))


def train(words: list[str]) -> None:
    """The command train, then a last line with the memory that it took."""
    from annotated_transformer.commands.app import main as command

    sys.argv = ["annotated-transformer", "train", *words]
    try:
        command()
    except SystemExit as end:
        if end.code:
            raise
    used = (
        torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    )
    print(f"memory {used}", flush=True)


if __name__ == "__main__":
    main()
