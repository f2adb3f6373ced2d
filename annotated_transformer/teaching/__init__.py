"""Code for the notebooks only."""
