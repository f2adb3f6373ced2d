"""Tables: plain text in columns, with the cells that were given."""

import pytest

from annotated_transformer.teaching.tables import Table


def test_a_row_that_is_too_short_is_an_error():
    with pytest.raises(ValueError, match="shorter"):
        Table(["bug", "loss"], [["no mask", "0.10"], ["alone"]])
