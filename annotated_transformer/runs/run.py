"""A training run: begun in a folder of its own, or resumed there."""

import threading
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
from annotated_transformer.runs.loop import Run
from annotated_transformer.runs.memory import out_of_memory_error
from annotated_transformer.runs.prepare import (
    build_model,
    check_start,
    choose_device,
    copy_parent_weights,
    describe,
    given_tokenizer,
    learn_tokenizer,
    start_from,
    warn_of_overlap,
    with_subwords,
)
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run_dir import (
    begin_run,
    check_output,
    check_same_run,
    locked_run,
    run_tokenizer,
)
from annotated_transformer.speed.bfloat16 import bf16_slowdown
from annotated_transformer.system.console import console
from annotated_transformer.system.processes import ALONE, Processes
from annotated_transformer.system.random_numbers import random_numbers_kept

__all__ = ["train"]

BUSY = threading.Lock()


@contextmanager
def one_training() -> Iterator[None]:
    """Let a process train one model, and leave the process as it was.

    It has one stream of random numbers, and two trainings would take numbers
    from each other. UserError, too, if numbers are not float32 by default:
    checkpoints in float64 could not be read. Signals and how a GPU multiplies
    are restored where they are set.
    """
    kind, quiet = torch.get_default_dtype(), console.quiet
    if kind != torch.float32:
        raise UserError(
            f"the default dtype is {kind}, and a training computes in "
            "float32: call torch.set_default_dtype(torch.float32) before it"
        )
    if not BUSY.acquire(blocking=False):
        raise UserError(
            "another training is going on in this process; wait for its end, "
            "or start this one in a process of its own"
        )
    try:
        with random_numbers_kept():
            yield
    finally:
        console.quiet = quiet
        BUSY.release()


@one_training()
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

    The folder must be new, unless resume continues a run, which takes the
    recipe, the texts and the models that began it. With start it begins with
    the weights and the subwords of a trained model, in that model's sizes;
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
    without a checkpoint has nothing to lose, and may begin anew in its
    folder. One process trains in a folder at a time, and one model at a time.

    On a CPU a fast training takes less time: products by oneDNN, short rows
    of attention by the formula, dropout from fewer random bits. What dropout
    leaves out, and the last digits of sums, are not those of a plain one.
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
    first = processes.rank == 0
    console.quiet = not first  # the first speaks for all
    recipe = replace(recipe, processes=processes.size)
    check_output(output, resume)
    check_start(recipe, start, new_subwords, tokenizer)
    asked, device = device, choose_device(device)
    console.out(device_line(device, recipe))
    if asked is None and (idle := idle_gpu()):
        console.out(idle)
    known = None
    if tokenizer is not None:
        known, recipe = given_tokenizer(tokenizer, recipe)
    if start is not None:
        parent, inherited, recipe = start_from(start, recipe, new_subwords)
        known = None if new_subwords else inherited
    if known is None and resume:
        known = run_tokenizer(output)
    subwords = known or learn_tokenizer(corpus, recipe)
    recipe = with_subwords(recipe, subwords)
    kind = torch.device(device).type
    history = describe(command, recipe, corpus, kind, start, fast, subwords)
    if resume:
        history = check_same_run(output, history)
    model = build_model(recipe, device, compiled, fast)
    if start is not None:
        copy_parent_weights(model, subwords, parent, inherited)
    warn(recipe, corpus, device, fast)
    run = Run(output, corpus, recipe, subwords, model, processes, valid_bleu)
    with locked_run(output) if first else nullcontext():
        check_output(output, resume)  # another may have begun meanwhile
        if not resume:
            begin_run(output, history, subwords)
        if first:
            processes.wait()
        try:
            run.go(history, deadline)
        except FloatingPointError as error:
            raise UserError(
                f"{output}: {error}; train with a lower `peak_rate`, a longer "
                "`warmup` or `bf16=False`"
            ) from error
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            raise out_of_memory_error(run.where, recipe, error) from error
    return output


def warn(recipe: Recipe, corpus: Corpus, device: str, fast: bool) -> None:
    """Report what is unwise, though nothing forbids it."""
    warn_of_overlap(corpus)
    warmup, steps = recipe.train.warmup, recipe.train.steps
    if warmup >= steps:
        console.out(
            f"the rate rises until update {warmup}, but the training ends at "
            f"{steps}: shorten `warmup`"
        )
    if recipe.train.bf16 and device == "cpu":
        factor = bf16_slowdown(fast)
        if factor > 1:
            console.out(
                "`bf16=True` is slow on this processor: in a trial, products "
                f"took {factor:.1f} times as long as with `bf16=False`"
            )
