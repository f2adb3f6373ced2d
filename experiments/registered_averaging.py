"""Averaging by the rate's schedule, registered: two claims by other seeds."""

from . import tuned_averaging as tuned
from .shared.registering import registered

RECIPE, corpus = tuned.RECIPE, tuned.corpus
CLAIMS, RUNS = registered(tuned)
