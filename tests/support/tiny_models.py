"""Tiny configurations of each builder, translators, a model's folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from histories import HISTORY

from annotated_transformer.data import Tokenizer, train_tokenizer
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.modern import MODERN
from annotated_transformer.recurrence import (
    ConvolutionalConfig,
    RecurrentConfig,
)
from annotated_transformer.storage.model_folder import save_model
from annotated_transformer.translation import Translator
from annotated_transformer.writing import LanguageModelConfig

SMALL = ModelConfig(
    vocab_size=11, layers=2, d_model=8, d_ff=12, heads=2, dropout=0.0
)
# each with other parts than by default
TINY = {
    "transformer": ModelConfig(
        16, 1, 8, 8, 2, pre_norm=True, tied=False, decoder_layers=2
    ),
    "modern": ModelConfig(16, 2, 8, 12, 2, kv_heads=1, qk_norm=True, **MODERN),
    "LanguageModel": LanguageModelConfig(16, 2, 8, 12, 2, max_length=12),
    "recurrent_translator": RecurrentConfig(16, 8, 12, 2, 0.1),
    "convolutional_translator": ConvolutionalConfig(
        16, 8, 2, 3, 0.1, max_length=90
    ),
}
PAIRED = [name for name in TINY if name != "LanguageModel"]  # translators


def make_translator(tokenizer: Tokenizer, **options: Any) -> Translator:
    """A translator of random weights, in float64."""
    torch.manual_seed(1)
    sizes = ModelConfig(len(tokenizer), 2, 16, 32, 2, pre_norm=True)
    sizes = replace(sizes, **{"dropout": 0.4} | options)
    model = transformer(sizes).double()
    with torch.no_grad():  # sharper than at the start, so that words differ
        model.output.weight.mul_(2)
    return Translator(model, tokenizer)


def tiny_folder(parent: Path) -> Path:
    """A model of random weights that knows a dog, in a folder of its own."""
    tokenizer = train_tokenizer(["a small dog", "ein kleiner Hund"], 24)
    sizes = ModelConfig(len(tokenizer), 1, 8, 16, 2)
    torch.manual_seed(0)
    save_model(parent / "model", transformer(sizes), tokenizer, HISTORY)
    return parent / "model"
