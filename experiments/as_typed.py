"""Text as people type it: what each way of typing costs the translators.

The shipped translators of captions translate each test set as it is and typed
in other ways, with their own search. "lost" is what the clean text scores
more, in BLEU, lower-cased where the case varies; typing errors are drawn three
times. Two words that run together are the control: no training had any.
"""

from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.storage.pretrained import pretrained
from annotated_transformer.text.noise import WAYS, scores_as_typed

from .shared.grid import Result, grid
from .shared.shipped_translator import corpus as corpus
from .shared.shipped_translator import translator, weights

MODELS = [name for name in sorted(pretrained()) if name.startswith("multi")]
TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
CASED = {"capitals", "title case", "small letters"}
RECIPE = {"ways": [*WAYS]}


def typed(seed: int, model: str, of: str, test: str) -> Result:
    """The clean text's scores, and what each way loses of them."""
    source, target = model.split("-")[1:]
    sources, references = zip(
        *multi30k(source, target).tests[test], strict=True
    )
    found = scores_as_typed(translator(model), sources, references, target)
    clean = found.pop("as it is")
    lost = {
        way: clean.bleu_lowercase - scores.bleu_lowercase
        if way in CASED
        else clean.bleu - scores.bleu
        for way, scores in found.items()
    }
    return {
        "weights": of,
        "bleu": clean.bleu,
        "bleu_lowercase": clean.bleu_lowercase,
        **{f"lost, {way}": round(x, 4) for way, x in lost.items()},
    }


RUNS = grid(
    typed,
    "{model} {test} seed={seed}",
    model={name: {"model": name, "of": weights(name)} for name in MODELS},
    test=TESTS,
    seed=[0],
)
