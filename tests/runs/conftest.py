"""What all tests of runs share."""

import pytest

from annotated_transformer.runs import cost


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Time batches briefly: how long they take matters to no test."""
    monkeypatch.setattr(cost, "SECONDS", 0.0)
