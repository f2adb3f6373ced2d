"""Decoding: beam 5, sentences a second, the same weights in all systems."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

import ctranslate2
import torch
from ctranslate2.converters.transformers import BartLoader
from joeynmt.search import search
from torch import Tensor, nn

from annotated_transformer.convert.marian import to_marian
from annotated_transformer.data import pad
from annotated_transformer.decoding import (
    beam_search,
    first_state,
    model_step,
)
from annotated_transformer.embedding import BOS, EOS, PAD, UNK
from annotated_transformer.model import ModelConfig, Transformer, transformer
from annotated_transformer.speed.allocator import keep_freed_memory
from annotated_transformer.speed.fast_kernels import use_fast_kernels
from annotated_transformer.speed.matrix_products import weights_at_rest

from .clock import Job
from .systems import joey_batch, to_joey

WIDTH, LENGTH = 5, 20
FOR_GOOD = ExitStack()
Translate = Callable[[Tensor], list[list[int]]]


@torch.no_grad()
def model_of(config: ModelConfig) -> Transformer:
    """The one random model of all systems; post-norm, since Marian is.

    The rows of the special tokens are zero, so their logits are, which are
    never among the best of thousands: every output has full length. Random
    signs in the norms keep tied embeddings from repeating a token for ever.
    """
    torch.manual_seed(0)
    model = transformer(replace(config, pre_norm=False)).eval()
    model.source.tokens.weight[: UNK + 1] = 0.0
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.weight.sub_(2.0 * torch.rand_like(module.weight).round())
    return model


def ours(model: Transformer) -> Translate:
    """The search of this package."""
    keep_freed_memory()  # as translate does
    use_fast_kernels(model)
    FOR_GOOD.enter_context(weights_at_rest())  # translate, too, does so once

    @torch.inference_mode()
    def translate(source: Tensor) -> list[list[int]]:
        state = first_state(model, source)
        limits = source.new_full((len(source),), LENGTH)
        beams = beam_search(model_step(model), state, limits, WIDTH, 0.0)
        return [best[0].tokens for best in beams]

    return translate


def marian(model: Transformer) -> Translate:
    """Hugging Face's generate."""
    theirs = to_marian(model)

    @torch.inference_mode()
    def translate(source: Tensor) -> list[list[int]]:
        outputs = theirs.generate(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            num_beams=WIDTH,
            do_sample=False,
            length_penalty=0.0,
            min_new_tokens=LENGTH,
            max_new_tokens=LENGTH,
        )
        return outputs[:, 1:].tolist()

    return translate


def joeynmt(model: Transformer) -> Translate:
    """JoeyNMT's search."""
    theirs = to_joey(model)

    def translate(source: Tensor) -> list[list[int]]:
        outputs, _, _ = search(
            theirs,
            joey_batch(source),
            max_output_length=LENGTH,
            min_output_length=LENGTH,
            beam_size=WIDTH,
            beam_alpha=0.0,
        )
        return outputs.tolist()

    return translate


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


def decode(
    make: Callable[..., Translate],
    config: ModelConfig,
    parts: Sequence[list[list[int]]],
    *options: str,
) -> Job:
    """The job of a system: translate one batch, keep what came out."""
    translate = make(model_of(config), *options)
    batches = [pad(part) for part in parts]

    def job(part: int) -> int:
        job.outputs[part] = translate(batches[part])
        return len(batches[part])

    job.outputs = {}
    return job
