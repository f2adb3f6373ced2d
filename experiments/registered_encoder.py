"""Encoder-decoder and decoder alone, registered: by seeds of their own."""

from .shared.registering import claims_of, recorded, registered
from .tuned_encoder import COMPARED
from .tuned_encoder import RECIPE as RECIPE
from .tuned_encoder import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_encoder"))
