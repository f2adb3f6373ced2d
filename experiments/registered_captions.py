"""Rows of Table 3 on real captions, registered: by seeds of their own."""

from .shared.registering import claims_of, recorded, registered
from .tuned_captions import COMPARED
from .tuned_captions import RECIPE as RECIPE
from .tuned_captions import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_captions"))
