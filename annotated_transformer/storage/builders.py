"""Builders by name: what a folder names, so that its model can be built."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from annotated_transformer.errors import UserError, check_fields
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.storage.dataclass_json import from_plain, of_type

__all__ = [
    "build",
    "builder_of",
    "check_parts",
    "outline",
    "parameters_of",
    "read_sizes",
]

PACKAGE = __name__.partition(".")[0]
# The chapter of each, which is imported when it is asked for, and the class
# of the sizes that it takes.
BUILDERS = {
    "transformer": ("model", "ModelConfig"),
    "modern_transformer": ("modern", "ModernConfig"),
    "recurrent_translator": ("recurrence", "RecurrentConfig"),
    "convolutional_translator": ("recurrence", "ConvolutionalConfig"),
}
LAYERS = {"layers": (1, 1000), "decoder_layers": (1, 1000)}
FILLING = {Tensor.normal_, Tensor.uniform_, Tensor.div_}


def builder_of(config: object) -> str:
    """The name of the builder that a configuration is for.

    UserError if there is none: a model composed by hand has no config.
    """
    given = type(config).__module__, type(config).__name__
    for name, (chapter, kind) in BUILDERS.items():
        if given == (f"{PACKAGE}.{chapter}", kind):
            return name
    what = "None" if config is None else f"a {type(config).__name__}"
    raise UserError(
        f"the config of this model is {what}, and no builder takes that: "
        f"build the model with one of {', '.join(BUILDERS)}, or, if it was "
        "composed by hand, keep its state_dict() yourself"
    )


def check_parts(model: EncoderDecoder) -> None:
    """UserError unless a model has the parts that its builder would make.

    Weights may fit other parts, which compute something else with them.
    """
    builder = builder_of(model.config)
    built = dict(outline(model.config).named_modules())
    for name, part in model.named_modules():
        used = [type(part), *vars(part).values()]
        homes = {getattr(one, "__module__", None) or PACKAGE for one in used}
        strange = {x.partition(".")[0] for x in homes} - {PACKAGE, "torch"}
        if strange or not isinstance(part, type(built.get(name))):
            raise UserError(
                f"`{name or 'model'}` is not what {builder} makes of the "
                "config of this model: only a model of its parts can be saved "
                "or converted; keep its state_dict() yourself"
            )


def read_sizes(builder: Any, plain: object, name: str = "model") -> Any:
    """The configuration that JSON gives; ValueError names a wrong field."""
    if of_type(str, builder, "builder") not in BUILDERS:
        raise ValueError(
            f"`builder={builder!r:.40}`: choose {', '.join(BUILDERS)}"
        )
    chapter, kind = BUILDERS[builder]
    module = import_module(f"{PACKAGE}.{chapter}")
    config = from_plain(getattr(module, kind), plain, name)
    check_fields(config, **LAYERS)
    return config


def build(config: object) -> EncoderDecoder:
    """The model of these sizes, newly drawn, by the builder for them."""
    name = builder_of(config)
    module = import_module(f"{PACKAGE}.{BUILDERS[name][0]}")
    model: EncoderDecoder = getattr(module, name)(config)
    return model


class Unfilled(TorchFunctionMode):
    """Where it holds, new tensors on the device meta get no numbers.

    They have none, and for every operation on them PyTorch would load its
    compiler, which takes seconds. What is computed of positions is a table,
    no parameter, and is made for one of them.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call func, unless it would fill a tensor."""
        kwargs = kwargs or {}
        initial = getattr(func, "__module__", "") == nn.init.__name__
        if initial or func in FILLING:
            return args[0] if args else kwargs["tensor"]
        if func is torch.arange:
            return torch.zeros(1, dtype=kwargs["dtype"], device="cpu")
        return func(*args, **kwargs)


def outline(config: object) -> EncoderDecoder:
    """The model without memory: what its parts are and what shapes."""
    with torch.device("meta"), Unfilled():
        return build(config)


def parameters_of(config: object) -> int:
    """How many numbers a model of these sizes learns."""
    return sum(x.numel() for x in outline(config).parameters())
