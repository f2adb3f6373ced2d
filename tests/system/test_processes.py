"""Several processes: the same updates as one, one log, one end for all."""

import multiprocessing
import os
import signal
import socket
import sys
import time
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path

import pytest
import torch
from small_runs import same_weights

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task, make_batch
from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.runs.devices import choose_device
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import Run
from annotated_transformer.storage.checkpoints import Progress, read_metrics
from annotated_transformer.system.processes import Processes, joined
from annotated_transformer.training import TrainConfig, updates

CONFIG = TrainConfig(
    steps=3, accumulation_steps=2, peak_lr=1e-2, warmup=1, clip=1.0
)
SIZES = ModelConfig(
    vocab_size=12, layers=1, d_model=16, d_ff=32, heads=2, dropout=0.0
)
# Processes that are forked from a clean one, which has imported everything.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["annotated_transformer", "torch._dynamo"])
PATIENCE = 300  # seconds; machines are busy at times


def start(work, size, *arguments):
    """Start processes as torchrun does; each calls work(*arguments)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": size, "MASTER_ADDR": "localhost"}
    common |= {"MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    started = []
    for rank in range(size):
        given = {"RANK": rank, "LOCAL_RANK": rank, **common}
        process = context.Process(
            target=child, args=(given, work, *arguments), daemon=True
        )
        process.start()
        started.append(process)
    return started


def child(given, work, *arguments):
    os.environ.update({name: str(value) for name, value in given.items()})
    torch.set_num_threads(1)
    work(*arguments)


def ends(started):
    """The exit statuses, once all have ended."""
    for process in started:
        process.join(PATIENCE)
    return [process.exitcode for process in started]


def parts(steps):
    """Batches of different sizes: four for each update."""
    random = torch.Generator().manual_seed(1)
    for size in (1, 5, 2, 9) * steps:
        rows = []
        for length in torch.randint(2, 9, (size,), generator=random).tolist():
            row = torch.randint(4, 12, (length,), generator=random).tolist()
            rows.append(([*row, 2], [*row[::-1], 2]))
        yield rows


def learn(batches, config, processes):
    """Three updates in double precision: what they told, and the weights."""
    together = processes.size > 1
    torch.manual_seed(0)
    model = transformer(SIZES).double()
    told = list(
        updates(
            model,
            map(make_batch, batches),
            adam(model.parameters()),
            config,
            16,
            all_reduce=processes.mean_gradients if together else None,
        )
    )
    return told, model.state_dict()


def learn_together(folder):
    with joined("cpu") as processes:
        mine = islice(parts(3), processes.rank, None, processes.size)
        told, weights = learn(mine, CONFIG, processes)
        told = [(x.step, x.loss, x.rate, x.norm, x.tokens) for x in told]
        torch.save((told, weights), folder / f"{processes.rank}.pt")


def test_two_processes_make_the_updates_of_one(tmp_path):
    """Each accumulates two batches; one process takes all four as one."""
    assert ends(start(learn_together, 2, tmp_path)) == [0, 0]
    rows = list(parts(3))
    joint = [list(chain(*rows[i : i + 4])) for i in range(0, 12, 4)]
    whole, expected = learn(
        joint, replace(CONFIG, accumulation_steps=1), Processes()
    )
    found = [torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)]
    assert found[0][0] == found[1][0]
    for update, (step, loss, rate, norm, tokens) in zip(
        whole, found[0][0], strict=True
    ):
        assert (update.step, update.rate) == (step, rate)
        assert update.tokens == tokens and isinstance(tokens, int)
        assert loss.item() == pytest.approx(update.loss.item(), rel=1e-6)
        # the gradient that the processes have summed
        assert norm.item() == pytest.approx(update.norm.item(), rel=1e-6)
    for name, weight in expected.items():
        assert torch.equal(found[0][1][name], found[1][1][name])
        assert torch.allclose(found[0][1][name], weight, atol=1e-6)


def test_processes_draw_different_numbers():
    seeds = [Processes(rank, 64).seed(7) for rank in range(64)]
    assert seeds[0] == 7 and max(seeds) < 2**32
    # as `updates` begins; the generator of the CPU takes 32 bits
    first = sorted(seed * 10_000_019 % 2**32 for seed in seeds)
    apart = [b - a for a, b in pairwise(first)]
    assert min(apart) > 300_000  # updates of the longest run


def small(processes=1, **given):
    pairs = copy_task(90)
    corpus = Corpus(pairs[10:], pairs[:10], {}, "copy", "x", "x", {})
    config = TrainConfig(batch_tokens=40, **given)
    return Recipe(SIZES, config, 32, "char", processes), corpus


def stream(recipe, corpus, processes, step=0):
    tokenizer = learn_tokenizer(corpus, recipe)
    model = transformer(replace(SIZES, vocab_size=len(tokenizer)))
    run = Run(Path("none"), corpus, recipe, tokenizer, model, processes)
    run.progress = Progress(step)
    return (batch.source for batch in run.batches())


def test_batches_are_dealt_out():
    """Three processes read what one would, also from a later update on."""
    recipe, corpus = small(processes=3, accumulation_steps=2)
    one = list(islice(stream(recipe, corpus, Processes()), 60))
    hands = [stream(recipe, corpus, Processes(r, 3)) for r in range(3)]
    dealt = [next(hands[place % 3]) for place in range(60)]
    assert all(torch.equal(a, b) for a, b in zip(one, dealt, strict=True))
    later = stream(recipe, corpus, Processes(1, 3), step=4)
    assert torch.equal(next(later), one[4 * 2 * 3 + 1])


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
    muon = ["--set=train.optimizer=muon", "--set=train.weight_decay=0.1"]
    return [*recipe_options, *muon, "--max-steps=24", "--checkpoint-every=4"]


@pytest.fixture(scope="module")
def whole(options, tmp_path_factory):
    """A model that two processes have trained without interruption."""
    folder = tmp_path_factory.mktemp("whole")
    words = ("train", folder / "model", *options)
    assert ends(start(command_line, 2, folder, *words)) == [0, 0], logs(folder)
    return folder


def resumed(output, folder, options):
    """Resume with two processes; the folder of the model."""
    for log in folder.glob("*.log"):
        log.unlink()
    words = ("train", output, *options, "--resume")
    assert ends(start(command_line, 2, folder, *words)) == [0, 0], logs(folder)
    assert "continuing after update" in logs(folder)[0]
    return output


def same(output, folder):
    assert same_weights(output, folder / "model")
    curves = [
        [{**line, "seconds": 0} for line in read_metrics(one)]
        for one in (output, folder / "model")
    ]
    assert curves[0] == curves[1]


def test_one_log_and_one_checkpoint(whole):
    first, second = logs(whole)
    assert "update 24 of 24" in first and second == ""
    steps = [line["step"] for line in read_metrics(whole / "model")]
    assert steps == [4, 8, 12, 16, 20, 24]


LOST = "process 1: error: the processes of this run have lost each other ("


@pytest.mark.parametrize(
    ("rank", "number", "statuses", "told"),
    [
        # one that hears of it tells the others
        (1, signal.SIGTERM, [128 + signal.SIGTERM] * 2, ("with --resume", "")),
        # the first, which writes the checkpoints
        (0, signal.SIGKILL, [-signal.SIGKILL, 1], ("", LOST)),
    ],
)
def test_where_one_is_stopped_all_end(
    options, whole, tmp_path, rank, number, statuses, told
):
    output = tmp_path / "model"
    started = start(command_line, 2, tmp_path, *("train", output, *options))
    wait_for(output / "checkpoints" / "step-00000004.safetensors")
    os.kill(started[rank].pid, number)
    assert ends(started) == statuses
    for log, part in zip(logs(tmp_path), told, strict=True):
        assert part in log
    same(resumed(output, tmp_path, options), whole)


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
