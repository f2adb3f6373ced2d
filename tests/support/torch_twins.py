"""Models off their start, and what shows what they do by other means.

Torch's own layers with the same weights; whole outputs scored by one call.
"""

import torch
from torch import nn

from annotated_transformer.convert.torch_layers import pairs
from annotated_transformer.embedding import BOS, PAD


def randn(*shape: int) -> torch.Tensor:
    """Random numbers in float64."""
    return torch.randn(*shape, dtype=torch.float64)


def sentences(*lengths: int) -> torch.Tensor:
    """Random sentences of these lengths, of words 4 to 10, padded."""
    rows = [torch.randint(4, 11, (length,)) for length in lengths]
    return nn.utils.rnn.pad_sequence(rows, True, PAD)


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    """Assert that two tensors are equal, but for rounding in float64."""
    torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


@torch.no_grad()
def shake(module: nn.Module) -> nn.Module:
    """In float64, every parameter off its start, biases and norms too."""
    for parameter in module.double().parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    return module


@torch.no_grad()
def lively(model: nn.Module) -> nn.Module:
    """Shaken, with gains of either sign, or each token would repeat itself."""
    for name, parameter in shake(model).named_parameters():
        if name.endswith("norm.weight"):
            parameter.normal_()
    return model.eval()


@torch.no_grad()
def given_weights(theirs: nn.Module, ours: nn.Module) -> nn.Module:
    """Their layer after ours has been copied into it."""
    for mine, other in pairs(ours, theirs):
        other.copy_(mine)
    return theirs


@torch.inference_mode()
def rescored(
    model: nn.Module, source: torch.Tensor, outputs: list[list[int]]
) -> list[float]:
    """Log-probabilities of whole outputs by one call, without a cache."""
    rows = [torch.tensor([BOS, *output]) for output in outputs]
    ids = nn.utils.rnn.pad_sequence(rows, True, -1)
    inputs, labels = ids[:, :-1].clamp(min=PAD), ids[:, 1:, None]
    logits = model(source.expand(len(rows), -1), inputs)
    log_p = logits.log_softmax(-1).gather(2, labels.clamp(min=0))
    return log_p.masked_fill(labels < 0, 0).sum((1, 2)).tolist()
