"""Lookups and far letters, registered: three claims by seeds of their own."""

from .shared.registering import claims_of, recorded, registered
from .tuned_lookups import COMPARED
from .tuned_lookups import RECIPE as RECIPE
from .tuned_lookups import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_lookups"))
