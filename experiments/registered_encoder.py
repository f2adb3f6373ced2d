"""Encoder-decoder and decoder alone, registered: by seeds of their own."""

from . import tuned_encoder as tuned
from .shared.registering import registered

RECIPE, corpus = tuned.RECIPE, tuned.corpus
CLAIMS, RUNS = registered(tuned)
