"""Sums in another order: what a page prints must not change by it.

No two processors add up in the same order. `Shaken` draws another one: the
numbers that a product, a sum, a norm or a softmax adds up are permuted, and
its results put back. What is exact stays exact, and equal calls stay equal,
since an order follows from the seed and the length alone. What cannot be
permuted, such as exp or the gradient of attention, moves by a unit in the
last place, which its own bits decide; short numbers such as 0.75 stay as
they are. (A running sum is left alone: it has one order.)

With `SHAKE=SEED` in the environment it is entered for every test and in the
kernels of the notebooks. `make shake` does so.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

# What is added up along one axis: the arguments that have it, any of which
# may be None, and the results that have it still.
SUMS: dict[str, tuple[dict[int, int], dict[int, int]]] = {
    "dot": ({0: 0, 1: 0}, {}),
    "vdot": ({0: 0, 1: 0}, {}),
    "mv": ({0: 1, 1: 0}, {}),
    "mm": ({0: 1, 1: 0}, {}),
    "bmm": ({0: 2, 1: 1}, {}),
    "addmv": ({1: 1, 2: 0}, {}),
    "addmm": ({1: 1, 2: 0}, {}),
    "baddbmm": ({1: 2, 2: 1}, {}),
    "addbmm": ({1: 2, 2: 1}, {}),
    "native_layer_norm": ({0: -1, 2: -1, 3: -1}, {0: -1}),
    "native_layer_norm_backward": (
        {0: -1, 1: -1, 5: -1, 6: -1},
        {0: -1, 1: -1, 2: -1},
    ),
    "_fused_rms_norm": ({0: -1, 2: -1}, {0: -1}),
    # a score is a sum over the width of a head
    "_scaled_dot_product_flash_attention_for_cpu": ({0: -1, 1: -1}, {}),
    "embedding_dense_backward": ({0: 0, 1: 0}, {}),
    "_softmax": ({0: 1}, {0: 1}),  # 1: the argument that names the axis
    "_log_softmax": ({0: 1}, {0: 1}),
}
SOFTMAX = {"_softmax", "_log_softmax"}
# What is added up along the axes of an argument `dim`, or along all.
REDUCTIONS = {
    *("sum", "nansum", "mean", "prod", "logsumexp", "linalg_vector_norm"),
    *("var", "std", "var_mean", "std_mean"),
}
# What processors approximate, or add up in an order that stays inside.
ROUNDED = {
    *("exp", "exp2", "expm1", "log", "log2", "log1p", "log10", "pow"),
    *("sin", "cos", "tan", "tanh", "sigmoid", "erf", "erfinv", "rsqrt"),
    *("silu", "gelu", "softplus", "log_sigmoid_forward", "logaddexp"),
    *("tanh_backward", "sigmoid_backward", "silu_backward", "gelu_backward"),
    *("logcumsumexp", "index_add", "scatter_add"),
    *("_softmax", "_log_softmax", "_softmax_backward_data"),
    *("_log_softmax_backward_data", "_fused_rms_norm_backward"),
    *("convolution", "convolution_backward", "_cdist_forward"),
    *("mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "_foreach_norm"),
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
}
# The integers that have a number's bits, and those that are 0 in a short one.
BITS = {
    torch.float32: (torch.int32, (1 << 10) - 1),
    torch.float64: (torch.int64, (1 << 24) - 1),
}


def shaken() -> AbstractContextManager[object]:
    """What the environment asks for: `Shaken`, or nothing."""
    seed = os.environ.get("SHAKE")
    return Shaken(int(seed)) if seed else nullcontext()


class Shaken(TorchDispatchMode):
    """PyTorch with every sum in an order that `seed` draws.

    Other devices, tensors of other classes, and what runs in other threads
    and processes are left alone.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's
        self.seed = seed
        self.order = cache(self.draw_order)

    def draw_order(self, length: int) -> Tensor:
        """In which order `length` numbers are added up."""
        draw = torch.Generator().manual_seed(1_000_003 * self.seed + length)
        return torch.randperm(length, generator=draw)

    def __torch_dispatch__(
        self,
        func: OpOverload[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call `func` with its sums in another order."""
        kwargs = kwargs or {}
        if types or func.namespace != "aten":  # of another class of tensors
            return func(*args, **kwargs)
        name = func.overloadpacket.__name__.removesuffix("_")
        if is_whole(func):  # without gradients, `linear` and its like are
            with self:
                return func.decompose(*args, **kwargs)
        known = name in SUMS or name in REDUCTIONS or name in ROUNDED
        if not known or not all(map(is_here, tree_leaves((args, kwargs)))):
            return func(*args, **kwargs)
        back: dict[int, int] = {}
        if name in SUMS:
            there, back = SUMS[name]
            if name in SOFTMAX:
                there, back = {0: args[1]}, {0: args[1]}
            args = self.along(args, {i: (axis,) for i, axis in there.items()})
        elif name in REDUCTIONS:
            args = self.along(args, {0: axes(func, args, kwargs)})
        result = func(*args, **kwargs)
        if back:
            several = isinstance(result, tuple)
            results = result if several else (result,)
            places = {i: (axis,) for i, axis in back.items()}
            results = self.along(results, places, back=True)
            result = results if several else results[0]
        if name in ROUNDED:
            moved = tree_map(self.moved, result)
            if not func._schema.is_mutable:
                return moved
            for old, new in zip(
                tree_leaves(result), tree_leaves(moved), strict=True
            ):
                old.copy_(new)
        return result

    def along(
        self,
        tensors: Sequence[Any],
        places: Mapping[int, Sequence[int]],
        back: bool = False,
    ) -> tuple[Any, ...]:
        """Tensors with their numbers in another order along axes, or back."""
        changed = list(tensors)
        for i, places_of_one in places.items():
            for axis in places_of_one:
                x = changed[i] if i < len(changed) else None
                if isinstance(x, Tensor) and x.dim():
                    order = self.order(x.shape[axis])
                    order = order.argsort() if back else order
                    like = torch.empty_like(x)  # of the same strides
                    changed[i] = torch.index_select(x, axis, order, out=like)
        return tuple(changed)

    def moved(self, y: Any) -> Any:
        """Numbers a unit in the last place off, but for short ones."""
        if not isinstance(y, Tensor) or y.dtype not in BITS:
            return y
        integer, last = BITS[y.dtype]
        bits = y.view(integer)
        # the middle bits of a product with a large odd number: like chance
        step = ((bits + self.seed) * 0x2545F491 >> 17) % 3 - 1
        short = (bits & last == 0) | ~y.isfinite()
        return (bits + step.masked_fill(short, 0)).view(y.dtype)


@cache
def is_whole(func: OpOverload[..., Any]) -> bool:
    """Whether PyTorch would take an operation apart where gradients are."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return func.has_kernel_for_dispatch_key(key)


def is_here(x: object) -> bool:
    """Not a tensor of another device, layout or class."""
    return not isinstance(x, Tensor) or (
        type(x) in (Tensor, torch.nn.Parameter)
        and x.device.type == "cpu"
        and x.layout == torch.strided
    )


def axes(
    func: OpOverload[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Sequence[int]:
    """The axes that a reduction names, or all."""
    names = [argument.name for argument in func._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    dim = given.get("dim")
    if isinstance(dim, int):
        return (dim,)
    return dim or range(args[0].dim())
