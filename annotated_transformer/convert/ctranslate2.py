"""The same model for CTranslate2, a fast engine in C++.

It comes there by way of Hugging Face's models, which CTranslate2 reads.
"""

from pathlib import Path
from typing import Any

from ..data import Tokenizer
from ..embedding import BOS, EOS, UNK
from ..model import EncoderDecoder
from ..storage.history import History
from ..system.machine import needed
from ..writing import LanguageModel
from .huggingface import generation, to_huggingface


def to_ctranslate2(model: EncoderDecoder, pieces: list[str]) -> Any:
    """The model as a specification of CTranslate2, which can save itself.

    UserError names what has no counterpart there.
    """
    theirs: Any = to_huggingface(model)
    loaders = needed("ctranslate2.converters.transformers", "ctranslate2")
    if isinstance(model, LanguageModel):
        spec = loaders.LlamaLoader().get_model_spec(theirs)
        spec.register_vocabulary(pieces)
        spec.config.layer_norm_epsilon = theirs.config.rms_norm_eps
    else:  # a Bart, but for these two
        theirs.config.normalize_before = model.config.pre_norm
        theirs.config.normalize_embedding = False
        spec = loaders.BartLoader().get_model_spec(theirs)
        spec.register_source_vocabulary(pieces)
        spec.register_target_vocabulary(pieces)
        spec.config.decoder_start_token = pieces[BOS]
    spec.config.bos_token, spec.config.eos_token = pieces[BOS], pieces[EOS]
    spec.config.unk_token = pieces[UNK]
    spec.validate()
    return spec


def write_ctranslate2(
    folder: Path,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None,
    quantization: str | None = None,
) -> dict[str, Any]:
    """Write the model, and return how it searches."""
    spec = to_ctranslate2(model, tokenizer.vocabulary)
    spec.optimize(quantization)
    spec.save(str(folder))
    return generation(model, history) | {
        "eos": tokenizer.vocabulary[EOS],
        "numbers": quantization or "float32",
    }
