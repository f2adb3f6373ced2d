"""Rows of Table 3 on the grammar, registered: by seeds of their own."""

from .shared.registering import claims_of, recorded, registered
from .tuned_table3 import COMPARED
from .tuned_table3 import RECIPE as RECIPE
from .tuned_table3 import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_table3"))
