"""A run's subwords: learned from its text, or given."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..corpora.corpus import Corpus
from ..corpora.large_text import LARGE, text_sums
from ..corpora.running_text import RunningText
from ..data import Tokenizer, train_tokenizer
from ..embedding import BOS, EOS, PAD, UNK
from ..errors import UserError
from ..storage.model_folder import read_tokenizer
from ..system.cache import CACHE, Cache
from ..system.console import console
from .recipes import Recipe

RESERVED = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "unk_id": UNK}


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
    model = found_in(corpus, key, learn, cache)
    learned = Tokenizer(bytes.fromhex(model))
    if len(learned) < recipe.vocab_size and recipe.tokenizer != "char":
        console.out(
            f"the text yields {len(learned)} subwords, which the model gets "
            f"in place of {recipe.vocab_size}; with so little text choose "
            "fewer by `vocab_size`"
        )
    return learned


def found_in(
    corpus: Corpus | RunningText,
    key: dict[str, Any],
    compute: Callable[[], Any],
    cache: Cache,
) -> Any:
    """What is computed from the training text; of a large one, only once."""
    if isinstance(corpus, RunningText) or len(corpus.train) < LARGE:
        return compute()
    return cache.value({"in": text_sums(corpus.train), **key}, compute)
