"""Several processes: the same updates as one, one log, one end for all."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from itertools import chain, cycle, islice, pairwise
from pathlib import Path

import pytest
import torch
from small_runs import CORPUS, SMALL, curve, same_weights
from started import PATIENCE, ends, start

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task, make_batch
from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.runs.devices import choose_device
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import Run
from annotated_transformer.runs.start import Start
from annotated_transformer.runs.train import encode_corpus, train
from annotated_transformer.storage.checkpoints import Progress, read_metrics
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.system.console import console
from annotated_transformer.system.processes import (
    APART,
    Processes,
    Together,
    joined,
)
from annotated_transformer.training import TrainConfig, updates

CONFIG = TrainConfig(
    steps=3, accumulation_steps=2, peak_lr=1e-2, warmup=1, clip=1.0
)
SIZES = ModelConfig(
    vocab_size=12, layers=1, d_model=16, d_ff=32, heads=2, dropout=0.0
)
SOAK = bool(os.environ.get("SOAK"))
DYING = str(Path(__file__).parents[1] / "support" / "dying.py")


def parts(steps):
    """Batches of different sizes: six for each update."""
    random = torch.Generator().manual_seed(1)
    for size in (1, 5, 2, 9, 4, 3) * steps:
        rows = []
        for length in torch.randint(2, 9, (size,), generator=random).tolist():
            row = torch.randint(4, 12, (length,), generator=random).tolist()
            rows.append(([*row, 2], [*row[::-1], 2]))
        yield rows


def learn(batches, config, sizes=SIZES, **given):
    """Three updates in double precision: what they told, and the weights."""
    torch.manual_seed(0)
    model = transformer(sizes).double()
    optimizer = adam(model.parameters())
    told = [*updates(model, batches, optimizer, config, 16, **given)]
    told = [(x.step, x.tokens, x.rate, x.loss, x.norm) for x in told]
    return told, model.state_dict()


def learn_together(folder, hands, dropout):
    """Of an update each hand has as many of the batches, one after another."""
    with joined("cpu") as processes:
        together = Together(processes, hands)
        each = 6 // hands
        mine = (
            make_batch(rows)
            for update in batched(parts(3), 6)
            for hand in together.hands
            for rows in update[hand * each : (hand + 1) * each]
        )
        config = replace(CONFIG, accumulation_steps=each * len(together.hands))
        sizes = replace(SIZES, dropout=dropout)
        found = learn(mine, config, sizes, accumulate=together)
        name = f"{processes.size} {processes.rank}"
        torch.save(found, folder / f"{name}.pt")


def batched(rows, number):
    """Lists of so many rows, one after another."""
    rows = iter(rows)
    return iter(lambda: [*islice(rows, number)], [])


def together(folder, size, hands, dropout=0.0):
    """What every process told, and the weights that it has."""
    started = start(learn_together, size, folder, hands, dropout)
    assert ends(started) == [0] * size
    return [torch.load(folder / f"{size} {rank}.pt") for rank in range(size)]


def close(found, expected):
    """The same updates, but for the order in which numbers are added up."""
    for (*same, loss, norm), (*others, other_loss, other_norm) in zip(
        found[0], expected[0], strict=True
    ):
        assert same == others
        assert loss.item() == pytest.approx(other_loss.item(), rel=1e-6)
        # of the gradient that the processes have summed
        assert norm.item() == pytest.approx(other_norm.item(), rel=1e-6)
    for name, weight in expected[1].items():
        assert torch.allclose(found[1][name], weight, atol=1e-6)


@pytest.mark.parametrize("size, hands", [(2, 2), (3, 3), (2, 3), (1, 3)])
def test_processes_make_the_updates_of_one(tmp_path, size, hands):
    """One takes all batches of an update as one, others their own as many."""
    found = together(tmp_path, size, hands)
    joint = (make_batch(chain(*rows)) for rows in batched(parts(3), 6))
    expected = learn(joint, replace(CONFIG, accumulation_steps=1))
    for one in found:
        close(one, expected)
        for name, weight in found[0][1].items():
            assert torch.equal(one[1][name], weight)


def test_dropout_follows_from_the_hand_and_not_from_the_process(tmp_path):
    """Three processes draw what two do, and one, and the first as alone."""
    three, two, one = (together(tmp_path, n, 3, 0.5)[0] for n in (3, 2, 1))
    close(three, one)
    close(two, one)
    plain = together(tmp_path, 1, 1, 0.5)[0]
    sizes, config = replace(SIZES, dropout=0.5), CONFIG
    batches = map(make_batch, parts(3))
    expected = learn(batches, replace(config, accumulation_steps=6), sizes)
    for name, weight in expected[1].items():
        assert torch.equal(plain[1][name], weight)
        assert name == "dropout" or not torch.equal(one[1][name], weight)


def test_hands_draw_different_numbers():
    # as `updates` begins; the generator of the CPU takes 32 bits
    first = sorted((7 + APART * hand) % 2**32 for hand in range(1024))
    apart = [b - a for a, b in pairwise(first)]
    assert first[0] >= 7 and min(apart) > 300_000  # updates of a long run


def count_sums(folder, accumulated):
    """How often an update of so many batches speaks with the others."""
    with joined("cpu") as processes:
        torch.manual_seed(0)
        model = transformer(SIZES)
        config = replace(CONFIG, accumulation_steps=accumulated, steps=4)
        turns = updates(
            model,
            map(make_batch, cycle(parts(1))),
            adam(model.parameters()),
            config,
            16,
            accumulate=Together(processes, 2),
        )
        next(turns)
        with torch.profiler.profile() as seen:
            next(turns)
        found = sum("all_reduce" in x.name for x in seen.events())
        (folder / f"{processes.rank} {accumulated}").write_text(f"{found}")


def test_batches_are_accumulated_without_communication(tmp_path):
    for number in (1, 4):
        assert ends(start(count_sums, 2, tmp_path, number)) == [0, 0]
    counts = {path.read_text() for path in tmp_path.iterdir()}
    assert len(counts) == 1 and int(*counts) > 0


def small(processes=1, **given):
    pairs = copy_task(90)
    corpus = Corpus(pairs[10:], pairs[:10], {}, "copy", "x", "x", {})
    config = TrainConfig(batch_tokens=40, **given)
    return Recipe(SIZES, config, 32, "char", processes), corpus


def stream(recipe, corpus, processes, step=0):
    tokenizer = learn_tokenizer(corpus, recipe)
    model = transformer(replace(SIZES, vocab_size=len(tokenizer)))
    texts = encode_corpus(corpus, tokenizer, recipe)
    run = Run(Path("none"), texts, recipe, tokenizer, model, processes)
    run.progress = Progress(step)
    return (batch.source for batch in run.batches())


def test_batches_are_dealt_out():
    """Three processes read what one would, also from a later update on."""
    recipe, corpus = small(processes=3, accumulation_steps=2)
    alone, _ = small(accumulation_steps=6)
    one = [*islice(stream(alone, corpus, Processes()), 60)]
    for size in (3, 2, 1):
        for step in (0, 4):
            streams = [
                stream(recipe, corpus, Processes(rank, size), step)
                for rank in range(size)
            ]
            for update in batched(one[6 * step :], 6):
                # of an update the hands have the batches 0 3, 1 4 and 2 5
                for hand in range(3):
                    for batch in update[hand::3]:
                        found = next(streams[hand % size])
                        assert torch.equal(found, batch)


def say(folder):
    """Train; write down what was said meanwhile, and whether one may now."""
    with redirect_stderr(StringIO()) as said:
        train(folder / "run", CORPUS, SMALL, device="cpu")
    found = [bool(said.getvalue()), console.quiet]
    (folder / os.environ["RANK"]).write_text(json.dumps(found))


def test_the_first_speaks_for_all_while_they_train(tmp_path):
    assert ends(start(say, 2, tmp_path)) == [0, 0]
    said = [json.loads((tmp_path / rank).read_text()) for rank in "01"]
    assert said == [[True, False], [False, False]]


def own_model(folder, frozen):
    """Train a model with a part that its loss does not depend on."""
    size = len(learn_tokenizer(CORPUS, SMALL))
    model = transformer(replace(SMALL.model, vocab_size=size))
    model.aside = torch.nn.Linear(2, 2).requires_grad_(not frozen)
    try:
        train(folder / "run", CORPUS, SMALL, Start(model=model), device="cpu")
    except UserError as error:
        (folder / os.environ["RANK"]).write_text(str(error))


def test_a_part_without_a_gradient_is_frozen_or_named(tmp_path):
    assert ends(start(own_model, 2, tmp_path, True)) == [0, 0]
    assert (tmp_path / "run" / "model.safetensors").exists()
    shutil.rmtree(tmp_path / "run")
    assert ends(start(own_model, 2, tmp_path, False)) == [0, 0]
    for rank in "01":
        told = (tmp_path / rank).read_text()
        assert "depend on aside.weight, aside.bias, which" in told


def command_line(folder, *words):
    from annotated_transformer.commands.app import main

    log = os.open(folder / f"{os.environ['RANK']}.log", os.O_CREAT | os.O_RDWR)
    os.dup2(log, 2)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = ["annotated-transformer", *map(str, words)]
    main()


def logs(folder):
    return [path.read_text() for path in sorted(folder.glob("*.log"))]


def wait_for(path):
    """Wait until there is such a file."""
    late = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < late, f"{path} did not come"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def options(recipe_options):
    """Of a run with all that could make its sums or its draws differ."""
    muon = ["--set=train.optimizer=muon", "--set=train.weight_decay=0.1"]
    more = ["--set=labs.noise=1", "--accumulate=2", "--bf16"]
    steps = ["--max-steps=24", "--checkpoint-every=4"]
    return [*recipe_options, *muon, *more, *steps]


def trained(size, output, options):
    """What as many processes say, the first and the others, in one run."""
    for log in output.parent.glob("*.log"):
        log.unlink()
    words = ("train", output, *options)
    statuses = ends(start(command_line, size, output.parent, *words))
    found = logs(output.parent)
    assert statuses == [0] * size, found
    return found


@pytest.fixture(scope="module")
def whole(options, tmp_path_factory):
    """A model that three processes have trained without interruption."""
    output = tmp_path_factory.mktemp("whole") / "model"
    trained(3, output, options)
    return output


def same(output, whole):
    assert same_weights(output, whole)
    assert curve(output) == curve(whole)


def test_one_log_and_one_checkpoint(whole):
    first, *others = logs(whole.parent)
    assert ", 3 processes" in first and "update 24 of 24" in first
    assert others == ["", ""]
    steps = [line["step"] for line in read_metrics(whole)]
    assert steps == [4, 8, 12, 16, 20, 24]


LOST = "process {}: error: the processes of this run have lost each other ("


@pytest.mark.parametrize(
    ("rank", "number", "statuses", "told"),
    [
        # one that hears of it tells the others
        (1, signal.SIGTERM, [143, 143, 143], ("with --resume", "", "")),
        # the first, which writes the checkpoints
        (
            0,
            signal.SIGKILL,
            [-signal.SIGKILL, 1, 1],
            ("", LOST.format(1), LOST.format(2)),
        ),
    ],
)
def test_where_one_is_stopped_all_end(
    options, whole, tmp_path, rank, number, statuses, told
):
    """As many go on to the last bit, of three whose sums have an order."""
    output = tmp_path / "model"
    started = start(command_line, 3, tmp_path, *("train", output, *options))
    wait_for(output / "checkpoints" / "step-00000004.safetensors")
    os.kill(started[rank].pid, number)
    assert ends(started) == statuses
    for log, part in zip(logs(tmp_path), told, strict=True):
        assert part in log
    first, *_ = trained(3, output, [*options, "--resume"])
    assert "continuing after update" in first
    same(output, whole)


def test_a_run_goes_on_with_fewer_processes(recipe_options, tmp_path):
    """And with the same updates, which rounding alone makes differ."""
    options = [*recipe_options, "--accumulate=2", "--set=labs.noise=1"]
    options += ["--max-steps=8", "--checkpoint-every=2"]
    folders = [tmp_path / name / "model" for name in ("3 2 1", "3")]
    for folder in folders:
        folder.parent.mkdir()
    began, whole = folders
    trained(3, whole, options)
    shutil.copytree(whole, began)
    for size, last in ((2, 2), (1, 6)):
        for path in began.glob("checkpoints/step-*"):
            if int(path.stem[-8:]) > last:
                path.unlink()
        first, *_ = trained(size, began, [*options, "--resume"])
        assert f"{size} process" in first
        assert f"continuing after update {last} of 8" in first
        assert not same_weights(began, whole)
        for one, other in zip(
            read_metrics(began), read_metrics(whole), strict=True
        ):
            assert one == pytest.approx(
                other | {"seconds": one["seconds"]}, rel=1e-3
            )
    # a bias of keys changes nothing, and Adam makes much of its rounding
    ids = torch.arange(4, 14)[None]
    logits, others = (load_model(x)[0].eval()(ids, ids) for x in folders)
    torch.testing.assert_close(logits, others, atol=1e-3, rtol=1e-3)
    words = ("train", began, *options, "--resume")
    assert ends(start(command_line, 4, began.parent, *words)) == [1] * 4
    told = "recipe.processes = 3, now it is 4; resume with"
    assert told in logs(began.parent)[0]


def by_torchrun(size, *words):
    """What so many processes say that torchrun starts; they must succeed."""
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone")
    ended = subprocess.run(
        [*torchrun, f"--nproc-per-node={size}", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=PATIENCE,
    )
    assert ended.returncode == 0, ended.stderr
    return ended


@pytest.mark.parametrize("number", range(10 if SOAK else 1))
def test_one_that_dies_is_started_again(options, whole, tmp_path, number):
    """By torchrun, and all go on by themselves."""
    rng = random.Random(number)
    rank, update = (rng.randrange(3), rng.randint(0, 24)) if number else (1, 6)
    output = tmp_path / "model"
    words = (rank, update, "train", output, *options)
    ended = by_torchrun(3, "--max-restarts=1", DYING, *words)
    done = (update - 1) // 4 * 4  # by the last checkpoint
    if done > 0:
        assert f"continuing after update {done} of 24" in ended.stderr
    same(output, whole)


END = """
import torch
from pathlib import Path
from annotated_transformer.system.processes import Loss, joined, shared

weight = torch.nn.Parameter(torch.ones(1))
model = torch.nn.ParameterList([weight])
with joined("cpu"):
    shared(Loss(model, lambda x: (weight * x).sum()), torch.ones(1))
print(*(path.read_text() for path in Path("/proc/self/task").glob("*/comm")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it lists no threads")
def test_no_thread_of_a_group_outlives_it(tmp_path):
    """One that does may need Python when it is gone, and abort at the end."""
    script = tmp_path / "end.py"
    script.write_text(END)
    ended = by_torchrun(2, script)
    assert ended.stdout.split() and "gloo" not in ended.stdout


NCCL = "unhandled cuda error\nLast error:\nCuda failure 999 'unknown error'"
SHORT = torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize(
    "error, told",
    [
        (NCCL, "unhandled cuda error"),
        ("[../pair.cc:547] Connection closed by peer", "Connection closed by"),
        (SHORT, None),  # is not taken for a lost process
        (NCCL.replace("999 'unknown error'", "2 'out of memory'"), None),
    ],
)
def test_what_broke_a_sum_is_told(monkeypatch, error, told):
    if isinstance(error, str):
        error = torch.distributed.DistBackendError(error)

    def broken(*tensors):
        raise error

    monkeypatch.setattr(torch.distributed, "all_reduce", broken)
    with pytest.raises(UserError if told else type(error), match=told):
        Processes(0, 2).wait()
    assert out_of_memory(error) == (told is None)


def test_processes_that_torchrun_has_not_started(
    command, options, tmp_path, monkeypatch
):
    monkeypatch.setenv("WORLD_SIZE", "2")
    ended = command("train", tmp_path / "model", *options)
    assert ended.status == 1 and "torchrun starts them" in ended.err
    assert "Traceback" not in ended.err
    assert not (tmp_path / "model").exists()


def test_each_process_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device() == choose_device("cuda") == "cuda:1"
    assert choose_device("cuda:1") == "cuda:1"
    assert choose_device("cpu") == "cpu"
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(UserError, match="a machine of 2 GPUs"):
        choose_device()
