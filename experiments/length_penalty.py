"""The length penalty: alpha from 0 to 2.5, on validation text and on tests.

The shipped model translates Multi30k's texts with every alpha. A seed draws
sentences of each text, as many as there are, with replacement: the same ones
for all alphas, so that their differences can be told from chance. The brevity
is that of BLEU: 1 if the outputs are at least as long as the references.
"""

import random
from collections.abc import Callable
from functools import cache, partial

from sacrebleu.metrics import BLEU
from sacrebleu.metrics.bleu import BLEUScore

from annotated_transformer.corpora.corpus import Corpus, multi30k
from annotated_transformer.speed.cpu import keep_freed_memory
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.storage.shipped import find_model
from annotated_transformer.translation import Translator

MODEL = "multi30k-en-de"
ALPHAS = (0.0, 0.6, 1.0, 1.5, 2.0, 2.5)
SEEDS = range(5)
RECIPE = {
    "model": MODEL,
    "weights": read_config(find_model(MODEL))[1]["model.safetensors"],
    "beam": 5,
}


@cache
def corpus() -> Corpus:
    """Multi30k, from English to German; downloaded where it is absent."""
    return multi30k()


def texts() -> dict[str, list[tuple[str, str]]]:
    """The pairs of each text that the model has not learned from."""
    return {"valid": corpus().valid, **corpus().tests}


@cache
def outputs(alpha: float, name: str) -> list[str]:
    """What the model makes of a text."""
    keep_freed_memory()
    sources = [source for source, _ in texts()[name]]
    translator = Translator.load(MODEL)
    beam = RECIPE["beam"]
    return translator(sources, beam=beam, alpha=alpha, no_repeat=0)


def drawn(
    ours: list[str], pairs: list[tuple[str, str]], seed: int
) -> BLEUScore:
    """Lower-cased BLEU on sentences drawn from a text, with replacement."""
    places = random.Random(seed).choices(range(len(pairs)), k=len(pairs))
    return BLEU(lowercase=True).corpus_score(
        [ours[i] for i in places], [[pairs[i][1] for i in places]]
    )


def run(alpha: float, seed: int) -> dict:
    """Lower-cased BLEU and brevity on sentences drawn from each text."""
    found = {}
    for name, pairs in texts().items():
        bleu = drawn(outputs(alpha, name), pairs, seed)
        found |= {f"{name}_bleu": bleu.score, f"{name}_brevity": bleu.bp}
    return found


RUNS: dict[str, Callable[[], dict]] = {
    f"alpha={alpha} seed={seed}": partial(run, alpha=alpha, seed=seed)
    for alpha in ALPHAS
    for seed in SEEDS
}
