"""A training: what it is asked for, made ready, and run in its folder.

A sentence's way: a module of corpora has read it, `prepare` learns subwords
from it, `encode_corpus` makes its sides two rows of ids in `Examples` of the
chapter on data, and a `TrainingText` leaves it out if it is too long, or has
that chapter deal it into batches. `Run.learn` gives these to `updates` of the
chapter on training. What `warn` and `describe` read of it changes nothing, but
for noise, which reads capitals by its words, and the limit of a risk.

What of a killed run is lost, and how it goes on, stands in
book/toolkit_modules.md.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import torch

from ..corpora.corpus import Corpus
from ..corpora.running_text import RunningText
from ..data import Tokenizer
from ..embedding import EOS
from ..errors import UserError, out_of_memory
from ..storage.checkpoints import Line
from ..system.cache import CACHE, Cache
from ..system.console import console
from ..system.processes import joined, restarts
from ..text.casing import Words
from ..text.checks import Known, missing_blanks
from .batches import (
    Texts,
    TrainingText,
    batch_change,
    fixed_batches,
    longest_side,
    short_enough,
)
from .description import describe
from .devices import choose_device, device_line
from .encoding import encoded
from .planning import unplanned
from .prepare import begun_model, prepare
from .recipes import Recipe
from .run import Run
from .run_dir import (
    begin_run,
    check_same_run,
    hands_of,
    locked_run,
    read_history,
    resumed,
)
from .start import NEW, Start
from .windows import VALID_TOKENS, TextWindows, token_ids


def out_of_memory_error(step: int, error: BaseException) -> UserError:
    """The error for a run that needs more memory than there is."""
    # how much of a GPU others use; what follows is about PyTorch's allocator
    told = str(error).partition("\n")[0].partition(" Of the allocated")[0]
    return UserError(
        f"out of memory after update {step}{f' ({told})' if told else ''}: in "
        "a new run lower `batch_tokens`, and raise `accumulation_steps` by as "
        "much, which keeps the tokens of an update; else use `bf16=True`, "
        "lower `max_length`, leave out `risk` or `r_drop`, or choose a "
        "smaller model"
    )


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
    start: Start | Path | str = NEW,
    *,
    device: str | None = None,
    resume: bool = False,
    max_minutes: float | None = None,
    plan_minutes: float | None = None,
    command: str = "",
    compiled: bool = False,
    valid_bleu: int = 0,
    on_metrics: Callable[[Line], object] | None = None,
    cache: bool = True,
) -> Path:
    """Train a model into the folder output, and return the folder.

    The folder must be new, unless resume continues the run in it, with the
    recipe, the texts and the start that began it. SIGINT, SIGTERM and SIGHUP
    write a checkpoint and raise Interrupted; after max_minutes the model is
    made of what has been learned so far. For plan_minutes a short trial finds
    how many updates fit, and the recipe gets their number and schedule before
    the first; with patience the training ends before its last update once so
    many checkpoints have been no better. A process trains one model at a time.

    The training starts with new weights, with a Start, or with a folder's
    trained model and its subwords. Such a fine-tuning, for which `fine_tuning`
    in runs.recipes makes a recipe, validates before the first update, keeps
    the best checkpoint, and ends with it where later ones are worse, unless
    the recipe has a risk or noise.

    At each checkpoint the first valid_bleu validation sentences that are not
    too long are also translated, and the line of metrics has their BLEU. Then
    on_metrics is called with the line, a dict, once the checkpoint is written.
    The ids of a large text are kept in a folder of the user's and mapped into
    memory (see `Cache`); without a cache they are made anew, for this run.
    Of several processes, which torchrun starts, the first begins the run,
    writes all its files and calls on_metrics, and the others resume it. Where
    torchrun has started them again, since one had ended, all resume the run.
    """
    began_at, deadline = time.monotonic(), None
    if max_minutes is not None:
        deadline = began_at + 60 * max_minutes
    output, device, store = Path(output), choose_device(device), Cache(cache)
    with ExitStack() as stack:
        processes = stack.enter_context(joined(device))
        if processes.rank == 0:
            if restarts() and (output / "run.json").exists():
                resume = True
            stack.enter_context(locked_run(output, resume))
        else:
            console.quiet = True  # the first speaks for all
            processes.wait()  # what is wrong is said once, by the first
            resume = True
        recipe = replace(recipe, processes=processes.size)
        console.out(device_line(device, recipe))
        began = read_history(output) if resume else None
        recipe = replace(recipe, processes=hands_of(began, processes.size))
        if plan_minutes is not None:
            recipe = replace(recipe, train=unplanned(recipe.train, began))
        start = start if isinstance(start, Start) else Start(start)
        ready = prepare(
            recipe, corpus, start, output if resume else None, store
        )
        history = describe(command, ready, corpus, device, start.model, store)
        if isinstance(corpus, Corpus) and (valid_bleu or recipe.labs.risk):
            targets = (target for _, target in corpus.valid)
            if told := missing_blanks(targets, corpus.target):
                console.out(f"warning: validation text: {told}")
        if began is not None:
            check_same_run(output, began, history)
            if processes.rank == 0:  # which writes for all
                began = resumed(output, began, history)
            history = began
        recipe, tokenizer, _ = ready
        known, resumes = Known.of(history), began is not None
        texts = encode_corpus(corpus, tokenizer, recipe, store, known.words)
        model = begun_model(ready, device, compiled, start.model, resumes)
        run = Run(
            output,
            texts,
            recipe,
            tokenizer,
            model,
            processes,
            valid_bleu=valid_bleu,
            fine_tunes=start.fine_tunes,
            known=known,
            on_metrics=on_metrics,
        )
        try:
            if began is None and plan_minutes is not None:
                run.fit(60 * plan_minutes - (time.monotonic() - began_at))
                history = replace(history, recipe=run.recipe.as_json())
            if began is None:
                begin_run(output, history, tokenizer, run.save)
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
            raise out_of_memory_error(run.progress.step, error) from error
    return output


def encode_corpus(
    corpus: Corpus | RunningText,
    tokenizer: Tokenizer,
    recipe: Recipe,
    cache: Cache = CACHE,
    words: Words = MappingProxyType({}),
) -> Texts:
    """The texts of a run, encoded.

    words are those of `batch_change`. UserError for a text that is too small.
    """
    config = recipe.train
    if isinstance(corpus, Corpus):
        kind, extras = recipe.tokenizer, corpus.extras
        change = batch_change(tokenizer, recipe, words)
        examples = encoded(corpus.train, tokenizer, kind, cache)
        learned = TrainingText(examples, extras, recipe, change)
        valid = encoded(corpus.valid, tokenizer, kind, cache)
        name, size = "validation text", len(corpus.valid)
        places = short_enough(name, valid, recipe, 0, size).tolist()
        kept = [valid[i] for i in places]
        batches = fixed_batches(kept, config.batch_tokens)
        pairs = [corpus.valid[i] for i in places]
        return Texts(learned, batches, pairs, corpus.target)
    length = longest_side(recipe)
    ids = {}
    for name, held_out in ("training", False), ("held-out", True):
        ids[name] = token_ids(corpus, tokenizer, held_out, cache)
        if len(ids[name]) <= length:
            told = "name more text, or lower `max_length`"
            if held_out and (ids[name] == EOS).all():  # no line is
                told = "whole lines are held out, and the last is longer than "
                told += f"`held_out={corpus.held_out}` of the text: break it "
                told += "into lines, one for each sentence or paragraph"
            raise UserError(
                f"the {name} text has {len(ids[name]) - 1} tokens, and a "
                f"window has {length}: {told}"
            )
    rows = config.batch_tokens // length
    windows = TextWindows(ids["training"], length, rows, config.seed)
    rows = max(VALID_TOKENS // length, 1)
    unseen = TextWindows(ids["held-out"], length, rows)
    return Texts(windows, unseen, [], "")
