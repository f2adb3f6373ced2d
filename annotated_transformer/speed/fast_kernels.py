"""Faster kernels for a whole model: its matrix products and its attention."""

from torch import nn
from torch.nn import functional as F

from annotated_transformer.embedding import TokenEmbedding
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.speed.attention_kernels import attention
from annotated_transformer.speed.forks import one_thread_in_forks
from annotated_transformer.speed.matrix_products import (
    OneDNNEmbedding,
    OneDNNLinear,
    available,
)

__all__ = ["FASTER", "use_fast_kernels"]

FASTER = {nn.Linear: OneDNNLinear, TokenEmbedding: OneDNNEmbedding}


def use_fast_kernels(model: nn.Module) -> None:
    """Have a model multiply and attend by what is fastest here.

    It holds for float32 on a CPU, where oneDNN is `available`; elsewhere
    nothing changes. The parameters stay as they are, and print(model) shows
    which layers ask oneDNN. Forks of this process compute with one thread
    from now on.
    """
    one_thread_in_forks()
    if not available():
        return
    for layer in model.modules():
        fused = F.scaled_dot_product_attention  # a kernel of its own stays
        if (
            isinstance(layer, MultiHeadAttention)
            and layer.attention_fn is fused
        ):
            layer.attention_fn = attention
        if faster := FASTER.get(type(layer)):
            layer.__class__ = faster
