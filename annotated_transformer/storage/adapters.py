"""Adapters of low rank in a file of their own, beside the model's."""

from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from ..adapting import LowRank
from ..errors import UserError
from ..system.atomic_files import replacing
from .checkpoints import sum_of
from .weight_files import damaged, read_tensors

ORIGINAL = ".parametrizations.weight.original"
ADAPTER = ".parametrizations.weight.0"  # of a linear map


def without_adapters(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model by name, as they are without its adapters.

    What is -0.0 is 0.0, as it may become where weights are added up.
    """
    return {
        name.replace(ORIGINAL, ".weight"): weight.detach() + 0.0
        for name, weight in model.named_parameters()
        if ADAPTER not in name
    }


def save_adapters(model: nn.Module, path: Path | str) -> None:
    """Write the adapters of a model, not the model, as safetensors.

    UserError if it has none. The file names the weights that they adapt, by
    their SHA-256.
    """
    found = {
        f"{name.removesuffix(ADAPTER)}.{part}": weight.detach().contiguous()
        for name, adapter in model.named_modules()
        if isinstance(adapter, LowRank)
        for part, weight in adapter.named_parameters()
    }
    if not found:
        raise UserError("the model has no adapters: add some, and train them")
    notes = {"adapts": sum_of(without_adapters(model), "")}
    path = Path(path)
    with replacing(path.parent, path.name) as new:
        save_file(found, new / path.name, notes)


def load_adapters(model: nn.Module, path: Path | str) -> None:
    """Add the adapters of a file to the model that they were trained with.

    As with `add_adapters` they alone can be trained then, and
    `merge_adapters` makes them part of the weights. UserError for a file that
    has none, or has those of another model.
    """
    path = Path(path)
    advice = "name the file that a training by adapters wrote"
    if not path.exists():
        raise UserError(f"{path}: there is no such file; {advice}")
    tensors, notes = read_tensors(path)
    if any(isinstance(part, LowRank) for part in model.modules()):
        raise UserError("the model has adapters already: merge them first")
    if "adapts" not in notes:
        raise UserError(f"{path}: it holds no adapters; {advice}")
    if notes["adapts"] != sum_of(without_adapters(model), ""):
        raise UserError(
            f"{path}: these are adapters of other weights; load them into the "
            "model that they were trained from"
        )
    maps, adapters = dict(model.named_modules()), {}
    try:
        for name in dict.fromkeys(x.rpartition(".")[0] for x in tensors):
            down = tensors[f"{name}.down"]
            adapters[name] = LowRank(maps[name].weight, len(down))
            parts = {"up": tensors[f"{name}.up"], "down": down}
            adapters[name].load_state_dict(parts)
    except (KeyError, AttributeError, TypeError, RuntimeError) as error:
        raise damaged(path, f"{name} is no adapter of this model") from error
    model.requires_grad_(False)
    for name, adapter in adapters.items():
        register_parametrization(maps[name], "weight", adapter)
