"""The length penalty: alpha from 0 to 2.5, on validation text and on tests.

The shipped model translates Multi30k's texts with every alpha. A seed draws
sentences of each text, as many as there are, with replacement: the same ones
for all alphas, so that their differences can be told from chance. The brevity
is that of BLEU: 1 if the outputs are at least as long as the references.
"""

from functools import cache

from .shared import shipped_translator
from .shared.grid import Result, grid
from .shared.shipped_translator import corpus as corpus
from .shared.shipped_translator import drawn, texts, translator

ALPHAS = (0.0, 0.6, 1.0, 1.5, 2.0, 2.5)
SEEDS = range(20)
BEAM = 5
RECIPE = shipped_translator.RECIPE | {"beam": BEAM}


@cache
def outputs(alpha: float, name: str) -> list[str]:
    """What the model makes of a text."""
    sources = [source for source, _ in texts()[name]]
    return translator()(sources, beam=BEAM, alpha=alpha, no_repeat=0)


def run(alpha: float, seed: int) -> Result:
    """Lower-cased BLEU and brevity on sentences drawn from each text."""
    found: Result = {}
    for name, pairs in texts().items():
        bleu = drawn(outputs(alpha, name), pairs, seed)
        found |= {f"{name}_bleu": bleu.score, f"{name}_brevity": bleu.bp}
    return found


RUNS = grid(run, "alpha={alpha} seed={seed}", alpha=ALPHAS, seed=SEEDS)
