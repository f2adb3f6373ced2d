"""A trained model as a folder: safetensors and JSON, never pickles.

A folder holds a model exactly when its config.json is there, which has the
sums of the other files. A new model is written into the folder NEW, and read
back. Then config.json is removed, the other files move to their places, and
the new config.json comes last, by one rename.
"""

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.storage.builders import (
    build,
    builder_of,
    check_parts,
    read_sizes,
)
from annotated_transformer.storage.dataclass_json import from_plain
from annotated_transformer.storage.history import History
from annotated_transformer.storage.model_card import model_card
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.storage.weight_files import (
    check_fit,
    damaged,
    read_shapes,
    read_tensors,
    set_weights,
    signs_of,
    weights,
)
from annotated_transformer.system.atomic_files import (
    finish,
    read_json,
    read_some,
    remove,
    sha256,
    sync,
    unwritable,
)

__all__ = ["load_model", "read_config", "read_tokenizer", "save_model"]

FORMAT = 2
NEW = ".new"  # in a model folder: files that are being written
SUMMED = ("model.safetensors", "tokenizer.model", "README.md")
WHOLE = (*SUMMED, "config.json")  # in the order in which they appear
MOST_TOKENIZER = 1 << 26  # bytes


def save_model(
    folder: Path | str,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None = None,
) -> None:
    """Write a model folder; a model that is there is replaced as a whole.

    The weights are written in the precision that the model has. The history
    is that of the training that made these weights; without one, the model
    card says that none was given. UserError, and what was there stays, for
    a model that no builder makes, for the history or the subwords of another
    model, or if what is written could not be loaded.
    """
    folder = Path(folder)
    check_parts(model)
    builder, sizes = builder_of(model.config), asdict(model.config)
    if len(tokenizer) != model.config.vocab_size:
        raise UserError(
            f"the tokenizer has {len(tokenizer)} pieces, and the model knows "
            f"{model.config.vocab_size}: save it with its own"
        )
    config = {"format": FORMAT, "builder": builder, "model": sizes}
    if history is not None:
        if history.signs not in (None, signs_of(model)):
            raise UserError(
                "this history is of other weights: give the history of the "
                "training that made these, or none"
            )
        config["history"] = history.as_json()
    count = sum(parameter.numel() for parameter in model.parameters())
    with switched(folder) as new:
        save_file(weights(model), new / "model.safetensors")
        (new / "tokenizer.model").write_bytes(tokenizer.model)
        card = model_card(history, builder, sizes, count)
        (new / "README.md").write_bytes(card.encode())
        config["sha256"] = {name: sha256(new / name) for name in SUMMED}
        text = json.dumps(config, indent=1) + "\n"
        (new / "config.json").write_bytes(text.encode())
        try:
            with torch.random.fork_rng(devices=[]):
                load_model(new)
        except UserError as error:
            raise UserError(
                f"{folder}: not written, because what was to be written "
                f"could not be loaded: {error}"
            ) from error


@contextmanager
def switched(folder: Path) -> Iterator[Path]:
    """Give a folder for a model's files; on success they are the model's."""
    new, begun = folder / NEW, not folder.exists()
    try:
        try:
            remove(new)
            new.mkdir(parents=True)
            yield new
            for path in new.iterdir():
                finish(path)
            for name in WHOLE:
                if (folder / name).is_dir():  # which no file can replace
                    told = os.strerror(errno.EISDIR)
                    raise OSError(errno.EISDIR, told, str(folder / name))
            (folder / "config.json").unlink(missing_ok=True)
            sync(folder)
            for name in WHOLE:
                (new / name).replace(folder / name)
                sync(folder)
        finally:
            remove(new)
            if begun:
                with suppress(OSError):  # it is not empty: all went well
                    folder.rmdir()
    except UserError as error:  # it names files of a folder that is gone
        raise UserError(str(error).replace(str(new), str(folder))) from error
    except SafetensorError as error:
        raise unwritable(folder / "model.safetensors", error) from error
    except OSError as error:
        named = str(error.filename2 or error.filename or folder)
        named = named.replace(str(new), str(folder))
        raise unwritable(Path(named), error) from error


def load_model(
    folder: Path | str, device: torch.device | str = "cpu"
) -> tuple[EncoderDecoder, Tokenizer, History | None]:
    """The model in evaluation mode, its tokenizer, and its history, if known.

    folder may be the name of a model that comes with the package, too.
    No number is read before its file has the SHA-256 that config.json names,
    and nothing is built that the weights do not fill; UserError says which
    file is missing, damaged or of another configuration.
    """
    folder = find_model(folder)
    config = read_config(folder)
    path = folder / "model.safetensors"
    for needed in (path, folder / "tokenizer.model"):
        if not needed.exists():
            raise damaged(needed, "it is missing")
    check_fit(config.model, read_shapes(path), path)
    check_sum(path, sha256(path), config)
    tokenizer = read_pieces(folder, config)
    tensors, _ = read_tensors(path)
    model = build(config.model)
    set_weights(model, tensors, path)
    history = config.history
    if history is not None:
        history = replace(history, signs=signs_of(model))
    try:
        return model.to(device).eval(), tokenizer, history
    except torch.OutOfMemoryError:
        raise  # which has a message of its own
    except (AssertionError, RuntimeError) as error:  # torch's, for no device
        raise UserError(
            f"device {str(device)!r} cannot be used ({error!s:.80}); choose "
            "another"
        ) from error


def read_pieces(folder: Path, config: "Config") -> Tokenizer:
    """The tokenizer that config.json means; UserError if it is not there."""
    path = folder / "tokenizer.model"
    try:
        tokenizer = read_tokenizer(folder)
    except (OSError, ValueError) as error:
        raise damaged(path, getattr(error, "strerror", error)) from error
    check_sum(path, hashlib.sha256(tokenizer.model).hexdigest(), config)
    if len(tokenizer) != config.model.vocab_size:
        raise damaged(
            path,
            f"it has {len(tokenizer)} pieces, but config.json says "
            f"{config.model.vocab_size}",
        )
    return tokenizer


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
    sha256: dict[str, str]  # of the other files
    history: History | None = None

    @property
    def languages(self) -> tuple[str, str]:
        """Of source and target; "" where no history tells them."""
        data = self.history and self.history.data
        return (data.source, data.target) if data else ("", "")


def read_config(folder: Path) -> Config:
    """The config.json of a model folder; UserError if there is none."""
    path = folder / "config.json"
    try:
        plain = read_json(path)
        if plain.get("format") != FORMAT:
            raise ValueError(f"its format is {plain.get('format')!r:.40}")
        plain["model"] = read_sizes(plain.get("builder"), plain.get("model"))
        config: Config = from_plain(Config, plain)
        return config
    except OSError as error:
        advice = "name another folder"
        if (folder / "checkpoints").is_dir():
            advice = "train to the end with `resume=True`, which makes it"
        raise UserError(
            f"{folder}: no trained model here (config.json: "
            f"{error.strerror}); {advice}"
        ) from error
    except ValueError as error:
        raise damaged(
            path, f"not the configuration of a model ({error!s:.150})"
        ) from error


def check_sum(path: Path, found: str, config: Config) -> None:
    """UserError for a file that config.json does not name."""
    if found != config.sha256.get(path.name):
        raise damaged(
            path, "not the file that config.json names (its SHA-256 differs)"
        )
