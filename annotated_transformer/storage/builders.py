"""Builders by name: what a folder names, so that its model can be built."""

from collections.abc import Callable, Iterator
from pkgutil import resolve_name
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..data import Tokenizer
from ..errors import UserError, check_fields
from ..model import EncoderDecoder
from .dataclass_json import from_plain, of_type

PACKAGE = __name__.partition(".")[0]
# What builds a model, by its name in a chapter, which is imported when it is
# asked for; and there the class of the sizes that it takes.
BUILDERS = {
    "transformer": "model:ModelConfig",
    "LanguageModel": "writing:LanguageModelConfig",
    "recurrent_translator": "recurrence:RecurrentConfig",
    "convolutional_translator": "recurrence:ConvolutionalConfig",
}
FILLING = {Tensor.normal_, Tensor.uniform_, Tensor.div_}


def find_builder(config: object) -> str | None:
    """The name of the builder that a configuration is for, if there is one."""
    given = f"{type(config).__module__}:{type(config).__name__}"
    names = {f"{PACKAGE}.{sizes}": name for name, sizes in BUILDERS.items()}
    return names.get(given)


def builder_of(config: object) -> str:
    """The name of the builder for a configuration; UserError if none is."""
    name = find_builder(config)
    if name is None:
        raise UserError(
            f"`model={config!r:.40}`: no sizes of a model; pass those of one "
            f"of {', '.join(BUILDERS)}"
        )
    return name


def check_depth(config: object) -> None:
    """UserError for fewer layers than one, or more than can be built."""
    check_fields(config, layers=(1, 1000), decoder_layers=(1, 1000))


def own_code(
    model: EncoderDecoder | None, tokenizer: Tokenizer | None
) -> dict[str, str]:
    """What model and tokenizer have of their maker's code: names of classes.

    No file brings that code, and other parts may take the same weights and
    compute something else with them. None is what the files make.
    """
    found = {}
    if model is not None:
        known = find_builder(model.config) is not None
        parts = own_parts(model, outline(model.config) if known else None)
        found["model"] = ", ".join(sorted({*parts}))
    if type(tokenizer) not in (Tokenizer, type(None)):
        found["tokenizer"] = type(tokenizer).__qualname__
    return {name: found[name] for name in found if found[name]}


def own_parts(part: nn.Module, built: nn.Module | None) -> Iterator[str]:
    """The names of what is in a part, but not in what a builder makes."""
    if not isinstance(part, type(built)):
        yield type(part).__qualname__
        return
    for used in (type(part), *vars(part).values()):
        home = getattr(used, "__module__", None) or PACKAGE
        if home.partition(".")[0] not in (PACKAGE, "torch"):
            yield getattr(used, "__qualname__", type(used).__qualname__)
    for name, child in part.named_children():
        yield from own_parts(child, getattr(built, name, None))


def read_sizes(builder: Any, plain: object, name: str = "model") -> Any:
    """The configuration that JSON gives; ValueError names a wrong field."""
    if of_type(str, builder, "builder") not in BUILDERS:
        raise ValueError(
            f"`builder={builder!r:.40}`: choose {', '.join(BUILDERS)}"
        )
    kind = resolve_name(f"{PACKAGE}.{BUILDERS[builder]}")
    config = from_plain(kind, plain, name)
    check_depth(config)
    return config


def build(config: object) -> EncoderDecoder:
    """The model of these sizes, newly drawn, by the builder for them."""
    builder = resolve_name(f"{type(config).__module__}:{builder_of(config)}")
    model: EncoderDecoder = builder(config)
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
