"""What a run needs before its first update: device, subwords, model."""

import hashlib
import os
from dataclasses import replace
from datetime import date
from pathlib import Path

import torch

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import Tokenizer, train_tokenizer
from annotated_transformer.embedding import (
    BOS,
    EOS,
    PAD,
    UNK,
    SinusoidalPositions,
    TokenEmbedding,
)
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.runs.devices import idle_gpu
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.speed.dropout import draw_fewer_numbers
from annotated_transformer.speed.fast_kernels import use_fast_kernels
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.history import Data, History, Start
from annotated_transformer.storage.model_folder import (
    load_model,
    read_config,
    read_tokenizer,
)
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.system.console import console
from annotated_transformer.system.machine import this_machine, versions
from annotated_transformer.system.processes import launched

__all__ = [
    "build_model",
    "check_start",
    "choose_device",
    "copy_parent_weights",
    "describe",
    "given_tokenizer",
    "learn_tokenizer",
    "read_start",
    "start_from",
    "warn_of_overlap",
    "with_subwords",
]

MOST_CHECKPOINTS = 10_000  # the header of each has the metrics of all before
RESERVED = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "unk_id": UNK}


def choose_device(name: str | None = None) -> str:
    """The device of that name, or the fastest at hand; UserError if absent.

    Each of several processes has a GPU of its own.
    """
    here = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name is None:
        name = next(kind for kind in here if here[kind])
    elif not here.get(name.partition(":")[0]):
        idle = idle_gpu() if name.startswith("cuda") else None
        raise UserError(
            f"device {name!r} is not at hand; choose from "
            f"{', '.join(kind for kind in here if here[kind])}"
            + (f" ({idle})" if idle else "")
        )
    if launched().size == 1 or name == "cpu" or ":" in name:
        return name
    own = int(os.environ.get("LOCAL_RANK", 0))
    count = torch.cuda.device_count()
    if own >= count:
        raise UserError(
            f"device {name!r}: {own + 1} processes or more on a machine of "
            f"{count} GPUs; start one process a GPU, or use `device='cpu'`"
        )
    return f"cuda:{own}"


def given_tokenizer(given: object, recipe: Recipe) -> tuple[Tokenizer, Recipe]:
    """A tokenizer, or that of a sentencepiece model's file, and its recipe.

    UserError if there is none, or if its reserved ids are not RESERVED.
    """
    if not isinstance(given, Tokenizer | Path | str):
        raise UserError(
            f"the tokenizer is a {type(given).__name__}; pass a Tokenizer, or "
            "the path of a sentencepiece model"
        )
    if not isinstance(given, Tokenizer):
        try:
            given = read_tokenizer(Path(given))
        except (OSError, ValueError) as error:
            raise UserError(
                f"{given}: no sentencepiece model ({error!s:.200}); name the "
                "file with the ending .model that its training wrote"
            ) from error
    ids = {name: getattr(given.pieces, name)() for name in RESERVED}
    if ids != RESERVED:
        raise UserError(
            f"the tokenizer has the ids {ids}, and a model here needs "
            f"{RESERVED}: train one with these options of sentencepiece"
        )
    return given, replace(recipe, vocab_size=len(given), tokenizer="given")


def learn_tokenizer(corpus: Corpus, recipe: Recipe) -> Tokenizer:
    """Learn subwords from the training text, both languages together."""
    if recipe.tokenizer == "given":
        raise UserError(
            "the recipe's subwords are not learned from the text but given: "
            "pass the tokenizer to train"
        )
    texts = [side for pair in corpus.train for side in pair]
    try:
        return train_tokenizer(
            texts, recipe.vocab_size, recipe.tokenizer, recipe.normalize
        )
    except UserError as error:
        raise UserError(f"`vocab_size`: {error}") from error
    except RuntimeError as error:
        raise UserError(
            "training text: sentencepiece can learn nothing from it "
            f"({error}); it leaves out lines with the sign U+2585 and very "
            "long ones"
        ) from error


def with_subwords(recipe: Recipe, tokenizer: Tokenizer) -> Recipe:
    """The recipe with a model for just these subwords."""
    sizes = replace(recipe.model, vocab_size=len(tokenizer))
    return replace(recipe, model=sizes)


def warn_of_overlap(corpus: Corpus) -> None:
    """Say so if validation pairs stand in the training text as well."""
    known = set(corpus.train)
    both = sum(pair in known for pair in corpus.valid)
    if both:
        console.out(
            f"{both} of {len(corpus.valid)} validation pairs stand in the "
            "training text, too: what is said of the validation text is "
            "better than the model"
        )


def check_start(
    recipe: Recipe,
    start: Path | str | None,
    new_subwords: bool,
    tokenizer: object = None,
) -> None:
    """UserError for what a training that begins so cannot be asked for."""
    config = recipe.train
    if torch.get_default_dtype() != torch.float32:
        raise UserError(
            f"the default dtype is {torch.get_default_dtype()}, and a "
            "training computes in float32: call "
            "torch.set_default_dtype(torch.float32) before it"
        )
    if config.steps > MOST_CHECKPOINTS * config.checkpoint_every:
        raise UserError(
            f"{config.steps:,} updates with a checkpoint after every "
            f"{config.checkpoint_every}: at most {MOST_CHECKPOINTS:,} "
            "checkpoints are written; raise `checkpoint_every`"
        )
    if tokenizer is not None and start is not None:
        raise UserError(
            f"{start}: a model to begin with has subwords of its own; leave "
            "out the tokenizer, or `start`"
        )
    if recipe.train.risk and start is None:
        raise UserError(
            "`risk` learns from a model's own translations, so it needs a "
            "trained one to begin with: add `start=MODEL`"
        )
    if new_subwords and start is None:
        raise UserError(
            "`new_subwords` is for a training that begins with a model; a "
            "new one always learns its own: leave it out, or add `start=MODEL`"
        )


def start_from(
    folder: Path | str, recipe: Recipe, new_subwords: bool = False
) -> tuple[EncoderDecoder, Tokenizer, Recipe]:
    """A trained model to start from, and the recipe with the model's sizes.

    Dropout is the recipe's own, and so are subwords that are to be new.
    UserError if there is no such model.
    """
    model, tokenizer, history = load_model(folder)
    own = {
        name: getattr(recipe.model, name)
        for name in ("dropout", "attention_dropout")
        if hasattr(model.config, name) and hasattr(recipe.model, name)
    }
    recipe = replace(recipe, model=replace(model.config, **own))
    if not new_subwords:
        kind = history.recipe["tokenizer"] if history else "given"
        try:
            recipe = replace(recipe, vocab_size=len(tokenizer), tokenizer=kind)
        except ValueError as error:
            raise UserError(
                f"{folder}: no training can go on from there ({error!s:.200})"
            ) from error
    return model, tokenizer, recipe


@torch.no_grad()
def copy_parent_weights(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    parent: EncoderDecoder,
    known: Tokenizer,
) -> None:
    """Give a model the weights of its parent, whose subwords are known.

    The vectors of subwords that both have go with them; the vectors of the
    others stay as they were drawn.
    """
    name_of, here = tokenizer.pieces.id_to_piece, range(len(tokenizer))
    row_of = known.pieces.piece_to_id  # that of UNK if there is none
    rows = {row: row_of(name_of(row)) for row in here}
    own = [row for row in here if rows[row] != UNK or row == UNK]
    theirs = [rows[row] for row in own]
    given = parent.state_dict()
    of_subwords = {
        f"{name}.weight"
        for name, part in model.named_modules(remove_duplicate=False)
        if isinstance(part, TokenEmbedding)
    }
    for name, weight in model.state_dict().items():
        if name in of_subwords:
            weight[own] = given[name][theirs].to(weight.device)
        else:
            weight.copy_(given[name])


def build_model(
    recipe: Recipe, device: str, compiled: bool = False, fast: bool = True
) -> EncoderDecoder:
    """A model to be trained, its weights drawn from the recipe's seed.

    Compiled or not, its parameters have the same names. fast is for a CPU:
    products by oneDNN, short rows of attention by the formula, and dropout
    from fewer random bits.
    UserError if torch.compile cannot compile for the device here.
    """
    if compiled:
        try:
            torch.compile(torch.cos)(torch.zeros(2, device=device))
        except RuntimeError as error:
            raise UserError(
                "`compiled`: torch.compile does not work here "
                f"({' '.join(str(error).splitlines()[:2])}); "
                "install a C++ compiler such as g++, or leave it out"
            ) from error
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.train.seed)
        model = build(recipe.model)
    model = model.to(device)
    if compiled:
        for part in model.modules():
            if isinstance(part, SinusoidalPositions):
                # a table that grows is compiled anew; outputs may be longer
                part.reserve(2 * recipe.train.max_length)
        model.compile(dynamic=True)  # batches have many shapes
    elif fast and device == "cpu":
        use_fast_kernels(model)
        # PyTorch's kernels for attention draw from its own generator alone,
        # and all numbers of an update are of one stream
        shared = getattr(recipe.model, "attention_dropout", 0) > 0
        draw_fewer_numbers(model, None if shared else torch.Generator())
    return model


def describe(
    command: str,
    recipe: Recipe,
    corpus: Corpus,
    device: str,
    start: Path | str | None,
    fast: bool,
    tokenizer: Tokenizer,
) -> History:
    """What a run is, before its first update; device is cuda, mps or cpu."""
    extra = sum(one.pairs for one in corpus.extras)
    data = Data(
        name=corpus.name,
        source=corpus.source,
        target=corpus.target,
        pairs=len(corpus.train) - extra,
        extra=extra,
        shares=corpus.shares,
        sha256=corpus.checksums,
    )
    history = History(
        command=command,
        recipe=recipe.as_json(),
        fast=fast,
        data=data,
        date=date.today().isoformat(),
        versions=versions(),
        machine=this_machine(device),
        start=None if start is None else read_start(start),
        tokenizer_sha256=hashlib.sha256(tokenizer.model).hexdigest(),
    )
    History.from_json(history.as_json())  # what is written can be read
    return history


def read_start(folder: Path | str) -> Start:
    """What a training started from: weights, their history, how good."""
    config = read_config(find_model(folder))
    known = config.history
    if known is None:
        return Start("no history was given", files=config.sha256)
    return Start(
        known.command, known.data, known.result, known.start, config.sha256
    )
