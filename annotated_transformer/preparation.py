"""Preparation: what a run needs: a device, text, subwords, batches."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

import torch

from annotated_transformer import corpora
from annotated_transformer.corpora import Corpus, Pair
from annotated_transformer.data import (
    Batch,
    Example,
    Tokenizer,
    bucket,
    encode_pairs,
    make_batch,
    train_tokenizer,
    training_batches,
)
from annotated_transformer.distributed import launched
from annotated_transformer.errors import UserError
from annotated_transformer.model import Transformer
from annotated_transformer.recipes import Recipe
from annotated_transformer.records import environment
from annotated_transformer.terminal import console

__all__ = [
    "ahead",
    "build_model",
    "choose_device",
    "diverged",
    "describe",
    "encode",
    "fixed_batches",
    "learn_tokenizer",
    "read_corpus",
]


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
        raise UserError(
            f"device {name!r} is not at hand; choose from "
            f"{', '.join(kind for kind in here if here[kind])}"
        )
    if launched().size == 1 or name == "cpu" or ":" in name:
        return name
    own = int(os.environ.get("LOCAL_RANK", 0))
    count = torch.cuda.device_count()
    if own >= count:
        raise UserError(
            f"device {name!r}: {own + 1} processes or more on a machine of "
            f"{count} GPUs; start one process a GPU, or add --device cpu"
        )
    return f"cuda:{own}"


def build_model(
    recipe: Recipe, vocab_size: int, device: str, compiled: bool = False
) -> Transformer:
    """A model to be trained, its weights drawn from the recipe's seed.

    Compiled or not, its parameters have the same names. UserError if
    torch.compile cannot compile for the device here.
    """
    if compiled:
        try:
            torch.compile(torch.cos)(torch.zeros(2, device=device))
        except RuntimeError as error:
            raise UserError(
                "--compile: torch.compile does not work here "
                f"({str(error).partition(chr(10))[0]}); "
                "install a C++ compiler such as g++, or leave the option out"
            ) from error
    torch.manual_seed(recipe.train.seed)
    sizes = replace(recipe.model, vocab_size=vocab_size)
    model = Transformer(sizes).to(device)
    if compiled:
        model.compile(dynamic=True)  # batches have many shapes
    return model


def describe(
    command: str, recipe: Recipe, corpus: Corpus, device: str
) -> dict:
    """What a run is, before its first update; device is cuda, mps or cpu."""
    return {
        "command": command,
        "recipe": recipe.as_json(),
        "data": {
            "name": corpus.name,
            "source": corpus.source,
            "target": corpus.target,
            "pairs": len(corpus.train),
            "sha256": corpus.checksums,
        },
        **environment(device),
    }


def read_corpus(
    task: str | None, source: str, target: str, own: tuple
) -> Corpus:
    """The corpus that the options name: by task, or by files."""
    if (task is not None) == any(own):
        raise UserError(
            "say what to train on: either --task, or --train and --valid "
            "(--train-tsv and --valid-tsv for files of two columns)"
        )
    if task == "multi30k":
        return corpora.multi30k(source, target)
    if task is not None:
        named = {"copy": corpora.copying, "builtin": corpora.builtin}
        return named[task]()
    train_files, valid_files, train_tsv, valid_tsv = own
    if (train_files and train_tsv) or (valid_files and valid_tsv):
        raise UserError("give two text files or one of two columns, not both")
    training = train_files or (train_tsv and [train_tsv])
    valid = valid_files or (valid_tsv and [valid_tsv])
    if not training or not valid:
        raise UserError(
            "--train and --valid go together: one text to learn from, and "
            "another to see how well it goes"
        )
    return corpora.text_corpus(training, valid, source, target)


def learn_tokenizer(corpus: Corpus, recipe: Recipe) -> Tokenizer:
    """Learn subwords from the training text, both languages together."""
    texts = [side for pair in corpus.train for side in pair]
    try:
        return train_tokenizer(texts, recipe.vocab_size, recipe.tokenizer)
    except UserError as error:
        raise UserError(f"--vocab-size: {error}") from error


def most_tokens(recipe: Recipe) -> tuple[int, str]:
    """The most tokens of a side, and what the limit is.

    It is max_length of the training, or the number of learned positions
    where that is less.
    """
    sizes, most = recipe.model, recipe.train.max_length
    if sizes.positions == "learned" and sizes.max_length < most:
        return sizes.max_length, "as many positions are learned"
    return most, "--max-length raises the limit"


def encode(
    name: str, pairs: list[Pair], tokenizer: Tokenizer, recipe: Recipe
) -> list[Example]:
    """Pairs as ids; says which ones are over the limit and left out."""
    limit, why = most_tokens(recipe)
    examples, too_long = encode_pairs(pairs, tokenizer, limit)
    if too_long:
        console.out(
            f"{name} text: {len(too_long)} of {len(pairs)} pairs have more "
            f"than {limit} tokens on a side and are left out, the first in "
            f"line {too_long[0] + 1} ({why})"
        )
    if not examples:
        raise UserError(
            f"{name} text: none of its {len(pairs)} sentence pairs can be "
            f"used; it needs one of at most {limit} tokens a side"
        )
    return examples


def diverged(
    message: str,
    update: int,
    corpus: Corpus,
    tokenizer: Tokenizer,
    recipe: Recipe,
) -> UserError:
    """The error for an update whose numbers are not finite; names its text."""
    limit = most_tokens(recipe)[0]
    examples, left_out = encode_pairs(corpus.train, tokenizer, limit)
    places = sorted({*range(len(corpus.train))} - {*left_out})
    # the same batches, but each token is the number of its line
    numbered = [
        ([place + 1] * len(source), [0] * len(target))
        for place, (source, target) in zip(places, examples, strict=True)
    ]
    config = recipe.train
    each = config.accumulate * recipe.processes
    batches = training_batches(
        numbered, config.batch_tokens, config.seed, (update - 1) * each
    )
    group = [batch.source[:, 0].tolist() for batch in islice(batches, each)]
    lines = sorted(line for some in group for line in some)
    named = ", ".join(map(str, lines[:5]))
    named += f" and {len(lines) - 5} more" * (len(lines) > 5)
    return UserError(
        f"{message} (lines {named} of the training text); train with a lower "
        "--peak-rate, a longer --warmup or in --float32"
    )


def fixed_batches(examples: list[Example], max_tokens: int) -> list[Batch]:
    """Examples as batches in one order: what validation runs over."""
    lengths = [(len(source), len(target)) for source, target in examples]
    places = bucket(lengths, max_tokens)
    return [make_batch([examples[i] for i in some]) for some in places]


def ahead(
    batches: Iterator[Batch], device: torch.device | str, number: int = 2
) -> Iterator[Batch]:
    """The same batches on the device, prepared while others are computed on.

    A thread builds and moves them, as many ahead as the number says; what
    it raises, the reader gets in the place of the batch.
    """

    def prepare() -> Batch | None:
        batch = next(batches, None)
        return batch and batch.to(device)

    with ThreadPoolExecutor(1) as thread:
        coming = deque(thread.submit(prepare) for _ in range(number))
        while (batch := coming.popleft().result()) is not None:
            coming.append(thread.submit(prepare))
            yield batch
