"""Models of any boxes: each is drawn as ever, trains, and translates."""

from functools import cache

import pytest
import torch
from modern_choices import CHOICES, modern
from torch import nn
from torch.nn import functional as F
from torch_twins import close, lively, rescored, sentences

from annotated_transformer.data import (
    Tokenizer,
    copy_task,
    encode_pairs,
    pad,
    train_tokenizer,
    training_batches,
)
from annotated_transformer.decoder_only import SourceAndTarget
from annotated_transformer.decoding import (
    beam_decode,
    length_penalty,
)
from annotated_transformer.embedding import (
    EOS,
    PAD,
)
from annotated_transformer.errors import UserError
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.model import (
    EncoderDecoder,
    ModelConfig,
    Transformer,
    greedy_decode,
    transformer,
)
from annotated_transformer.modern import (
    MODERN,
    SwiGLU,
)
from annotated_transformer.optimizer import adam
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.recurrence import (
    ConvolutionalConfig,
    DotProductAttention,
    RecurrentConfig,
    convolutional_translator,
    recurrent_translator,
)
from annotated_transformer.risk import ExpectedError
from annotated_transformer.sequences import RestrictedAttention
from annotated_transformer.training import (
    TrainConfig,
    batch_loss,
    updates,
    validate,
)
from annotated_transformer.translation import Translator
from annotated_transformer.writing import LanguageModel

SIZES = {"layers": 2, "d_model": 32, "d_ff": 64, "heads": 4}


# Initial weights


def of_size(**sizes) -> Transformer:
    return transformer(ModelConfig(vocab_size=50, **SIZES | sizes))


@pytest.mark.parametrize(
    ("build", "numbers", "expected"),
    [
        (
            lambda: of_size(
                tied=False, positions="learned", max_length=20, pre_norm=True
            ),
            48_960,
            3.777915,
        ),
        (lambda: of_size(d_k=5, d_v=7), 38_040, 1.976146),
        (
            lambda: recurrent_translator(RecurrentConfig(50, 16, 24, 2)),
            15_448,
            5.376135,
        ),
        (
            lambda: convolutional_translator(
                ConvolutionalConfig(50, 16, 3, 5, 0.1, 20)
            ),
            18_896,
            0.967483,
        ),
    ],
)
def test_a_seed_draws_the_weights_that_it_always_drew(
    build, numbers, expected
):
    """So that a recorded run can be made again: their sum times cos(0), ...

    Unlike a hash, it is the same on every processor, but for rounding.
    """
    torch.manual_seed(0)
    weights = [weight.detach().flatten() for weight in build().parameters()]
    found = torch.cat(weights).double()
    assert len(found) == numbers
    waves = torch.arange(numbers).double().cos()
    assert (found @ waves).item() == pytest.approx(expected, abs=1e-4)


# What holds of any model


@cache
def text() -> tuple[list, Tokenizer]:
    pairs = copy_task(100, letters="abc", lengths=(1, 4))
    return pairs, train_tokenizer((s for s, _ in pairs), 8, "char")


class Squared(MultiHeadAttention):
    """What it answers is no mean of its values."""

    def attend(self, x, keys, values, mask=None):
        return super().attend(x, keys, values, mask).square()


class Cosines(MultiHeadAttention):
    """Weights by cosines, in a function of its own."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.attention_fn = self.by_cosines

    def by_cosines(self, query, key, value, attn_mask=None, dropout_p=0.0):
        query, key = (F.normalize(x, dim=-1) for x in (query, key))
        given = 20 * query, key, value, attn_mask, dropout_p
        return F.scaled_dot_product_attention(*given)


BUILD = {
    "recurrent": lambda n: recurrent_translator(RecurrentConfig(n, 16, 24)),
    "convolutional": lambda n: convolutional_translator(
        ConvolutionalConfig(n, 16, 2)
    ),
    "modern": lambda n: transformer(
        ModelConfig(n, 2, 16, 32, 4, kv_heads=2, **MODERN)
    ),
    "shallow decoder": lambda n: transformer(
        ModelConfig(n, 2, 16, 32, 4, pre_norm=True, decoder_layers=1)
    ),
    "own parts": lambda n: transformer(
        ModelConfig(n, 1, 16, 32, 4), Cosines, nn.RMSNorm, SwiGLU
    ),
    "decoder alone": lambda n: SourceAndTarget(
        ModelConfig(n, 2, 16, 32, 4, pre_norm=True)
    ),
}
each_model = pytest.mark.parametrize("name", BUILD)
# And these, of which the properties are tried alone.
VARIANTS = BUILD | {
    "of 2017": lambda n: transformer(ModelConfig(n, 2, 16, 32, 4)),
    "writer": lambda n: LanguageModel(modern(vocab_size=n)),
    "learned": lambda n: transformer(
        ModelConfig(n, 2, 16, 32, 4, positions="learned", max_length=9)
    ),
    "dot product": lambda n: recurrent_translator(
        RecurrentConfig(n, 6, 8), lambda _: DotProductAttention()
    ),
    "wide windows": lambda n: convolutional_translator(
        ConvolutionalConfig(n, 6, 3, kernel_size=5)
    ),
    **{
        str(choices): lambda n, choices=choices: transformer(
            modern(vocab_size=n, **choices)
        )
        for choices in CHOICES
    },
}
each_variant = pytest.mark.parametrize("name", VARIANTS)


@each_variant
def test_no_word_depends_on_a_later_one(name):
    model = lively(VARIANTS[name](30))
    source, target = sentences(6, 4), sentences(7, 7)
    whole = model(source, target)
    for place in range(7):
        changed = target.clone()
        changed[:, place] = target[:, place] % 26 + 4
        after = model(source, changed)
        close(whole[:, :place], after[:, :place])
        assert (whole - after)[:, place:].abs().amax() > 1e-6


@each_variant
def test_padding_and_company_change_nothing(name):
    """A sentence in a padded batch has the logits that it has alone."""
    model, lengths = lively(VARIANTS[name](30)), (5, 1, 6, 3)
    source, target = sentences(*lengths), sentences(*lengths[::-1])
    together = model(source, target)
    for i, n in enumerate(lengths):
        m = lengths[-1 - i]
        close(together[[i], :m], model(source[[i], :n], target[[i], :m]))
    where = target != PAD
    for form in (where, where.flatten().nonzero().squeeze(1)):
        close(model(source, target, form), together[where])


@each_variant
def test_one_token_at_a_time_gives_the_same(name):
    """With two rows that share each sentence's source; or two tokens."""
    model = lively(VARIANTS[name](30))
    source, target = sentences(5, 2), sentences(4, 4, 4, 4)
    memory, state = model.read(source), None
    whole = model(source.repeat_interleave(2, 0), target)
    for i in range(4):
        x, state = model.decode(target[:, [i]], memory, state)
        close(model.logits(x[:, 0]), whole[:, i])
    x, state = model.decode(target[:, :2], memory)
    y, _ = model.decode(target[:, 2:], memory, state)
    close(model.logits(torch.cat([x, y], 1)), whole)


CONFIG = TrainConfig(
    steps=30, batch_tokens=96, warmup=4, peak_lr=1e-2, clip=1.0
)


# Training and translating


@cache
def trained(name: str) -> EncoderDecoder:
    """A model after some updates."""
    pairs, tokenizer = text()
    examples, _ = encode_pairs(pairs, tokenizer, 10)
    torch.manual_seed(0)
    model = BUILD[name](len(tokenizer))
    batches = training_batches(examples, CONFIG.batch_tokens, 0)
    optimizer = adam(model.parameters())
    turns = updates(model, batches, optimizer, CONFIG, 16)
    losses = [update.loss.item() for update in turns]
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])
    return model.eval()


@each_model
def test_a_beam_of_one_is_a_plain_loop(name):
    model, tokenizer = trained(name), text()[1]
    texts = ["abc", "a", "", "cb", "bbaac"]
    ids = pad(tokenizer.encode(text) for text in texts)
    expected = []
    for row in greedy_decode(model, ids).tolist():
        row = row[: row.index(EOS)] if EOS in row else row
        expected.append(tokenizer.decode([i for i in row if i != PAD]))
    expected[2] = ""
    assert Translator(model, tokenizer)(texts, beam=1) == expected


@each_model
def test_the_n_best_have_the_scores_that_they_claim(name):
    model, tokenizer = trained(name), text()[1]
    translator, texts = Translator(model, tokenizer), ["abc", "b"]
    ids = pad(tokenizer.encode(source) for source in texts)
    told = translator.n_best(texts, 4, beam=4, alpha=0.6)
    found = beam_decode(model, ids, 4, 0.6, 4)
    for source, row, best, claimed in zip(
        texts, ids, found, told, strict=True
    ):
        alone = row[row != PAD][None]
        most = alone.size(1) + 50  # an output that long was cut
        labels = [[*h.tokens, EOS][:most] for h in best]
        log_p = rescored(model, alone, labels)
        assert [h.log_probability for h in best] == pytest.approx(
            log_p, abs=1e-4
        )
        assert [x.text for x in claimed] == [
            tokenizer.decode(h.tokens) for h in best
        ]
        assert [x.score for x in claimed] == pytest.approx(
            [
                log_p / length_penalty(len(tokens), 0.6)
                for log_p, tokens in zip(log_p, labels, strict=True)
            ],
            abs=1e-4,
        )
        (scored,) = score_pairs(translator, [(source, "ab")])
        (log_p,) = rescored(model, alone, [tokenizer.encode("ab")])
        assert scored.log_probability == pytest.approx(log_p, abs=1e-4)


@each_model
def test_it_is_validated_and_learns_from_its_own_outputs(name):
    pairs, tokenizer = text()
    examples, _ = encode_pairs(pairs[:20], tokenizer, 10)
    batch = next(training_batches(examples, 64, 0))
    model = trained(name)
    found = validate(model, [batch])
    smoothless = TrainConfig(label_smoothing=0.0)
    loss = batch_loss(model, batch, smoothless) / batch.tokens
    assert found.loss == pytest.approx(loss.item(), abs=1e-5)
    risk = ExpectedError(tokenizer, 2)(model, batch, TrainConfig())
    risk.backward()
    model.eval()
    assert 0 <= risk.item() <= batch.tokens + 1e-3
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad()


@each_model
def test_what_attends_by_layers_or_once_has_maps(name):
    model, tokenizer = trained(name), text()[1]
    translator = Translator(model, tokenizer)
    if isinstance(model, Transformer) or hasattr(model.decoder, "key"):
        maps, source, target = translator.attention("abc", "ab")
        assert maps.cross[0].shape[2:] == (len(target), len(source))
        assert source == [*tokenizer.split("abc"), "</s>"]
        return
    with pytest.raises(UserError, match="no attention maps"):
        translator.attention("abc", "ab")


@pytest.mark.parametrize("kind", [Squared, RestrictedAttention])
def test_maps_that_would_not_be_what_computes_are_refused(kind):
    tokenizer = text()[1]
    model = transformer(ModelConfig(len(tokenizer), 1, 16, 32, 4))
    sizes = (16, 4) if kind is Squared else (3, 16, 4)
    model.encoder.layers[0].self_attention = kind(*sizes)
    with pytest.raises(UserError, match=f"{kind.__name__} has no maps"):
        Translator(model, tokenizer).attention("abc", "ab")
