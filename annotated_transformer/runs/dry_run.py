"""The dry run: what a run would need and take, from a few of its batches."""

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from rich.filesize import decimal
from torch import nn

from ..corpora.corpus import Corpus
from ..corpora.running_text import RunningText
from ..model import EncoderDecoder
from ..optimizer import layer_matrices, make_optimizer
from ..system.cache import CACHE, Cache
from ..system.processes import ALONE, Processes, joined
from ..training import Objective
from .batches import TrainingText
from .cost import Cost, Ring, measured_cost
from .devices import allow_tf32, attention_kernel, choose_device
from .objectives import objective_of
from .prepare import begun_model, prepare
from .recipes import Recipe
from .start import NEW, Start
from .train import encode_corpus, restored
from .windows import TextWindows

FLOAT = 4  # bytes
MORE = 8, 64  # devices that are told of


@restored()
def plan(
    recipe: Recipe,
    corpus: Corpus | RunningText,
    start: Start = NEW,
    cache: Cache = CACHE,
    device: str | None = None,
    compiled: bool = False,
) -> str:
    """A table of what a run of the recipe would need, do and take.

    The subwords are learned, or taken from the start, the first epoch is cut
    into batches as in the run, and the model computes some of them on the
    device, for a few seconds. Other epochs are shuffled anew, and a machine
    has other work: what is an estimate is marked by "about". Processes that
    torchrun has started measure how long they take to exchange gradients.
    """
    began = time.monotonic()
    ready = prepare(recipe, corpus, start, cache=cache)
    recipe, tokenizer, _ = ready
    text, _, _, into = encode_corpus(corpus, tokenizer, recipe, cache)
    (source, target), read = text.amount(recipe)
    prepared = time.monotonic() - began
    objective = objective_of(recipe.labs, tokenizer, into)
    device = choose_device(device)
    model = begun_model(ready, device, compiled, start.model)
    found, ring = measured(recipe, text, model, objective)
    rows = memory(recipe, model, found.kept) | read
    needed = operations(recipe, model, source, target)
    rows["operations"] = f"about {needed:.1e}"
    size = FLOAT * learned(model)  # of the gradients
    rows |= times(recipe, size, target, found, ring, prepared)
    width = max(map(len, rows))
    return "".join(f"{name:{width}}  {rows[name]}\n" for name in rows)


def measured(
    recipe: Recipe,
    text: TrainingText | TextWindows,
    model: EncoderDecoder,
    objective: Objective,
) -> tuple[Cost, Ring | None]:
    """What the model costs here, and the exchange, if there are several."""
    config, device = recipe.train, next(model.parameters()).device
    optimizer = make_optimizer(model, config.optimizer, config.weight_decay)
    with (
        launched_here(str(device)) as processes,
        allow_tf32(device, recipe.tf32),
        attention_kernel(device, config.bf16),
        closing(text.batches(processes.rank, processes.size)) as batches,
    ):
        found = measured_cost(
            model.train(), batches, optimizer, config, objective
        )
        if processes.size == 1:
            return found, None
        return found, Ring.measured(processes, str(device))


def operations(
    recipe: Recipe, model: EncoderDecoder, source: int, target: int
) -> float:
    """The operations of a run, by the tokens of an update on either side.

    6 for each parameter that a token meets; attention's own come on top.
    """
    sides = (source, [model.encoder]), (target, [model.decoder, model.output])
    update = sum(
        tokens * sum(p.numel() for p in nn.ModuleList(parts).parameters())
        for tokens, parts in sides
    )
    return 6.0 * passes(recipe) * update * recipe.train.steps


def passes(recipe: Recipe) -> int:
    """How often an update reads each of its targets."""
    return recipe.labs.risk or (2 if recipe.labs.r_drop else 1)


def learned(model: nn.Module) -> int:
    """How many numbers a model learns: with adapters, theirs alone."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def memory(recipe: Recipe, model: nn.Module, kept: float) -> dict[str, str]:
    """What a process needs in memory and on disk, beside the program."""
    config = recipe.train
    count = sum(p.numel() for p in model.parameters())
    moments = 2 * learned(model)
    if config.optimizer == "muon":  # which keeps one of its matrices
        moments -= sum(p.numel() for p in layer_matrices(model))
    stays = FLOAT * (count + learned(model) + moments)
    logits = FLOAT * passes(recipe) * recipe.model.vocab_size
    batch = config.batch_tokens * (kept + logits)
    return {
        "parameters": f"{count:,}",
        "subwords": f"{recipe.model.vocab_size:,}",
        "weights, gradients, moments": decimal(stays),
        "activations of a batch": f"about {decimal(int(batch))}",
        "memory a process": f"about {decimal(int(stays + batch))}",
        "a checkpoint": decimal(FLOAT * (count + moments)),
    }


def times(
    recipe: Recipe,
    size: int,
    target: int,
    cost: Cost,
    ring: Ring | None,
    prepared: float,
) -> dict[str, str]:
    """What a run takes, with the devices that it has and with more."""
    devices, each = recipe.processes, target / recipe.processes
    compute, told = cost.seconds(each), ""
    update = compute
    if ring:
        update += ring.seconds(size, devices)
        exchanged = spoken(ring.seconds(size, devices))
        told = f", {exchanged} of it to exchange {decimal(size)}"
    elif devices > 1:
        told = ", and to exchange gradients, which torchrun would measure"
    rows = {
        "an update": f"about {spoken(update)}{told}",
        "to the first update": f"about {spoken(prepared + update)}",
        "to the end": f"about {spoken(recipe.train.steps * update)}",
    }
    for n in MORE:
        if ring:
            seconds = compute + ring.seconds(size, n)
            rows[f"on {n} such devices"] = (
                f"about {n * each / seconds:,.0f} target tokens a second, "
                f"{compute / seconds:.0%} of the time to compute"
            )
    return rows


def spoken(seconds: float) -> str:
    """A time in the unit that fits it."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


@contextmanager
def launched_here(device: str) -> Iterator[Processes]:
    """The processes that torchrun has started; one that plans for others."""
    if "MASTER_ADDR" in os.environ:
        with joined(device) as processes:
            yield processes
    else:
        yield ALONE
