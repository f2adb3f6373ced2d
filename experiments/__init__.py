"""Trained experiments whose records the chapters read; see README.md."""

import sys
from pathlib import Path

# of the book they need the ledger, which says what is registered
sys.path.append(str(Path(__file__).parents[1] / "book"))
