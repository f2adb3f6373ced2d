"""Models and tokenizers of one's own: trained, kept, resumed, loaded."""

from dataclasses import replace

import pytest
import torch
from small_runs import CORPUS, SMALL, same_weights
from torch import nn

from annotated_transformer.data import Tokenizer, train_tokenizer
from annotated_transformer.embedding import TokenEmbedding
from annotated_transformer.errors import UserError
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import AddNorm, EncoderLayer, FeedForward
from annotated_transformer.model import (
    Decoder,
    Encoder,
    InputEmbedding,
    Transformer,
    transformer,
)
from annotated_transformer.runs.prepare import given_tokenizer, with_model
from annotated_transformer.runs.run import train
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.translation import Translator

TOKENIZER = train_tokenizer([source for source, _ in CORPUS.train], 32, "char")
SIZES = replace(SMALL.model, vocab_size=len(TOKENIZER))
TEXTS = ["abc", "jihg", "aabbccdd"]


class Sharper(MultiHeadAttention):
    """Attention whose queries are longer by a learned factor, one a head.

    A part of it is frozen, and has no moments of Adam's.
    """

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.factor = nn.Parameter(torch.full((self.heads, 1, 1), 2.0))
        self.output.bias.requires_grad_(False)
        self.attention_fn = self.sharper

    def sharper(self, query, *rest, **options):
        query = query * self.factor
        return nn.functional.scaled_dot_product_attention(
            query, *rest, **options
        )


class SquaredReLU(FeedForward):
    """A part whose weights would fit the published one."""

    def forward(self, x):
        return self.outer(self.inner(x).relu().square())


def sharper(config=SIZES):
    return transformer(config, attention=Sharper, norm=nn.RMSNorm)


def squared(config=SIZES):
    return transformer(config, feed_forward=SquaredReLU)


def doubled(query, *rest, **options):
    """A function in the place of PyTorch's, where all parts are standard."""
    return nn.functional.scaled_dot_product_attention(
        2 * query, *rest, **options
    )


def kernel(config=SIZES):
    model = transformer(config)
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            part.attention_fn = doubled
    return model


def composed():
    """Boxes put together by hand, for which there are no sizes."""
    tokens = TokenEmbedding(len(TOKENIZER), 8)
    source, target = (InputEmbedding(tokens, None, 0.0) for _ in range(2))
    plain = transformer(SIZES)
    attention = plain.encoder.layers[0].self_attention
    layer = EncoderLayer(attention, FeedForward(8, 8), lambda: AddNorm(8, 0.0))
    encoder = Encoder([layer], nn.Identity())
    decoder = Decoder(plain.decoder.layers, nn.Identity())
    return Transformer(source, encoder, target, decoder, tokens)


BUILDS = {
    sharper: "Sharper",
    squared: "SquaredReLU",
    kernel: "doubled",
    composed: "Transformer",
}


def go(output, build=sharper, **options):
    options = {"tokenizer": TOKENIZER, "model": build(), **options}
    return train(output, CORPUS, SMALL, device="cpu", **options)


@pytest.mark.parametrize("build", BUILDS, ids=lambda x: x.__name__)
def test_a_model_of_ones_own_is_trained_resumed_and_loaded(tmp_path, build):
    torch.manual_seed(1)
    model = build()
    before = [x.clone() for x in model.parameters()]
    whole = go(tmp_path / "whole", model=model)
    assert all(map(torch.equal, model.parameters(), before))

    part = go(tmp_path / "part", model=model)
    (part / "checkpoints" / "step-00000006.safetensors").unlink()
    (part / "config.json").unlink()
    with pytest.raises(UserError, match=r"began with own\.model = "):
        go(part, model=transformer(SIZES, norm=nn.Identity), resume=True)
    go(part, build, resume=True)  # whose own weights are others
    assert same_weights(part, whole)

    trained = Translator.load(whole, model=build())
    assert trained(TEXTS) == Translator(trained.model, TOKENIZER)(TEXTS)
    for wrong in (None, transformer(SIZES), transformer(SIZES, norm=Norm)):
        with pytest.raises(UserError, match=BUILDS[build]) as told:
            Translator.load(whole, model=wrong)
        assert "\n" not in str(told.value)


class Norm(nn.LayerNorm):
    pass


@pytest.mark.parametrize("build", BUILDS, ids=lambda x: x.__name__)
def test_a_model_of_ones_own_comes_back_from_its_folder(tmp_path, build):
    """Without a training of ours; its card says what it needs."""
    model = build().eval()
    save_model(tmp_path / "m", model, TOKENIZER)
    found, _, history = load_model(tmp_path / "m", model=build())
    ids = torch.tensor([[5, 6, 2]])
    assert torch.equal(found(ids, ids), model(ids, ids))
    assert history is None and not found.training
    assert BUILDS[build] in (tmp_path / "m" / "README.md").read_text()


def test_weights_go_on_from_those_of_the_model(tmp_path):
    first = go(tmp_path / "first")
    model, tokenizer, _ = load_model(first, model=sharper())
    recipe = replace(SMALL, train=replace(SMALL.train, peak_lr=1e-9))
    second = train(
        tmp_path / "second", CORPUS, recipe, model=model, tokenizer=tokenizer
    )
    again, *_ = load_model(second, model=sharper())
    for one, other in zip(model.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


def with_buffer():
    model = sharper()
    model.encoder.norm.register_buffer("mean", torch.zeros(8))
    return model


REFUSED = {
    "double": (lambda: sharper().double(), "float64, .* model.float()"),
    "buffer": (with_buffer, r"keeps encoder\.norm\.mean beside"),
    "size": (lambda: sharper(replace(SIZES, vocab_size=99)), "99 logits"),
    "positions": (
        lambda: sharper(replace(SIZES, positions="learned", max_length=9)),
        "9 positions, and `max_length` allows 256",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_cannot_be_trained(tmp_path, name):
    build, told = REFUSED[name]
    with pytest.raises(UserError, match=told):
        go(tmp_path / "run", build)


def test_what_is_no_model():
    with pytest.raises(UserError, match="the model is a Linear; pass"):
        with_model(SMALL, nn.Linear(2, 2))


def test_a_training_begins_with_one_model(tmp_path):
    with pytest.raises(UserError, match="begins with one model"):
        go(tmp_path / "run", tokenizer=None, start="multi30k-en-de")


# Tokenizers


class Letters(Tokenizer):
    """Each letter is a token; nothing is left of sentencepiece."""

    def __init__(self, letters="abcdefghij"):
        self.letters = letters
        self.model = letters.encode()

    def __len__(self):
        return 4 + len(self.letters)

    def encode(self, text):
        return [4 + self.letters.find(x) for x in text] + [2]  # 3: unknown

    def decode(self, ids):
        return "".join(self.letters[i - 4] for i in ids if i > 3)

    def split(self, text):
        return [*text]


class Lower(Tokenizer):
    def encode(self, text):
        return super().encode(text.lower())


@pytest.mark.parametrize("own", [Letters(), Lower(TOKENIZER.model)])
def test_a_tokenizer_of_ones_own(tmp_path, own):
    options = {"tokenizer": own, "device": "cpu"}
    whole = train(tmp_path / "whole", CORPUS, SMALL, **options)
    assert (whole / "tokenizer.model").read_bytes() == own.model
    part = train(tmp_path / "part", CORPUS, SMALL, **options)
    (part / "checkpoints" / "step-00000006.safetensors").unlink()
    with pytest.raises(UserError, match="tokenizer"):
        train(part, CORPUS, SMALL, resume=True)
    train(part, CORPUS, SMALL, resume=True, **options)
    assert same_weights(part, whole)
    translator = Translator.load(whole, tokenizer=own)
    assert len(translator(TEXTS)) == len(TEXTS)
    maps, *sides = translator.attention("abc", "ab")
    assert sides == [[*own.split(x), "</s>"] for x in ("abc", "ab")]
    assert maps.cross[0].shape[-2:] == tuple(map(len, sides[::-1]))
    for wrong in (None, TOKENIZER, Letters("abcdefghijk")):
        with pytest.raises(UserError, match=type(own).__qualname__):
            Translator.load(whole, tokenizer=wrong)


def mine(*bases, **changes):
    return type("Mine", bases or (Letters,), changes)()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "is a dict; pass a Tokenizer"),
        (
            mine(object),
            "is a Mine; .* inherits from Tokenizer and has its own",
        ),
        (
            mine(Tokenizer, __init__=object.__init__, encode=len),
            "Mine has no .*model, so it needs its own __len__, decode, split",
        ),
        (
            mine(encode=lambda self, text: [4, 5]),
            r"\[4, 5\]: it must end with",
        ),
        (mine(encode=lambda self, text: [99, 2]), "from 3 .* to 13"),
        (mine(__init__=lambda self: None, letters=""), "Mine needs a model"),
    ],
)
def test_what_is_no_tokenizer(wrong, told):
    with pytest.raises(UserError, match=told) as refused:
        given_tokenizer(wrong, SMALL)
    assert "\n" not in str(refused.value)
