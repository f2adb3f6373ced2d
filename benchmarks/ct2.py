"""CTranslate2: the same random model."""

import tempfile

import ctranslate2
from torch import Tensor

from annotated_transformer.convert.ctranslate2 import to_ctranslate2
from annotated_transformer.embedding import UNK
from annotated_transformer.model import Transformer

from .decoding import LENGTH, WIDTH, Translate


def ct2(model: Transformer, kind: str) -> Translate:
    """CTranslate2 with the model as Marian; kind is float32 or int8."""
    tokens = ["<pad>", "<s>", "</s>", "<unk>"]
    tokens += [str(i) for i in range(UNK + 1, model.config.vocab_size)]
    spec = to_ctranslate2(model, tokens)
    with tempfile.TemporaryDirectory() as folder:
        spec.optimize()
        spec.save(folder)
        translator = ctranslate2.Translator(
            folder, compute_type=kind, inter_threads=1, intra_threads=1
        )
    ids = {token: i for i, token in enumerate(tokens)}

    def translate(source: Tensor) -> list[list[int]]:
        rows = [[tokens[i] for i in row if i] for row in source.tolist()]
        outputs = translator.translate_batch(
            rows,
            beam_size=WIDTH,
            length_penalty=0.0,
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
        )
        return [[ids[token] for token in o.hypotheses[0]] for o in outputs]

    return translate
