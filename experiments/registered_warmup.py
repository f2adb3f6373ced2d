"""A full rate and a warm-up to it, registered: by seeds of their own."""

from .shared.registering import claims_of, recorded, registered
from .tuned_warmup import COMPARED
from .tuned_warmup import RECIPE as RECIPE
from .tuned_warmup import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_warmup"))
