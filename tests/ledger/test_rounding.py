"""A rounding error is printed as its bound, and what is none as it is."""

import pytest

from ledger.rounding import below


@pytest.mark.parametrize(
    ("bound", "number", "printed"),
    [
        (1e-12, 0.0, "below 1e-12"),
        (1e-12, -3e-17, "below 1e-12"),
        (1e-12, 1e-12, "1e-12"),
        (1e-5, 0.5441, "0.54"),
        (1e-5, float("nan"), "nan"),
    ],
)
def test_what_is_printed(bound, number, printed):
    assert below(bound, number) == printed
