"""A history that a model of a test may have."""

from annotated_transformer.model import ModelConfig
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.storage.history import Data, History, Result
from annotated_transformer.system.machine import Machine
from annotated_transformer.training import TrainConfig

RECIPE = Recipe(ModelConfig(), TrainConfig(seed=1), tokenizer="char")
HISTORY = History(
    command="annotated-transformer train here",
    recipe=RECIPE.as_json(),
    data=Data(name="text", source="en", target="de", pairs=3),
    date="2026-11-23",
    versions={"torch": "2.13.0"},
    machine=Machine(system="Linux", processor="abacus", threads=1),
    result=Result(updates=7),
)
