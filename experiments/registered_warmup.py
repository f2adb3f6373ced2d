"""A full rate and a warm-up to it, registered: by seeds of their own."""

from . import tuned_warmup as tuned
from .shared.registering import registered

RECIPE, corpus = tuned.RECIPE, tuned.corpus
CLAIMS, RUNS = registered(tuned)
