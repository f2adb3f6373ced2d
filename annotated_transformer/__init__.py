"""The Annotated Transformer, rebuilt: the package that the book builds."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

# What type checkers read; a test compares it with HOMES.
if TYPE_CHECKING:
    from .adapting import add_adapters as add_adapters
    from .adapting import merge_adapters as merge_adapters
    from .corpora.corpus import Corpus as Corpus
    from .corpora.corpus import Extra as Extra
    from .corpora.generated import builtin_corpus as builtin_corpus
    from .corpora.generated import copy_corpus as copy_corpus
    from .corpora.multi30k import multi30k as multi30k
    from .corpora.running_text import RunningText as RunningText
    from .corpora.running_text import plays as plays
    from .data import Tokenizer as Tokenizer
    from .decoding import Hypothesis as Hypothesis
    from .decoding import beam_decode as beam_decode
    from .decoding import beam_search as beam_search
    from .errors import Interrupted as Interrupted
    from .errors import UserError as UserError
    from .model import PRESETS as PRESETS
    from .model import ModelConfig as ModelConfig
    from .model import Transformer as Transformer
    from .model import transformer as transformer
    from .pairs.alignment import align_pairs as align_pairs
    from .pairs.back_translation import back_translate as back_translate
    from .pairs.likelihood import score_pairs as score_pairs
    from .runs.recipes import RECIPES as RECIPES
    from .runs.recipes import LabConfig as LabConfig
    from .runs.recipes import Recipe as Recipe
    from .runs.start import Start as Start
    from .runs.train import train as train
    from .storage.adapters import load_adapters as load_adapters
    from .storage.adapters import save_adapters as save_adapters
    from .system.batcher import Batcher as Batcher
    from .teaching.exercises import check_exercise as check_exercise
    from .training import TrainConfig as TrainConfig
    from .translation import AttentionMaps as AttentionMaps
    from .translation import Translation as Translation
    from .translation import Translator as Translator
    from .writing import LanguageModel as LanguageModel
    from .writing import LanguageModelConfig as LanguageModelConfig
    from .writing import Writer as Writer

__version__ = "0.1.0"

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
    "Start": "runs.start",
    "Tokenizer": "data",
    "TrainConfig": "training",
    "Transformer": "model",
    "Translation": "translation",
    "Translator": "translation",
    "UserError": "errors",
    "Writer": "writing",
    "add_adapters": "adapting",
    "align_pairs": "pairs.alignment",
    "back_translate": "pairs.back_translation",
    "beam_decode": "decoding",
    "beam_search": "decoding",
    "builtin_corpus": "corpora.generated",
    "check_exercise": "teaching.exercises",
    "copy_corpus": "corpora.generated",
    "load_adapters": "storage.adapters",
    "merge_adapters": "adapting",
    "multi30k": "corpora.multi30k",
    "plays": "corpora.running_text",
    "save_adapters": "storage.adapters",
    "score_pairs": "pairs.likelihood",
    "train": "runs.train",
    "transformer": "model",
}
__all__ = [*HOMES]


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
