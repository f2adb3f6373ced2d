"""JoeyNMT: its model with our sizes and weights, its loss, its search."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from joeynmt.batch import Batch as JoeyBatch
from joeynmt.data import load_data
from joeynmt.model import Model, build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary
from sentencepiece import SentencePieceProcessor
from torch import Tensor, nn

from annotated_transformer.convert.torch_layers import projections
from annotated_transformer.data import Batch, Tokenizer
from annotated_transformer.embedding import BOS, EOS, PAD, UNK
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.training import TrainConfig

from .decoding import LENGTH, WIDTH, Translate
from .systems import SMOOTHING

logging.disable(logging.INFO)
SPECIAL = SimpleNamespace(
    **{"unk_token": "<unk>", "unk_id": 0},
    **{"pad_token": "<pad>", "pad_id": 1},
    **{"bos_token": "<s>", "bos_id": 2},
    **{"eos_token": "</s>", "eos_id": 3},
    **{"sep_token": None, "sep_id": None, "lang_tags": []},
)


class JoeyLoss(nn.Module):
    """The summed loss of a batch by JoeyNMT's model and JoeyNMT's loss."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.model = joey(config)

    def forward(self, batch: Batch) -> Tensor:
        """Its batch has the target in one piece, from BOS to EOS."""
        target = torch.cat([batch.inputs[:, :1], batch.labels], dim=1)
        own = joey_batch(batch.source, target)
        return self.model(return_type="loss", **vars(own))[0]


def joey_batch(source: Tensor, target: Tensor | None = None) -> JoeyBatch:
    """A batch as JoeyNMT wants it."""
    return JoeyBatch(
        src=source,
        src_length=(source != PAD).sum(1),
        src_prompt_mask=None,
        trg=target,
        trg_prompt_mask=None,
        indices=torch.arange(len(source)),
        device=source.device,
        pad_index=PAD,
        eos_index=EOS,
    )


def joey(config: ModelConfig) -> Model:
    """JoeyNMT's model from JoeyNMT's own builder."""
    words = [str(i) for i in range(4, config.vocab_size)]
    vocabulary = Vocabulary(words, SPECIAL)
    # it checks that the ids are in this order; the model needs no order
    vocabulary.pad_index, vocabulary.bos_index = PAD, BOS
    vocabulary.eos_index, vocabulary.unk_index = EOS, UNK
    side = {
        "type": "transformer",
        "num_layers": config.layers,
        "num_heads": config.heads,
        "embeddings": {"embedding_dim": config.d_model, "scale": True},
        "hidden_size": config.d_model,
        "ff_size": config.d_ff,
        "dropout": config.dropout,
        "layer_norm": "pre" if config.pre_norm else "post",
    }
    about = {
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": side,
        "decoder": side,
    }
    model = build_model(about, vocabulary, vocabulary)
    model.loss_function = "crossentropy", SMOOTHING
    return model


def read_first_batch(folder: Path) -> None:
    """Read pairs as JoeyNMT does, to the first batch of an update.

    The folder has a tokenizer and pairs.en and pairs.de.
    """
    tokenizer = folder / "tokenizer.model"
    words = Tokenizer(tokenizer.read_bytes()).vocabulary[UNK + 1 :]
    vocabulary = folder / "vocabulary.txt"
    vocabulary.write_text("\n".join(words), "utf-8")
    side = {
        "level": "bpe",
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(tokenizer)},
        "voc_file": str(vocabulary),
    }
    about = {
        "train": str(folder / "pairs"),
        "src": side | {"lang": "en"},
        "trg": side | {"lang": "de"},
        "special_symbols": SPECIAL,
    }
    # sentencepiece has it no longer; it would restrict pieces to all of them
    restrict = SentencePieceProcessor, "SetVocabulary", lambda *_: None
    with patch.object(*restrict, create=True):
        *_, text, _, _ = load_data(about, ["train"])
    batches = text.make_iter(
        TrainConfig().batch_tokens, "token", shuffle=True, pad_index=PAD
    )
    next(iter(batches))


@torch.no_grad()
def to_joey(model: Transformer) -> Model:
    """JoeyNMT's model with the weights of ours."""
    theirs = joey(model.config)
    pairs = [(model.source.tokens, theirs.src_embed.lut)]
    attentions = []
    for mine, other in zip(
        model.encoder.layers, theirs.encoder.layers, strict=True
    ):
        attentions += [(mine.self_attention, other.src_src_att)]
        pairs += [(mine.around_attention.norm, other.layer_norm)]
        pairs += feed_forward(mine, other)
    for mine, other in zip(
        model.decoder.layers, theirs.decoder.layers, strict=True
    ):
        attentions += [(mine.self_attention, other.trg_trg_att)]
        attentions += [(mine.cross_attention, other.src_trg_att)]
        pairs += [(mine.around_self.norm, other.x_layer_norm)]
        pairs += [(mine.around_cross.norm, other.dec_layer_norm)]
        pairs += feed_forward(mine, other)
    for mine, other in attentions:
        maps = {f"{x}_proj": getattr(other, f"{x}_layer") for x in "qkv"}
        named = nn.ModuleDict(maps | {"o_proj": other.output_layer})
        for a, b in zip(projections(mine), projections(named), strict=True):
            b.copy_(a)
    for mine, other in pairs:
        other.load_state_dict(mine.state_dict())
    for module in theirs.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = nn.LayerNorm(1).eps
    return theirs.train(model.training)


def feed_forward(mine: Any, other: Any) -> list[tuple[nn.Module, nn.Module]]:
    """The linear maps of a feed-forward block, and its norm."""
    block = other.feed_forward
    return [
        (mine.feed_forward.inner, block.pwff_layer[0]),
        (mine.feed_forward.outer, block.pwff_layer[3]),
        (mine.around_feed_forward.norm, block.layer_norm),
    ]


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
