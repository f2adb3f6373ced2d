"""CTranslate2: the same random model, converted by its own loader."""

import tempfile

import ctranslate2
from ctranslate2.converters.transformers import BartLoader
from torch import Tensor

from annotated_transformer.convert.marian import to_marian
from annotated_transformer.embedding import BOS, EOS, UNK
from annotated_transformer.model import Transformer

from .decoding import LENGTH, WIDTH, Translate


def ct2(model: Transformer, kind: str) -> Translate:
    """CTranslate2 with the model as Marian; kind is float32 or int8."""
    theirs = to_marian(model)
    theirs.config.normalize_before = False
    theirs.config.normalize_embedding = False
    spec = BartLoader().get_model_spec(theirs)
    tokens = ["<pad>", "<s>", "</s>", "<unk>"]
    tokens += [str(i) for i in range(UNK + 1, model.config.vocab_size)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.decoder_start_token = tokens[BOS]
    spec.config.bos_token, spec.config.eos_token = tokens[BOS], tokens[EOS]
    with tempfile.TemporaryDirectory() as folder:
        spec.validate()
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
