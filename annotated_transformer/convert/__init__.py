"""The same model in layers that others wrote."""
