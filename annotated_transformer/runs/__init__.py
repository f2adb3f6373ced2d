"""A training, begun or resumed."""
