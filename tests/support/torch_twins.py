"""Models off their start, and torch's own layers with the same weights."""

import torch
from torch import nn

from annotated_transformer.convert.torch_layers import pairs


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
