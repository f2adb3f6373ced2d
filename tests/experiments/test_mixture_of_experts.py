"""A mixture of experts against a loop over tokens."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from experiments.mixture_of_experts import (
    EXPERTS,
    MODELS,
    NARROW,
    VOCABULARY,
    MixtureOfExperts,
    active,
    build,
    mixtures,
    shares,
)


def test_each_token_goes_through_its_likeliest_expert():
    torch.manual_seed(0)
    mixture, x = MixtureOfExperts(8, 16, 3), torch.randn(2, 5, 8)
    found = mixture(x)
    for row, written in zip(x.flatten(0, 1), found.flatten(0, 1), strict=True):
        p = (mixture.router.weight @ row).softmax(0)
        i = int(p.argmax())
        torch.testing.assert_close(written, p[i] * mixture.experts[i](row))
    assert mixture.chosen.unique().numel() > 1
    mixture.router.weight.data.zero_()  # all alike: the first gets everything
    torch.testing.assert_close(mixture(x), mixture.experts[0](x) / 3)


def test_imbalance_is_one_for_equal_shares_and_pulls_them_together():
    mixture = MixtureOfExperts(4, 8, 4)
    mixture.router.weight.data = torch.eye(4)
    mixture(9 * torch.eye(4))
    torch.testing.assert_close(mixture.imbalance, torch.tensor(1.0))
    mixture(9 * torch.eye(4)[[2, 2, 2, 2]])
    assert 3.9 < mixture.imbalance < 4
    mixture(torch.eye(4)[[2, 2, 2, 1]])
    mixture.imbalance.backward()
    slope = mixture.router.weight.grad[:, 2]
    assert slope[2] > 0 and slope[[0, 1, 3]].max() < 0


def size(part):
    return sum(p.numel() for p in part.parameters())


def test_parameters_and_operations_of_a_letter():
    models = {
        name: build(of["experts"], of["d_ff"]) for name, of in MODELS.items()
    }
    mixed, wide = models["experts"], models["four times as wide"]
    plain = build(1, NARROW)
    router = 64 * EXPERTS * 4  # layers
    assert active(plain) == size(plain)
    assert active(mixed) == size(plain) + router
    one = size(plain.decoder.layers[0].feed_forward)
    added = 4 * (EXPERTS - 1) * one
    assert size(mixed) == active(mixed) + added
    assert abs(size(wide) / size(mixed) - 1) < 0.01
    assert wide.config.d_ff == EXPERTS * NARROW
    counted = []
    for model in (plain, mixed):
        with FlopCounterMode(display=False) as counter:
            model.next_logits(torch.randint(VOCABULARY, (4, 32)))
        counted.append(counter.get_total_flops())
    assert counted[1] - counted[0] == 2 * 4 * 32 * router
    assert len(mixtures(mixed)) == 4 and mixtures(plain) == []


def test_shares_by_letter():
    chosen = torch.tensor([0, 0, 1, 3, 3, 3, 3, 0])
    text = torch.tensor([5, 5, 5, 7, 7, 7, 7, 9])
    assert shares(chosen, text) == ([0.375, 0.125, 0.0, 0.5], 0.875)
