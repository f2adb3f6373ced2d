"""A training run: begun in a folder of its own, or resumed there."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import torch

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.runs.devices import device_line, idle_gpu
from annotated_transformer.runs.folder import (
    check_output,
    check_same_run,
    fast_as_begun,
)
from annotated_transformer.runs.loop import Run
from annotated_transformer.runs.memory import too_little
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.setup import (
    build_model,
    check_start,
    choose_device,
    describe,
    given_tokenizer,
    inherit,
    learn_tokenizer,
    read_start,
    start_from,
    warn_of_overlap,
    with_subwords,
)
from annotated_transformer.speed.bfloat16 import bf16_slowdown
from annotated_transformer.system.console import console
from annotated_transformer.system.processes import ALONE, Processes
from annotated_transformer.system.random_numbers import random_numbers_kept

__all__ = ["train"]

TRAINING: dict[int, object] = {}  # by process: a fork inherits no training


@contextmanager
def one_training() -> Iterator[None]:
    """Keep from this process what would make another model of the seed.

    A process has one stream of random numbers, and two trainings would take
    numbers from each other. UserError, too, if numbers are not float32 by
    default: checkpoints in float64 could not be read.
    """
    kind = torch.get_default_dtype()
    if kind != torch.float32:
        raise UserError(
            f"the default dtype is {kind}, and a training computes in "
            "float32: call torch.set_default_dtype(torch.float32) before it"
        )
    own = object()
    if TRAINING.setdefault(os.getpid(), own) is not own:
        raise UserError(
            "another training is going on in this process; wait for its end, "
            "or start this one in a process of its own"
        )
    try:
        yield
    finally:
        del TRAINING[os.getpid()]


@contextmanager
def as_it_was() -> Iterator[None]:
    """Restore what a training sets in the whole process.

    Signals and how a GPU multiplies are restored where they are set.
    """
    quiet = console.quiet
    with random_numbers_kept():
        try:
            yield
        finally:
            console.quiet = quiet


@one_training()
@as_it_was()
def train(
    output: Path | str,
    corpus: Corpus,
    recipe: Recipe,
    *,
    device: str | None = None,
    resume: bool = False,
    max_minutes: float | None = None,
    start: Path | str | None = None,
    new_subwords: bool = False,
    tokenizer: Tokenizer | Path | str | None = None,
    command: str = "",
    compiled: bool = False,
    fast: bool = True,
    valid_bleu: int = 0,
    processes: Processes = ALONE,
) -> Path:
    """Train a model into the folder output, and return the folder.

    The folder must be new, unless resume continues a run of the same recipe
    and data; its batch_tokens and accumulate may be others, and the text
    then comes in another order from there on. With start it begins with the
    weights and the subwords of a trained model, in that model's sizes;
    new_subwords are learned from the corpus instead, and take over the
    vectors of those that the model has. A tokenizer, or the path of a
    sentencepiece model, is taken in place of subwords learned from the
    corpus: the ids of padding, beginning, end and the unknown must be 0, 1, 2
    and 3 (PAD, BOS, EOS, UNK), and the recipe's vocab_size and tokenizer then
    follow from it. After max_minutes the model is made
    of what has been learned so far. At each checkpoint the first valid_bleu
    validation sentences that are not too long are also translated, and the
    checkpoint kept as the best has the highest BLEU.
    SIGINT, SIGTERM and SIGHUP write a checkpoint and raise Interrupted. A run
    that fails before its first checkpoint leaves no folder. If the folder is
    moved or removed meanwhile, the next checkpoint is saved where it can be,
    and UserError says where. A process trains one model at a time.

    On a CPU a fast training takes less time: products by oneDNN, short rows
    of attention by the formula, dropout from fewer random bits. What dropout
    leaves out, and the last digits of sums, are not those of a plain one. A
    resumed run goes on as it began, and says so if asked for the other.
    Whatever a training sets in the process is afterwards as it was before:
    signals, the console, and PyTorch's random numbers, so that what is drawn
    next is what would have been drawn without it. One thing stays after a
    fast training: what the process forks computes with one thread.

    Of several processes the first begins the run and writes all its files;
    then the others join it, each with resume.
    """
    deadline = None
    if max_minutes is not None:
        deadline = time.monotonic() + 60 * max_minutes
    output = Path(output)
    console.quiet = processes.rank > 0  # the first speaks for all
    recipe = replace(recipe, processes=processes.size)
    check_output(output, resume)
    check_start(recipe, start, new_subwords)
    if tokenizer is not None and start is not None:
        raise UserError(
            f"{start}: a model to begin with has subwords of its own; leave "
            "out the tokenizer, or `start`"
        )
    asked, device = device, choose_device(device)
    console.out(device_line(device, recipe))
    if asked is None and (idle := idle_gpu()):
        console.out(idle)
    given = known = None
    if tokenizer is not None:
        given, recipe = given_tokenizer(tokenizer, recipe)
        known = given
    if start is not None:
        parent, inherited, recipe = start_from(start, recipe, new_subwords)
        known = inherited
    if resume:
        begun = None if start is None else read_start(start)
        tokenizer = check_same_run(output, corpus, recipe, begun, given)
        fast = fast_as_begun(output, fast)
    elif known is None or new_subwords:
        tokenizer = learn_tokenizer(corpus, recipe)
    else:
        tokenizer = known
    recipe = with_subwords(recipe, tokenizer)
    if recipe.train.bf16 and device == "cpu":
        warn_of_slow_products(fast)
    model = build_model(recipe, device, compiled, fast)
    if start is not None:
        inherit(model, tokenizer, parent, inherited)
    warmup, steps = recipe.train.warmup, recipe.train.steps
    if warmup >= steps:
        console.out(
            f"the rate rises until update {warmup}, but the training ends at "
            f"{steps}: shorten `warmup`"
        )
    run = Run(output, corpus, recipe, tokenizer, model, processes, valid_bleu)
    warn_of_overlap(corpus)
    with run.folder.alone() if run.writes else nullcontext():
        check_output(output, resume)  # another may have begun meanwhile
        try:
            if not resume:
                kind = run.device.type
                history = describe(command, recipe, corpus, kind, start, fast)
                run.folder.begin(history, tokenizer)
            if run.writes:
                processes.wait()
            run.go(deadline)
        except BaseException as error:
            if run.writes and not resume:  # else it may be another's
                run.folder.abandon()
            if isinstance(error, FloatingPointError):
                raise UserError(
                    f"{output}: {error}; train with a lower `peak_rate`, a "
                    "longer `warmup` or `bf16=False`"
                ) from error
            if out_of_memory(error):
                where = f"after update {run.step}"
                saved = bool(run.folder.checkpoints())
                raise too_little(where, recipe, error, saved) from error
            raise
    return output


def warn_of_slow_products(fast: bool) -> None:
    """Say so if this processor is faster in float32 than in bfloat16."""
    factor = bf16_slowdown(fast)
    if factor > 1:
        console.out(
            "`bf16=True` is slow on this processor: in a trial, products took "
            f"{factor:.1f} times as long as with `bf16=False`"
        )
