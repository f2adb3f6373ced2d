"""Dropout from 16 random bits a number, where PyTorch draws 64."""

import torch
from torch import Tensor, nn

__all__ = ["FewerBitsDropout", "draw_fewer_numbers"]


class FewerBitsDropout(nn.Dropout):
    """Dropout with 16 random bits for each entry of x.

    PyTorch draws 64 to drop one or to keep it, which is a seventh of a small
    model's update. With 16 the probability is right to 1e-5.
    """

    generator: torch.Generator | None = None  # None: PyTorch's own

    def forward(self, x: Tensor) -> Tensor:
        """Set entries to zero with probability p, and scale the others."""
        if not self.training:
            return x
        seed, generator = torch.initial_seed(), self.generator
        if generator is not None and generator.initial_seed() != seed:
            generator.manual_seed(seed)
        words = torch.empty(-(-x.numel() // 4), dtype=torch.int64)
        bits = words.random_(-(2**63), None, generator=generator)
        bits = bits.view(torch.int16)
        least = min(round(self.p * 2**16), 2**16 - 1) - 2**15
        keep = bits[: x.numel()].view(x.shape) >= least
        return x * keep.to(x.dtype).mul_(1 / (1 - self.p))


def draw_fewer_numbers(
    model: nn.Module, generator: torch.Generator | None = None
) -> None:
    """Have the dropout of a model on a CPU draw a quarter of the bits.

    A generator of its own begins where PyTorch's does, whenever that has got
    another seed. What other threads draw meanwhile then changes nothing.
    """
    for layer in model.modules():
        if type(layer) is nn.Dropout:
            layer.__class__ = FewerBitsDropout
        if isinstance(layer, FewerBitsDropout):
            layer.generator = generator
