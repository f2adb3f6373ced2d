"""Recurrence, convolution and attention, registered: two claims."""

from .shared.registering import claims_of, recorded, registered
from .tuned_translators import COMPARED, RECIPE, corpus

__all__ = ["CLAIMS", "RECIPE", "RUNS", "corpus"]

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_translators"))
