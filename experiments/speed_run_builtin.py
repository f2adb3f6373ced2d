"""The recipe that wins on captions, on the built-in corpus as one's own text.

`tiny` trains as it does on any text that is named, and with the settings that
win on captions, in half the updates. Nothing is chosen here: three seeds each,
scored on the test sentences once.
"""

from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.runs.recipes import recipe_of
from annotated_transformer.translation import Translator

from .shared.grid import Result, grid
from .shared.timed_training import FOLDERS
from .speed_run_captions import learned, scores

FOLDER = FOLDERS / "speed_run_builtin"
COMPARED: dict[str, tuple[str, ...]] = {
    "2017": (),
    "now": (
        "model.positions=rotary",
        "model.dropout=0.15",
        "train.optimizer=muon",
        "train.weight_decay=0.1",
        "train.schedule=stable",
        "train.decay=0.5",
        "train.peak_lr=0.008",
        "train.label_smoothing=0",
        "train.warmup=300",
        "train.steps=2500",
    ),
}
TASK = recipe_of()
RECIPE = {"task": TASK.as_json(), "compared": COMPARED}
corpus = builtin_corpus


def compared(seed: int, name: str) -> Result:
    """A recipe, scored on validation and test."""
    folder = FOLDER / f"{name} {seed}"
    fields = *COMPARED[name], f"train.seed={seed}"
    found = learned(folder, corpus, TASK, fields)
    test = scores(Translator.load(folder), corpus().tests["test"])
    return found | {"test": test}


RUNS = grid(
    compared, "recipe={name} seed={seed}", seed=range(3), name=[*COMPARED]
)
