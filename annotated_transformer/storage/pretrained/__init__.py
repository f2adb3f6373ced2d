"""Trained models that come with the package."""

from pathlib import Path

from annotated_transformer.errors import UserError

HERE = Path(__file__).parent


def pretrained() -> list[str]:
    """The names of the models that come with the package."""
    return sorted(path.parent.name for path in HERE.glob("*/config.json"))


def find_model(name: Path | str) -> Path:
    """The folder of that name, or the shipped model; a folder comes first."""
    if Path(name).exists():
        return Path(name)
    if str(name) in pretrained():
        return HERE / name
    raise UserError(
        f"{name}: no such folder, nor a model that comes with the package "
        f"({', '.join(pretrained()) or 'there is none'})"
    )
