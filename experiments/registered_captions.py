"""Rows of Table 3 on real captions, registered: by seeds of their own."""

from . import tuned_captions as tuned
from .shared.registering import registered

RECIPE, corpus = tuned.RECIPE, tuned.corpus
CLAIMS, RUNS = registered(tuned)
