"""Sinusoids and ALiBi, registered: by seeds of their own."""

from .shared.registering import claims_of, recorded, registered
from .tuned_alibi import COMPARED
from .tuned_alibi import RECIPE as RECIPE
from .tuned_alibi import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_alibi"))
