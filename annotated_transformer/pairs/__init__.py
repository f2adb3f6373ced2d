"""What else a trained model can do with sentence pairs."""
