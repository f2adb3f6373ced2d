"""The Annotated Transformer, rebuilt: the package that the book builds."""

from annotated_transformer.corpora import Corpus, builtin, multi30k
from annotated_transformer.decoding import beam_decode, beam_search
from annotated_transformer.errors import UserError
from annotated_transformer.exercises import check
from annotated_transformer.model import PRESETS, ModelConfig, Transformer
from annotated_transformer.recipes import RECIPES, Recipe
from annotated_transformer.run import train
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator

__version__ = "0.1.0"

__all__ = [
    "PRESETS",
    "RECIPES",
    "Corpus",
    "ModelConfig",
    "Recipe",
    "TrainConfig",
    "Transformer",
    "Translator",
    "UserError",
    "beam_decode",
    "beam_search",
    "builtin",
    "check",
    "multi30k",
    "train",
]
