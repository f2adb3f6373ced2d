"""A trained model as files: its folder, its weights, its history."""
