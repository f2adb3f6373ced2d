"""The Annotated Transformer, rebuilt: the package that the book builds."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

# What type checkers read; a test compares it with HOMES.
if TYPE_CHECKING:
    from annotated_transformer.corpora.corpus import Corpus, Extra
    from annotated_transformer.corpora.generated import (
        builtin_corpus,
        copy_corpus,
    )
    from annotated_transformer.corpora.multi30k import multi30k
    from annotated_transformer.corpora.running_text import RunningText, plays
    from annotated_transformer.data import Tokenizer
    from annotated_transformer.decoding import (
        Hypothesis,
        beam_decode,
        beam_search,
    )
    from annotated_transformer.errors import Interrupted, UserError
    from annotated_transformer.model import (
        PRESETS,
        ModelConfig,
        Transformer,
        transformer,
    )
    from annotated_transformer.pairs.alignment import align_pairs
    from annotated_transformer.pairs.back_translation import back_translate
    from annotated_transformer.pairs.likelihood import score_pairs
    from annotated_transformer.runs.recipes import RECIPES, LabConfig, Recipe
    from annotated_transformer.runs.run import train
    from annotated_transformer.system.batcher import Batcher
    from annotated_transformer.teaching.exercises import check_exercise
    from annotated_transformer.training import TrainConfig
    from annotated_transformer.translation import (
        AttentionMaps,
        Translation,
        Translator,
    )
    from annotated_transformer.writing import (
        LanguageModel,
        LanguageModelConfig,
        Writer,
    )

__version__ = "0.1.0"

__all__ = [
    "PRESETS",
    "RECIPES",
    "AttentionMaps",
    "Batcher",
    "Corpus",
    "Extra",
    "Hypothesis",
    "Interrupted",
    "LabConfig",
    "LanguageModel",
    "LanguageModelConfig",
    "ModelConfig",
    "Recipe",
    "RunningText",
    "Tokenizer",
    "TrainConfig",
    "Transformer",
    "Translation",
    "Translator",
    "UserError",
    "Writer",
    "align_pairs",
    "back_translate",
    "beam_decode",
    "beam_search",
    "builtin_corpus",
    "check_exercise",
    "copy_corpus",
    "multi30k",
    "plays",
    "score_pairs",
    "train",
    "transformer",
]

# The module of each name. PyTorch takes over a second to load, so nothing
# is loaded before it is asked for.
HOMES = {
    "PRESETS": "model",
    "RECIPES": "runs.recipes",
    "AttentionMaps": "translation",
    "Batcher": "system.batcher",
    "Corpus": "corpora.corpus",
    "Extra": "corpora.corpus",
    "Hypothesis": "decoding",
    "Interrupted": "errors",
    "LabConfig": "runs.recipes",
    "LanguageModel": "writing",
    "LanguageModelConfig": "writing",
    "ModelConfig": "model",
    "Recipe": "runs.recipes",
    "RunningText": "corpora.running_text",
    "Tokenizer": "data",
    "TrainConfig": "training",
    "Transformer": "model",
    "Translation": "translation",
    "Translator": "translation",
    "UserError": "errors",
    "Writer": "writing",
    "align_pairs": "pairs.alignment",
    "back_translate": "pairs.back_translation",
    "beam_decode": "decoding",
    "beam_search": "decoding",
    "builtin_corpus": "corpora.generated",
    "check_exercise": "teaching.exercises",
    "copy_corpus": "corpora.generated",
    "multi30k": "corpora.multi30k",
    "plays": "corpora.running_text",
    "score_pairs": "pairs.likelihood",
    "train": "runs.run",
    "transformer": "model",
}


if not TYPE_CHECKING:  # else checkers would believe that every name exists

    def __getattr__(name: str) -> object:
        """A public name, or a module of the package, loaded when asked for."""
        if name in HOMES:
            home = import_module(f"{__name__}.{HOMES[name]}")
            return globals().setdefault(name, getattr(home, name))
        path = f"{__name__}.{name}"
        known = name.isidentifier() and not name.startswith("_")
        if not known or find_spec(path) is None:
            raise AttributeError(f"{__name__} has no attribute {name!r}")
        return import_module(path)


def __dir__() -> list[str]:
    """All names, loaded or not."""
    return sorted({*globals(), *__all__})
