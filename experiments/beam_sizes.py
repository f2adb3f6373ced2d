"""The beam: from 1 place, which is greedy decoding, to 100.

The shipped model translates Multi30k's texts with every beam, and searches
otherwise as it was scored. A seed draws sentences of each text, as many as
there are, with replacement: the same ones for all beams, so that their
differences can be told from chance. Nats are the mean log-probability of an
output, and seconds the processor's for all texts.
"""

import time
from functools import cache
from statistics import fmean

from annotated_transformer.translation import Translation

from .shared import shipped_translator
from .shared.grid import Result, grid
from .shared.settings import Search
from .shared.shipped_translator import corpus as corpus
from .shared.shipped_translator import drawn, texts, translator

BEAMS = (1, 2, 5, 10, 20, 100)
SEEDS = range(20)
SEARCH: Search = {"alpha": 0.6, "no_repeat": 3}  # the model's own
RECIPE = shipped_translator.RECIPE | SEARCH


@cache
def outputs(beam: int) -> tuple[dict[str, list[Translation]], float]:
    """What the model makes of each text, and in how many seconds."""
    model = translator()
    start = time.process_time()
    search: Search = {**SEARCH, "beam": beam}
    found = {}
    for name, pairs in texts().items():
        sources = [source for source, _ in pairs]
        lists = model.n_best(sources, 1, **search)
        found[name] = [best[0] for best in lists]
    return found, time.process_time() - start


def run(beam: int, seed: int) -> Result:
    """Lower-cased BLEU and brevity on drawn sentences; nats of all."""
    translations, seconds = outputs(beam)
    found: Result = {"seconds": seconds}
    for name, pairs in texts().items():
        best = translations[name]
        bleu = drawn([one.text for one in best], pairs, seed)
        found |= {
            f"{name}_bleu": bleu.score,
            f"{name}_brevity": bleu.bp,
            f"{name}_nats": fmean(one.log_probability for one in best),
        }
    return found


RUNS = grid(run, "beam={beam} seed={seed}", beam=BEAMS, seed=SEEDS)
