"""Settings that runs share: a record holds them, a configuration takes them.

As dicts they keep the order and the few names that a record has; their types
find a name or a value that no configuration takes before hours are spent.
"""

from typing import TypedDict


class Sizes(TypedDict, total=False):
    """Fields of ModelConfig, without the size of the vocabulary."""

    layers: int
    decoder_layers: int | None
    d_model: int
    d_ff: int
    heads: int
    kv_heads: int | None
    d_k: int | None
    dropout: float
    pre_norm: bool
    positions: str
    max_length: int
    tied: bool
    norm: str
    feed_forward: str
    qk_norm: bool


class Learning(TypedDict, total=False):
    """Fields of TrainConfig, without the seed."""

    steps: int
    batch_tokens: int
    schedule: str
    warmup: int
    peak_lr: float
    label_smoothing: float
    clip: float
    bf16: bool
    checkpoint_every: int
    average: int
    max_length: int


class Search(TypedDict, total=False):
    """How a Translator searches."""

    beam: int
    alpha: float
    no_repeat: int
