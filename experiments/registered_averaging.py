"""Averaging by the rate's schedule, registered: two claims by other seeds."""

from .shared.registering import claims_of, recorded, registered
from .tuned_averaging import COMPARED
from .tuned_averaging import RECIPE as RECIPE
from .tuned_averaging import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_averaging"))
