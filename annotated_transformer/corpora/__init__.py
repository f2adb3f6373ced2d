"""Sentence pairs: from files, from Multi30k, from a built-in grammar."""
