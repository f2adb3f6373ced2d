"""Recurrence, convolution and attention, registered: two claims."""

from .shared.registering import claims_of, recorded, registered
from .tuned_translators import COMPARED
from .tuned_translators import RECIPE as RECIPE
from .tuned_translators import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_translators"))
