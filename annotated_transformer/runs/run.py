"""A training run: begun in a folder of its own, or resumed there."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.runs.devices import choose_device, device_line
from annotated_transformer.runs.loop import Run
from annotated_transformer.runs.memory import out_of_memory_error
from annotated_transformer.runs.prepare import (
    build_model,
    copy_parent_weights,
    describe,
    prepare,
)
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run_dir import (
    begin_run,
    check_same_run,
    locked_run,
    read_history,
)
from annotated_transformer.storage.checkpoints import Line
from annotated_transformer.system.console import console
from annotated_transformer.system.processes import joined

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
    corpus: Corpus | RunningText,
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
    on_metrics: Callable[[Line], object] | None = None,
) -> Path:
    """Train a model into the folder output, and return the folder.

    The folder must be new, unless resume continues the run in it, with the
    recipe, the texts and the models that began it. SIGINT, SIGTERM and SIGHUP
    write a checkpoint and raise Interrupted; after max_minutes the model is
    made of what has been learned so far. A process trains one model at a
    time.

    With start the training begins with the weights, sizes and subwords of a
    trained model; new_subwords are learned from the corpus instead, and take
    over the vectors of those that the model has. With its own subwords the
    training is a fine-tuning, for which `fine_tuning` in runs.recipes makes a
    recipe: it validates before the first update, keeps the best checkpoint,
    and ends with it where later ones are worse, unless the recipe has a risk.

    A tokenizer, or the path of
    a sentencepiece model, replaces subwords learned from the corpus: its ids
    of padding, beginning, end and the unknown must be 0, 1, 2 and 3.

    The training of a model, which may have parts of your own, begins with
    its weights. The recipe takes its sizes, and the model itself stays as it
    is: what is learned is in the folder, from which Translator.load brings
    it into a model that is built in the same way.

    At each checkpoint the first valid_bleu validation sentences that are not
    too long are also translated, and the line of metrics has their BLEU. Then
    on_metrics is called with the line, a dict, once the checkpoint is written.
    Of several processes, which torchrun starts, the first begins the run,
    writes all its files and calls on_metrics, and the others resume it.
    """
    deadline = None
    if max_minutes is not None:
        deadline = time.monotonic() + 60 * max_minutes
    output, device = Path(output), choose_device(device)
    with ExitStack() as stack:
        processes = stack.enter_context(joined(device))
        if processes.rank == 0:
            stack.enter_context(locked_run(output, resume))
        else:
            console.quiet = True  # the first speaks for all
            processes.wait()  # what is wrong is said once, by the first
            resume = True
        recipe = replace(recipe, processes=processes.size)
        console.out(device_line(device, recipe))
        began = read_history(output) if resume else None
        ready = prepare(
            recipe,
            corpus,
            start,
            new_subwords,
            tokenizer,
            model,
            output if resume else None,
        )
        model = build_model(ready.recipe, device, compiled, model)
        history = describe(command, ready, corpus, device, model)
        if began is not None:
            check_same_run(output, began, history)
            history = began
        elif ready.parent is not None:
            copy_parent_weights(model, ready.tokenizer, ready.parent)
        parts = corpus, ready.recipe, ready.tokenizer, model
        tunes = start is not None and not new_subwords
        run = Run(output, *parts, processes, valid_bleu, tunes, on_metrics)
        try:
            if began is None:
                begin_run(output, history, ready.tokenizer, run.save)
            if processes.rank == 0:
                processes.wait()
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
