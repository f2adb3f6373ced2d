"""A tiny configuration of each builder, with other parts than by default."""

from annotated_transformer.model import ModelConfig
from annotated_transformer.modern import ModernConfig
from annotated_transformer.recurrence import (
    ConvolutionalConfig,
    RecurrentConfig,
)

TINY = {
    "transformer": ModelConfig(
        16, 1, 8, 8, 2, pre_norm=True, tied=False, decoder_layers=2
    ),
    "modern_transformer": ModernConfig(
        16, 2, 8, 12, 2, pre_norm=True, groups=1
    ),
    "recurrent_translator": RecurrentConfig(16, 8, 12, 2, 0.1),
    "convolutional_translator": ConvolutionalConfig(
        16, 8, 2, 3, 0.1, max_length=90
    ),
}
