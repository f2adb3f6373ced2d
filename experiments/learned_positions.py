"""Learned positions or sinusoids, with eight more seeds of two rows.

The rows are those of `table3_variations`, whose three seeds leave the
difference open: the recipe, the text and the order of batches are the same.
"""

from .shared.grid import grid
from .table3_variations import RECIPE as RECIPE
from .table3_variations import VARIATIONS, train
from .table3_variations import corpus as corpus

ROWS = {name: VARIATIONS[name] for name in ("base", "E learned positions")}
RUNS = grid(train, "{name} seed={seed}", seed=range(3, 11), name=ROWS)
