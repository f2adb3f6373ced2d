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
from dataclasses import asdict
from pathlib import Path
from typing import get_args, get_type_hints

import torch
from safetensors.torch import save_file

from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.storage.history import check_about, model_card
from annotated_transformer.storage.weight_files import (
    check_size,
    filled,
    from_format_1,
    read_tensors,
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

__all__ = ["check_search", "load_model", "save_model"]

FORMAT = 1
NEW = ".new"  # in a model folder: files on their way
SUMMED = ("model.safetensors", "tokenizer.model", "README.md")
MOST_SIZE = 1 << 40  # of whatever a configuration counts
MOST_TOKENIZER = 1 << 26  # bytes
MOST_SEARCH = 1000  # places of a beam, tokens in a row
LARGEST_ALPHA = 50  # powers of lengths beyond it may overflow
WRONG = (  # what a file that is not what it should be raises
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RuntimeError,
)


def save_model(
    folder: Path,
    model: Transformer,
    tokenizer: Tokenizer,
    about: dict,
) -> None:
    """Write a model folder; a model that is there is replaced as a whole.

    The weights are written in the precision that the model has. UserError,
    and what was there stays, if what is written could not be loaded.
    """
    card = model_card(about, model.config)
    with switched(folder) as new:
        with replacing(new / "model.safetensors") as part:
            save_file(weights(model), part)
        with replacing(new / "tokenizer.model") as part:
            part.write_bytes(tokenizer.model)
        write_text(new / "README.md", card)
        config = {
            "format": FORMAT,
            "model": asdict(model.config),
            "about": about,
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
        sums = read_config(folder)[1]
    except UserError:
        sums = {}
    for name in SUMMED:
        if moving(folder, name, sums):
            (new / name).replace(folder / name)
    sync(folder)
    remove(new)


def moving(folder: Path, name: str, sums: dict) -> bool:
    """True if a file that config.json names is still on its way."""
    path = folder / NEW / name
    return path.is_file() and sha256(path) == sums.get(name)


def load_model(
    folder: Path, device: torch.device | str = "cpu"
) -> tuple[Transformer, Tokenizer, dict]:
    """The model in evaluation mode, its tokenizer, and what it is.

    Nothing is parsed before its SHA-256 is that of config.json, and nothing
    is built that the files do not fill; UserError says which file is
    missing, damaged or of another configuration.
    """
    while True:
        config, new = standing(folder)
        try:
            found = read_model(folder, device)
        except (UserError, FileNotFoundError):
            if (config, new) == standing(folder):
                raise
        else:
            if config == standing(folder)[0]:
                return found
        # it was replaced meanwhile


def standing(folder: Path) -> tuple[tuple[int, int] | None, list[str]]:
    """What changes when a model is replaced: config.json, and the way there.

    While files move, one that has been found may be gone when it is opened.
    """
    config, new = None, []
    with suppress(OSError):
        status = (folder / "config.json").stat()
        config = status.st_ino, status.st_mtime_ns
    with suppress(OSError):
        new = sorted(path.name for path in (folder / NEW).iterdir())
    return config, new


def read_model(
    folder: Path, device: torch.device | str = "cpu"
) -> tuple[Transformer, Tokenizer, dict]:
    """What load_model gives of a folder that stays as it is meanwhile."""
    sizes, sums, about = read_config(folder)
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
    check_size(paths[0], sizes)
    for path in paths:
        if sha256(path) != sums.get(path.name):
            raise UserError(
                f"{path}: not the file that config.json names "
                "(its SHA-256 differs); copy the whole folder again"
            )
    tensors, _ = read_tensors(paths[0])
    tensors = {from_format_1(name): x for name, x in tensors.items()}
    try:
        tokenizer = read_tokenizer(paths[1].parent)
    except WRONG as error:
        raise UserError(
            f"{folder}: tokenizer.model is none ({error}); copy the folder "
            "again"
        ) from error
    if len(tokenizer) != sizes.vocab_size:
        raise UserError(
            f"{folder}: tokenizer.model has {len(tokenizer)} pieces, but "
            f"config.json says {sizes.vocab_size}; copy the folder again"
        )
    model = filled(sizes, tensors, paths[0])
    try:
        return model.to(device).eval(), tokenizer, about
    except torch.OutOfMemoryError:
        raise  # which has a message of its own
    except (AssertionError, RuntimeError) as error:  # torch's, for no device
        raise UserError(
            f"device {str(device)!r} cannot be used ({error!s:.80}); choose "
            "another"
        ) from error


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder; one of WRONG if there is none."""
    data = read_some(folder / "tokenizer.model", MOST_TOKENIZER)
    if not data:
        raise ValueError("tokenizer.model is empty")
    return Tokenizer(data)


def read_sizes(plain: dict) -> ModelConfig:
    """The sizes that JSON gives, each of its own type."""
    for name, value in plain.items():
        kind = get_type_hints(ModelConfig)[name]
        kinds = get_args(kind) or ((int, float) if kind is float else (kind,))
        if type(value) not in kinds or (
            type(value) is int and value > MOST_SIZE
        ):
            raise TypeError(f"{name} is {value!r:.40}")
    return ModelConfig(**plain)


def check_search(
    beam: object = 1, alpha: object = 0.0, no_repeat: object = 0
) -> None:
    """ValueError for options of a search that are none."""
    whole = type(beam) is int and type(no_repeat) is int
    known = whole and isinstance(alpha, int | float)
    if not known or not (
        1 <= beam <= MOST_SEARCH
        and 0 <= alpha <= LARGEST_ALPHA
        and 0 <= no_repeat <= MOST_SEARCH
    ):
        raise ValueError(
            f"a search with beam {beam!r:.40}, alpha {alpha!r:.40} and "
            f"no_repeat {no_repeat!r:.40}: beam is in 1..{MOST_SEARCH}, alpha "
            f"in 0..{LARGEST_ALPHA}, no_repeat in 0..{MOST_SEARCH}"
        )


def read_config(folder: Path) -> tuple[ModelConfig, dict, dict]:
    """The sizes, checksums and history that a model's config.json has."""
    path = folder / "config.json"
    try:
        config = read_json(path)
        if config["format"] != FORMAT:
            raise ValueError(f"its format is {config['format']!r:.40}")
        sizes = read_sizes(config["model"])
        about = dict(config["about"])
        check_search(**about.get("search", {}))
        check_about(about, sizes)
        return sizes, dict(config["sha256"]), about
    except OSError as error:
        raise UserError(
            f"{folder}: no trained model here (config.json: "
            f"{error.strerror}); name another folder, or train to the end "
            "with `resume=True`"
        ) from error
    except WRONG as error:
        raise UserError(
            f"{path}: not the configuration of a model ({error!r:.200}); "
            "copy the folder again"
        ) from error
