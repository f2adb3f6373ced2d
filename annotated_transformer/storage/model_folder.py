"""Models and checkpoints as files: safetensors and JSON, never pickles.

A model's files count as one: config.json has the sums of the others. A new
model is therefore written whole into the folder NEW beside the old one, and
read back. The rename of its config.json makes it the model; the files that
it names move to their places after that, and until then are found in NEW. So
at every instant, whoever is killed and however full the disk is, either the
old model is there or the new one.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.storage.builders import (
    build,
    builder_of,
    read_sizes,
)
from annotated_transformer.storage.dataclass_json import from_plain
from annotated_transformer.storage.history import History
from annotated_transformer.storage.model_card import model_card
from annotated_transformer.storage.shipped import find_model
from annotated_transformer.storage.weight_files import (
    check_fit,
    from_format_1,
    read_shapes,
    read_tensors,
    set_weights,
    weights,
)
from annotated_transformer.system.atomic_files import (
    read_json,
    read_some,
    remove,
    replacing,
    sha256,
    sync,
    unwritable,
    write_text,
)

__all__ = ["load_model", "read_config", "read_tokenizer", "save_model"]

FORMAT = 2  # those of format 1 are read, too
NEW = ".new"  # in a model folder: files on their way
SUMMED = ("model.safetensors", "tokenizer.model", "README.md")
MOST_TOKENIZER = 1 << 26  # bytes

Stamp = tuple[str, int, int]  # a file's name, inode and time


def save_model(
    folder: Path,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History,
) -> None:
    """Write a model folder; a model that is there is replaced as a whole.

    The weights are written in the precision that the model has. UserError,
    and what was there stays, if no builder has made the model, or if what is
    written could not be loaded.
    """
    builder = builder_of(model.config)
    count = sum(parameter.numel() for parameter in model.parameters())
    card = model_card(history, builder, asdict(model.config), count)
    with switched(folder) as new:
        with replacing(new / "model.safetensors") as part:
            save_file(weights(model), part)
        with replacing(new / "tokenizer.model") as part:
            part.write_bytes(tokenizer.model)
        write_text(new / "README.md", card)
        config = {
            "format": FORMAT,
            "builder": builder,
            "model": asdict(model.config),
            "history": history.as_json(),
            "sha256": {name: sha256(new / name) for name in SUMMED},
        }
        text = json.dumps(config, indent=1) + "\n"
        write_text(new / "config.json", text)
        try:
            with torch.random.fork_rng(devices=[]):
                read_model(new)
        except UserError as error:
            raise UserError(
                f"{folder}: not written, because what was to be written "
                f"could not be loaded: {error}"
            ) from error


@contextmanager
def switched(folder: Path) -> Iterator[Path]:
    """Give a folder for a model's files; on success they are the model's."""
    new = folder / NEW
    try:
        settle(folder)
        new.mkdir(parents=True, exist_ok=True)
        try:
            yield new
            (new / "config.json").replace(folder / "config.json")
            sync(folder)
        finally:
            settle(folder)
    except UserError as error:  # it names files of a folder that will go
        raise UserError(str(error).replace(str(new), str(folder))) from error
    except OSError as error:
        place = Path(error.filename2 or folder)  # where a file was to go
        raise unwritable(place, error) from error


def settle(folder: Path) -> None:
    """Bring files on their way to their places, if config.json names them."""
    new = folder / NEW
    if new.is_symlink() or not new.is_dir():
        remove(new)
        return
    try:
        sums = read_config(folder).sha256
    except UserError:
        sums = {}
    for name in SUMMED:
        if moving(folder, name, sums):
            (new / name).replace(folder / name)
    sync(folder)
    remove(new)


def moving(folder: Path, name: str, sums: dict[str, str]) -> bool:
    """True if a file that config.json names is still on its way."""
    path = folder / NEW / name
    return path.is_file() and sha256(path) == sums.get(name)


def load_model(
    folder: Path | str, device: torch.device | str = "cpu"
) -> tuple[EncoderDecoder, Tokenizer, History]:
    """The model in evaluation mode, its tokenizer, and its history.

    folder may be the name of a model that comes with the package, too.
    No number is read before its file has the SHA-256 that config.json names,
    and nothing is built that the weights do not fill; UserError says which
    file is missing, damaged or of another configuration.
    """
    folder = find_model(folder)
    while True:
        before = standing(folder)
        try:
            found = read_model(folder, device)
        except (UserError, FileNotFoundError):
            if before == standing(folder):
                raise
        else:
            if before[0] == standing(folder)[0]:
                return found
        # it was replaced meanwhile


def standing(folder: Path) -> tuple[list[Stamp], list[Stamp]]:
    """What changes when a model is replaced: config.json, and the way there.

    While files move, one that has been found may be gone when it is opened,
    or be another of the same name, on its way to the next model.
    """
    under_way = []
    with suppress(OSError):
        under_way = sorted((folder / NEW).iterdir())
    return stamps([folder / "config.json"]), stamps(under_way)


def stamps(paths: list[Path]) -> list[Stamp]:
    """Which files they are: a file that replaces one has another stamp."""
    found = []
    for path in paths:
        with suppress(OSError):
            status = path.stat()
            found.append((path.name, status.st_ino, status.st_mtime_ns))
    return found


def read_model(
    folder: Path, device: torch.device | str = "cpu"
) -> tuple[EncoderDecoder, Tokenizer, History]:
    """What load_model gives of a folder that stays as it is meanwhile."""
    config = read_config(folder)
    sizes, sums = config.model, config.sha256
    paths = [
        folder / NEW / name if moving(folder, name, sums) else folder / name
        for name in ("model.safetensors", "tokenizer.model")
    ]
    for path in paths:
        if not path.is_file():
            raise UserError(
                f"{folder}: {path.name} is missing; copy the whole folder "
                "again"
            )
    today = from_format_1 if config.format == 1 else str
    shapes = read_shapes(paths[0])
    check_fit(sizes, {today(x): shapes[x] for x in shapes}, paths[0])
    for path in paths:
        if sha256(path) != sums.get(path.name):
            raise UserError(
                f"{path}: not the file that config.json names "
                "(its SHA-256 differs); copy the whole folder again"
            )
    try:
        tokenizer = read_tokenizer(paths[1].parent)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{folder}: tokenizer.model is none ({error}); copy the folder "
            "again"
        ) from error
    if len(tokenizer) != sizes.vocab_size:
        raise UserError(
            f"{folder}: tokenizer.model has {len(tokenizer)} pieces, but "
            f"config.json says {sizes.vocab_size}; copy the folder again"
        )
    tensors, _ = read_tensors(paths[0])
    for path in paths:
        if path.parent != folder and not moving(folder, path.name, sums):
            raise UserError(f"{path}: moved while it was read; read it again")
    model = build(sizes)
    set_weights(model, {today(x): tensors[x] for x in tensors}, paths[0])
    try:
        return model.to(device).eval(), tokenizer, config.history
    except torch.OutOfMemoryError:
        raise  # which has a message of its own
    except (AssertionError, RuntimeError) as error:  # torch's, for no device
        raise UserError(
            f"device {str(device)!r} cannot be used ({error!s:.80}); choose "
            "another"
        ) from error


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder; OSError or ValueError if there is none."""
    data = read_some(folder / "tokenizer.model", MOST_TOKENIZER)
    if not data:
        raise ValueError("tokenizer.model is empty")
    try:
        return Tokenizer(data)
    except RuntimeError as error:  # sentencepiece's
        raise ValueError(f"tokenizer.model: {error}") from error


@dataclass(frozen=True)
class Config:
    """What config.json says of a model."""

    format: int
    builder: str
    model: Any  # the sizes that the builder takes
    history: History
    sha256: dict[str, str]  # of the other files


def read_config(folder: Path) -> Config:
    """The config.json of a model folder; UserError if there is none."""
    path = folder / "config.json"
    try:
        plain = read_json(path)
        if plain.get("format") == 1:
            plain["builder"] = "transformer"  # there was no other
            plain["history"] = plain.pop("about", None)
        elif plain.get("format") != FORMAT:
            raise ValueError(f"its format is {plain.get('format')!r:.40}")
        plain["model"] = read_sizes(plain.get("builder"), plain.get("model"))
        config: Config = from_plain(Config, plain)
        return config
    except OSError as error:
        raise UserError(
            f"{folder}: no trained model here (config.json: "
            f"{error.strerror}); name another folder, or train to the end "
            "with `resume=True`"
        ) from error
    except ValueError as error:
        raise UserError(
            f"{path}: not the configuration of a model ({error!s:.200}); "
            "copy the folder again"
        ) from error
