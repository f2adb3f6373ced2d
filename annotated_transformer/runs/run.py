"""A training run: begun in a folder of its own, or resumed there."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import torch

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.runs.devices import (
    bf16_slowdown,
    choose_device,
    device_line,
)
from annotated_transformer.runs.loop import Run
from annotated_transformer.runs.memory import out_of_memory_error
from annotated_transformer.runs.prepare import (
    build_model,
    check_own_model,
    check_start,
    copy_parent_weights,
    describe,
    given_tokenizer,
    learn_tokenizer,
    start_from,
    warn_of_overlap,
    with_model,
    with_subwords,
)
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run_dir import (
    begin_run,
    check_same_run,
    locked_run,
    read_history,
    run_tokenizer,
)
from annotated_transformer.system.console import console
from annotated_transformer.system.processes import ALONE, Processes

__all__ = ["train"]


@contextmanager
def restored() -> Iterator[None]:
    """Leave PyTorch's random numbers and the console as they were found.

    Numbers of a GPU that was not in use begin with the seed that was set.
    Signals and how a GPU multiplies are restored where they are set. A
    training computes in float32, whatever else is the default.
    """
    quiet, seed = console.quiet, torch.initial_seed()
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    number = torch.cuda.device_count() if torch.cuda.is_initialized() else 0
    with torch.random.fork_rng(devices=range(number)):
        try:
            yield
        finally:
            torch.manual_seed(seed)
            torch.set_default_dtype(dtype)
            console.quiet = quiet


@restored()
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
    model: EncoderDecoder | None = None,
    command: str = "",
    compiled: bool = False,
    valid_bleu: int = 0,
    processes: Processes = ALONE,
) -> Path:
    """Train a model into the folder output, and return the folder.

    The folder must be new, unless resume continues the run in it, with the
    recipe, the texts and the models that began it. SIGINT, SIGTERM and SIGHUP
    write a checkpoint and raise Interrupted; after max_minutes the model is
    made of what has been learned so far. A process trains one model at a
    time.

    With start the training begins with the weights, sizes and subwords of a
    trained model; new_subwords are learned from the corpus instead, and take
    over the vectors of those that the model has. A tokenizer, or the path of
    a sentencepiece model, replaces subwords learned from the corpus: its ids
    of padding, beginning, end and the unknown must be 0, 1, 2 and 3.

    The training of a model, which may have parts of your own, begins with
    its weights. The recipe takes its sizes, and the model itself stays as it
    is: what is learned is in the folder, from which Translator.load brings
    it into a model that is built in the same way.

    At each checkpoint the first valid_bleu validation sentences that are not
    too long are also translated, and the line of metrics has their BLEU. Of
    several processes the first begins the run and writes all its files; then
    the others join it, each with resume.
    """
    deadline = None
    if max_minutes is not None:
        deadline = time.monotonic() + 60 * max_minutes
    output = Path(output)
    first = processes.rank == 0
    console.quiet = not first  # the first speaks for all
    recipe = replace(recipe, processes=processes.size)
    check_start(recipe, start, new_subwords, tokenizer, model)
    recipe = with_model(recipe, model)
    with locked_run(output, resume) if first else nullcontext():
        device = choose_device(device)
        console.out(device_line(device, recipe))
        began = read_history(output) if resume else None
        known = None
        if tokenizer is not None:
            known, recipe = given_tokenizer(tokenizer, recipe)
        if start is not None:
            parent, inherited, recipe = start_from(start, recipe, new_subwords)
            known = None if new_subwords else inherited
        if known is None and began is not None:
            known = run_tokenizer(output)
        subwords = known or learn_tokenizer(corpus, recipe)
        recipe = with_subwords(recipe, subwords)
        if model is not None:
            check_own_model(model, subwords, recipe)
        model = build_model(recipe, device, compiled, model)
        history = describe(
            command, recipe, corpus, device, start, subwords, model
        )
        if began is not None:
            check_same_run(output, began, history)
            history = began
        if start is not None:
            copy_parent_weights(model, subwords, parent, inherited)
        warn(recipe, corpus, device)
        run = Run(
            output, corpus, recipe, subwords, model, processes, valid_bleu
        )
        if began is None:
            begin_run(output, history, subwords)
        if first:
            processes.wait()
        try:
            run.go(history, deadline)
        except FloatingPointError as error:
            raise UserError(
                f"{output}: {error}; train with a lower `peak_lr`, a longer "
                "`warmup` or `bf16=False`"
            ) from error
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            raise out_of_memory_error(run.where, error) from error
    return output


def warn(recipe: Recipe, corpus: Corpus, device: str) -> None:
    """Report what is unwise, though nothing forbids it."""
    warn_of_overlap(corpus)
    warmup, steps = recipe.train.warmup, recipe.train.steps
    if warmup >= steps:
        console.out(
            f"the rate rises until update {warmup}, but the training ends at "
            f"{steps}: shorten `warmup`"
        )
    if recipe.train.bf16 and device == "cpu":
        factor = bf16_slowdown()
        if factor > 1:
            console.out(
                "`bf16=True` is slow on this processor: in a trial, products "
                f"took {factor:.1f} times as long as with `bf16=False`"
            )
