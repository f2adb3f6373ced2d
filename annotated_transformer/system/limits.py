"""What may be asked for; the options name it before PyTorch is loaded."""

__all__ = ["KINDS", "LARGEST_ALPHA", "LARGEST_SEED", "MOST_SEARCH"]

KINDS = ("bpe", "unigram", "char")  # of subwords
LARGEST_ALPHA = 50  # powers of lengths beyond it may overflow
LARGEST_SEED = 2**32 - 1
MOST_SEARCH = 1000  # places of a beam, tokens in a row
