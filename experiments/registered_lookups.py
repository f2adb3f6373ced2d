"""Lookups and far letters, registered: three claims by seeds of their own."""

from . import tuned_lookups as tuned
from .shared.registering import registered

RECIPE, corpus = tuned.RECIPE, tuned.corpus
CLAIMS, RUNS = registered(tuned)
