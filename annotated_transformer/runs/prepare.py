"""What a run needs: subwords, before its text is ids, and then a model."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..adapting import add_adapters
from ..corpora.corpus import Corpus
from ..corpora.large_text import LARGE, text_sums
from ..corpora.running_text import RunningText
from ..data import Tokenizer, train_tokenizer
from ..embedding import BOS, EOS, PAD, UNK, SinusoidalPositions
from ..errors import UserError
from ..model import EncoderDecoder
from ..storage.builders import build, find_builder, outline
from ..storage.model_folder import read_tokenizer
from ..system.cache import CACHE, Cache
from ..system.console import console
from ..text.checks import on_other_side, small_words
from ..writing import LanguageModelConfig
from .recipes import Recipe
from .start import NEW, Parent, Start, copy_parent_weights, start_from

RESERVED = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "unk_id": UNK}
SIDES = 2_000  # pairs that show which side is which


class Prepared(NamedTuple):
    """What a run has before its model is built."""

    recipe: Recipe  # with the sizes of the model
    tokenizer: Tokenizer
    parent: Parent | None


def prepare(
    recipe: Recipe,
    corpus: Corpus | RunningText,
    start: Start = NEW,
    resumed: Path | None = None,
    cache: Cache = CACHE,
) -> Prepared:
    """The subwords of a run, and its recipe with the sizes that they ask for.

    The subwords are those that it starts with, those of the run that is
    resumed, or learned from the corpus. Where the model has fewer positions
    than `max_length`, that is lowered to them. UserError for what does not go
    together.
    """
    start.check(recipe)
    parent, known, own = None, None, start.model
    if start.folder is not None:
        parent, recipe = start_from(start.folder, recipe, start.new_subwords)
        known = None if start.new_subwords else parent.tokenizer
    if own is not None and find_builder(own.config) is not None:
        sizes = own.config
        recipe = replace(recipe, model=sizes, vocab_size=sizes.vocab_size)
    check_kind_of_text(recipe, corpus)
    if start.tokenizer is not None:
        known = given_tokenizer(start.tokenizer)
        recipe = replace(recipe, vocab_size=len(known), tokenizer="given")
    elif known is None and resumed is not None:
        advice = "put the file back, or pass the tokenizer that it was"
        known = read_tokenizer(resumed / "tokenizer.model", advice)
    elif known is None:
        known = learn_tokenizer(corpus, recipe, cache)
    sizes = replace(recipe.model, vocab_size=len(known))
    recipe = replace(recipe, model=sizes)
    if own is not None:
        check_own_model(own, known)
    limit = (own or outline(sizes)).max_positions
    if limit is not None and limit < recipe.train.max_length:
        shorter = replace(recipe.train, max_length=limit)
        recipe = replace(recipe, train=shorter)
    warn(recipe, corpus, parent, cache)
    return Prepared(recipe, known, parent)


@torch.no_grad()
def check_own_model(model: EncoderDecoder, tokenizer: Tokenizer) -> None:
    """UserError for a model that could not be trained, saved or resumed."""
    if kinds := {x.dtype for x in model.parameters()} - {torch.float32}:
        raise UserError(
            f"the model has weights in {min(map(str, kinds))}, and training "
            "computes in float32: call model.float() before it"
        )
    known = {x for x, _ in model.named_parameters(remove_duplicate=False)}
    if others := model.state_dict().keys() - known:
        raise UserError(
            f"the model keeps {min(others)} beside its parameters, which no "
            "checkpoint does: make it a parameter, or register it with "
            "persistent=False if it follows from the sizes"
        )
    ids = torch.tensor([[EOS]], device=next(model.parameters()).device)
    width = model(ids, ids).size(-1)
    if width != len(tokenizer):
        raise UserError(
            f"the model has {width} logits for a tokenizer of "
            f"{len(tokenizer)} pieces: build it with `vocab_size="
            f"{len(tokenizer)}`"
        )


def check_kind_of_text(recipe: Recipe, corpus: Corpus | RunningText) -> None:
    """UserError for a corpus that a model cannot learn from."""
    running = isinstance(corpus, RunningText)
    if running != isinstance(recipe.model, LanguageModelConfig):
        raise UserError(
            "a translator learns from sentence pairs, and a language model "
            "from running text: pass such a corpus, or begin with the sizes "
            "of the other"
        )
    labs = recipe.labs
    pairs = {
        "normalize": recipe.normalize,
        "risk": labs.risk,
        "noise": labs.noise,
        "bpe_dropout": labs.bpe_dropout,
        "tokenizer='word'": recipe.tokenizer == "word",
    }
    if running and (asked := [name for name, x in pairs.items() if x]):
        raise UserError(
            f"`{asked[0]}` is for sentence pairs, and running text is read "
            "as it is: leave it out"
        )


def given_tokenizer(given: object) -> Tokenizer:
    """A tokenizer that is passed, or that of a sentencepiece model's file.

    UserError if there is none, or if its ids are not those of a model here.
    """
    if isinstance(given, Path | str):
        advice = "name the file with the ending .model that its training wrote"
        given = read_tokenizer(Path(given), advice)
    name = type(given).__name__
    if not isinstance(given, Tokenizer):
        raise UserError(
            f"the tokenizer is a {name}; pass a Tokenizer, the path of a "
            "sentencepiece model, or an object of a class that inherits from "
            "Tokenizer, with __len__, encode, decode, split and model"
        )
    if hasattr(given, "pieces"):
        found = {x: getattr(given.pieces, x)() for x in RESERVED}
        if found != RESERVED:
            raise UserError(
                f"the tokenizer has the ids {found}, and a model here needs "
                f"{RESERVED}: train one with these options of sentencepiece"
            )
    ids, known = [*given.encode("A dog.")], range(UNK, len(given))
    if ids[-1:] != [EOS] or not all(x in known for x in ids[:-1]):
        raise UserError(
            f"{name}.encode('A dog.') is {ids!r:.80}: it must end with {EOS}, "
            f"and its other ids must be from {UNK} (unknown) to "
            f"{known.stop - 1}, the last below its len()"
        )
    return given


def learn_tokenizer(
    corpus: Corpus | RunningText, recipe: Recipe, cache: Cache = CACHE
) -> Tokenizer:
    """Learn subwords from the training text, both languages together."""
    if recipe.tokenizer == "given":
        raise UserError(
            "the recipe's subwords are not learned from the text but given: "
            "pass the tokenizer to train"
        )
    asked: dict[str, Any] = {
        "vocab_size": recipe.vocab_size,
        "kind": recipe.tokenizer,
        "normalize": recipe.normalize,
        "running": isinstance(corpus, RunningText),
        "exact": recipe.vocab_exact,
    }

    def learn() -> str:
        try:
            return train_tokenizer(
                corpus.text_of_subwords(), **asked
            ).model.hex()
        except UserError as error:
            raise UserError(f"`vocab_size`: {error}") from error
        except RuntimeError as error:
            raise UserError(
                "training text: sentencepiece can learn nothing from it "
                f"({error}); it leaves out lines with the sign U+2585 and "
                "very long ones"
            ) from error

    key = {"subwords": asked, "with": version("sentencepiece")}
    model = computed_once(corpus, key, learn, cache)
    learned = Tokenizer(bytes.fromhex(model))
    if len(learned) < recipe.vocab_size and recipe.tokenizer != "char":
        console.out(
            f"the text yields {len(learned)} subwords, which the model gets "
            f"in place of {recipe.vocab_size}; with so little text choose "
            "fewer by `vocab_size`"
        )
    return learned


def computed_once(
    corpus: Corpus | RunningText,
    key: dict[str, Any],
    compute: Callable[[], Any],
    cache: Cache,
) -> Any:
    """What is computed from the training text; of a large one, only once."""
    if isinstance(corpus, RunningText) or len(corpus.train) < LARGE:
        return compute()
    return cache.value({"in": text_sums(corpus.train), **key}, compute)


def warn(
    recipe: Recipe,
    corpus: Corpus | RunningText,
    parent: Parent | None,
    cache: Cache,
) -> None:
    """Say what is unwise, though nothing forbids it."""
    if isinstance(corpus, Corpus):
        if told := swapped(corpus, parent):
            console.out(
                f"warning: {told}: are two files, or columns, in the other "
                "order?"
            )
        asked = set(corpus.valid)

        def count() -> int:
            both = {pair for pair in corpus.train if pair in asked}
            return sum(pair in both for pair in corpus.valid)

        key = {"how many": text_sums(corpus.valid)}
        if both := computed_once(corpus, key, count, cache):
            console.out(
                f"{both} of {len(corpus.valid)} validation pairs stand in the "
                "training text, too: what is said of the validation text is "
                "better than the model"
            )
    if recipe.train.warmup >= recipe.train.steps:
        console.out(
            f"the rate rises until update {recipe.train.warmup}, but the "
            f"training ends at {recipe.train.steps}: shorten `warmup`"
        )


def swapped(corpus: Corpus, parent: Parent | None) -> str:
    """What is told of pairs whose two sides seem to be in the other order."""
    learned, valid = (
        [*islice(pairs, SIDES)] for pairs in (corpus.train, corpus.valid)
    )
    words = set(small_words(source for source, _ in learned))
    if on_other_side(words, valid):
        return (
            "the sources of the validation text have the words of the "
            "training text's targets"
        )
    begun = parent and parent.origin.data
    if begun and begun.lines and begun.lines.words:
        words = set(small_words(begun.lines.words.split()))
        if on_other_side(words, learned):
            return (
                "the targets of the training text have the words that the "
                "model knows as those of its sources"
            )
    return ""


def begun_model(
    ready: Prepared,
    device: str,
    compiled: bool = False,
    given: EncoderDecoder | None = None,
    resumed: bool = False,
) -> EncoderDecoder:
    """What a run trains: the weights of its start, and adapters if asked for.

    Those of a resumed run are in its checkpoint.
    """
    recipe = ready.recipe
    model = build_model(recipe, device, compiled, given)
    if ready.parent is not None and not resumed:
        copy_parent_weights(model, ready.tokenizer, ready.parent)
    if recipe.labs.adapters:
        torch.manual_seed(recipe.train.seed)
        add_adapters(model, recipe.labs.adapters)
    return model


def build_model(
    recipe: Recipe,
    device: str,
    compiled: bool = False,
    given: EncoderDecoder | None = None,
) -> EncoderDecoder:
    """A model to be trained, its weights drawn from the recipe's seed.

    Of a given model it is a copy. Compiled or not, its parameters have the
    same names. UserError if torch.compile cannot compile for the device here.
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
        model = build(recipe.model) if given is None else deepcopy(given)
    model = model.to(device)
    if compiled:
        for part in model.modules():
            if isinstance(part, SinusoidalPositions):
                # a table that grows is compiled anew; outputs may be longer
                part.reserve(2 * recipe.train.max_length)
        model.compile(dynamic=True)  # batches have many shapes
    return model
