"""Four rows of the ladder, registered: three claims by seeds of their own."""

from .shared.registering import claims_of, recorded, registered
from .tuned_ladder import COMPARED
from .tuned_ladder import RECIPE as RECIPE
from .tuned_ladder import corpus as corpus

CLAIMS = claims_of(COMPARED)
RUNS = registered(COMPARED, recorded("tuned_ladder"))
