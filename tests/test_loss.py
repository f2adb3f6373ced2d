"""The smoothed loss and consistency, against torch's own."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from annotated_transformer.loss import consistency_loss, label_smoothing_loss

smoothings = st.floats(0, 0.9)


def draw(tokens, vocab_size, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(tokens, vocab_size, generator=generator).double()
    return logits, torch.randint(vocab_size, (tokens,), generator=generator)


@given(
    st.integers(0, 6),
    st.integers(2, 9),
    st.just(0.0) | smoothings,
    st.booleans(),
    st.integers(0, 99),
)
def test_loss_and_gradient_are_torchs(
    tokens, vocab_size, smoothing, hidden, seed
):
    """Without smoothing, other logits than the label's may be -inf.

    Of no tokens the sum is zero, so batches add up however they are cut.
    """
    logits, labels = draw(tokens, vocab_size, seed)
    if hidden and not smoothing:
        right = F.one_hot(labels, vocab_size).bool()
        logits[(torch.rand_like(logits) < 0.5) & ~right] = -torch.inf
    logits.requires_grad_()
    expected = F.cross_entropy(
        logits, labels, reduction="sum", label_smoothing=smoothing
    )
    loss = label_smoothing_loss(logits, labels, smoothing)
    assert loss.isfinite()
    torch.testing.assert_close(loss, expected)
    ours, theirs = (
        torch.autograd.grad(3 * x, logits)[0] for x in (loss, expected)
    )
    torch.testing.assert_close(ours, theirs)


@given(st.integers(1, 6), st.integers(2, 9), st.integers(0, 99))
def test_consistency_is_the_mean_of_both_divergences(tokens, size, seed):
    logits, _ = draw(2 * tokens, size, seed)
    p, q = logits.log_softmax(-1).chunk(2)
    options = {"log_target": True, "reduction": "sum"}
    both = F.kl_div(q, p, **options) + F.kl_div(p, q, **options)
    torch.testing.assert_close(consistency_loss(logits), both / 2)
    assert consistency_loss(p.repeat(2, 1)).item() == 0


@given(st.integers(1, 4), st.integers(2, 6), st.integers(0, 99))
def test_gradient_of_consistency_is_that_of_its_values(tokens, size, seed):
    logits, _ = draw(2 * tokens, size, seed)
    assert torch.autograd.gradcheck(consistency_loss, logits.requires_grad_())
