"""Text of the built-in grammar, and a tokenizer that has learned from it."""

from annotated_transformer.corpora.builtin import sentence_pairs
from annotated_transformer.data import train_tokenizer

PAIRS = [(x.source, x.target) for x in sentence_pairs(300, seed=5)]
LINES = [side for pair in PAIRS for side in pair]
BPE = train_tokenizer(LINES, 300)
