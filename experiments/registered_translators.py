"""Recurrence, convolution and attention, registered: two claims."""

from . import tuned_translators as tuned
from .shared.registering import registered

RECIPE, corpus = tuned.RECIPE, tuned.corpus
CLAIMS, RUNS = registered(tuned)
