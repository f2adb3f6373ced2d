"""Conversion to torch's own layers: the same numbers there, and back."""

from dataclasses import replace

import pytest
import torch
from tiny_models import SMALL, TINY
from torch import nn
from torch_twins import shake

from annotated_transformer.convert.torch_layers import (
    TorchTransformer,
    from_torch,
    to_torch,
)
from annotated_transformer.embedding import PAD
from annotated_transformer.errors import UserError
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.model import transformer
from annotated_transformer.storage.builders import build

KINDS = [
    SMALL,
    replace(SMALL, pre_norm=True, tied=False, decoder_layers=1),
    replace(SMALL, positions="learned", max_length=7, d_model=6, heads=3),
    replace(SMALL, dropout=0.3, attention_dropout=0.2, decoder_layers=3),
]


def batch():
    source, target = torch.randint(4, 11, (2, 3, 5))
    source[1, 3:] = target[2, 2:] = PAD
    return source, target


def test_fast_path_of_inference_gives_the_same_logits():
    """Without gradients torch takes other kernels."""
    model, (source, target) = shake(transformer(SMALL)).eval(), batch()
    theirs = to_torch(model)
    with torch.inference_mode():
        logits = theirs(source, target)
    torch.testing.assert_close(logits, model(source, target))
    where = target != PAD
    places = where.flatten().nonzero().squeeze(1)
    for form in (where, places):
        found = theirs(source, target, form)
        torch.testing.assert_close(found, logits[where])


@pytest.mark.parametrize("config", KINDS, ids=repr)
@pytest.mark.parametrize("training", [True, False])
def test_there_and_back_is_the_same_model(config, training):
    dtype = torch.float32 if training else torch.half
    model = shake(transformer(config)).to(dtype).train(training)
    theirs = to_torch(model)
    back = from_torch(theirs)
    assert back.config == config
    assert theirs.training == back.training == training
    ours, returned = model.state_dict(), back.state_dict()
    assert ours.keys() == returned.keys()
    for name, tensor in ours.items():
        assert returned[name].dtype == dtype
        assert torch.equal(returned[name], tensor)


def test_dropout_stands_where_ours_does():
    def active(model, kind):
        modules = [m for m in model.modules() if isinstance(m, kind)]
        rates = [getattr(m, "p", getattr(m, "dropout", 0)) for m in modules]
        return sorted(rate for rate in rates if rate)

    model = transformer(replace(SMALL, dropout=0.2, attention_dropout=0.4))
    theirs = to_torch(model)
    assert active(theirs, nn.Dropout) == active(model, nn.Dropout)
    attentions = active(theirs, nn.MultiheadAttention)
    assert attentions == active(model, MultiHeadAttention) == [0.4] * 6


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_weights_trained_in_torch_come_over():
    """A pre-norm nn.Transformer, its stacks loaded as anybody would."""
    config = replace(SMALL, pre_norm=True)
    trained = nn.Transformer(
        *(8, 2, 2, 2, 12, 0.0), batch_first=True, norm_first=True
    )
    shake(trained).eval()
    theirs = shake(TorchTransformer(config)).eval()
    theirs.encoder.load_state_dict(trained.encoder.state_dict())
    theirs.decoder.load_state_dict(trained.decoder.state_dict())
    model, (source, target) = from_torch(theirs), batch()

    y = trained(
        model.source(source),
        model.target(target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(5).isinf(),
        src_key_padding_mask=source == PAD,
        memory_key_padding_mask=source == PAD,
    )
    torch.testing.assert_close(model(source, target), model.logits(y))


class Variant(MultiHeadAttention):
    pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: transformer(replace(SMALL, d_k=3)), "d_k = 3: .* None or 4"),
        (lambda: transformer(replace(SMALL, d_v=3)), "d_v = 3: .* None or 4"),
        (lambda: transformer(SMALL, Variant), "Variant has no c"),
        (lambda: build(TINY["modern"]), "norm = 'rms': .* 'layer'"),
        (lambda: transformer(replace(SMALL, positions="none")), "positions"),
    ],
)
def test_what_torch_has_not_is_refused(make, message):
    with pytest.raises(UserError, match=message):
        to_torch(make())
