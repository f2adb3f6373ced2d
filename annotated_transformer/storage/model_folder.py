"""A trained model as a folder: safetensors and JSON, never pickles.

A folder holds a model exactly when its config.json is there, which has the
sums of the other files. A new model is written into a folder of its own
there, and read back. Then config.json is removed, the other files move to
their places, and the new config.json comes last, by one rename.
"""

import json
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from ..data import Tokenizer
from ..errors import UserError
from ..model import EncoderDecoder
from ..system.atomic_files import read_json, read_some, replacing, sha256
from .builders import build, find_builder, outline, own_code, read_sizes
from .dataclass_json import from_plain
from .history import History
from .model_card import model_card
from .pretrained import find_model
from .weight_files import (
    WHOLE,
    check_fit,
    damaged,
    read_tensors,
    set_weights,
    weights,
)

FORMAT = 2
SUMMED = ("model.safetensors", "tokenizer.model", "README.md")
MOST_TOKENIZER = 1 << 26  # bytes


@dataclass(frozen=True)
class Config:
    """What config.json says of a model."""

    format: int
    builder: str | None  # None: the model was composed by hand
    model: Any  # the sizes that the builder takes
    sha256: dict[str, str]  # of the other files
    own: dict[str, str] = field(default_factory=dict)  # see own_code
    history: History | None = None

    @property
    def languages(self) -> tuple[str, str]:
        """Of source and target; "" where no history tells them."""
        data = self.history and self.history.data
        return (data.source, data.target) if data else ("", "")


def save_model(
    folder: Path | str,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None = None,
) -> None:
    """Write a model folder; a model that is there is replaced as a whole.

    The weights are written in the precision that the model has. Whose
    history it is cannot be seen in the weights: leave it out once you have
    changed them, and the model card says that none was given. A model or a
    tokenizer with code of your own is loaded by passing it to load_model.
    UserError, and what was there stays, if what is written could not be
    loaded.
    """
    folder = Path(folder)
    own = own_code(model, tokenizer)
    builder = find_builder(model.config)
    sizes = model.config if builder else {}
    with replacing(folder, *SUMMED, "config.json") as new:
        save_file(weights(model), new / "model.safetensors")
        (new / "tokenizer.model").write_bytes(tokenizer.model)
        card = model_card(model, tokenizer, history, own)
        (new / "README.md").write_bytes(card.encode())
        sums = {name: sha256(new / name) for name in SUMMED}
        config = Config(FORMAT, builder, sizes, sums, own, history)
        text = json.dumps(asdict(config), indent=1) + "\n"
        (new / "config.json").write_bytes(text.encode())
        try:
            with torch.random.fork_rng(devices=[]):
                load_model(
                    new,
                    model=deepcopy(model) if "model" in own else None,
                    tokenizer=tokenizer if "tokenizer" in own else None,
                )
        except UserError as error:
            why = str(error).replace(str(new), str(folder)).partition(";")[0]
            raise UserError(
                f"not written, since it could not be loaded again: {why}"
            ) from error


def load_model(
    folder: Path | str,
    device: torch.device | str = "cpu",
    model: EncoderDecoder | None = None,
    tokenizer: Tokenizer | None = None,
) -> tuple[EncoderDecoder, Tokenizer, History | None]:
    """The model in evaluation mode, its tokenizer, and its history, if known.

    folder may be the name of a model that comes with the package, too. What
    was saved with code of your own is passed: a model that was built in the
    same way, which gets the weights, and the tokenizer. Nothing is built that
    the weights do not fill; UserError says which file is missing, damaged or
    of another configuration.
    """
    folder = find_model(folder)
    config = read_config(folder)
    path, pieces = folder / "model.safetensors", folder / "tokenizer.model"
    if (own := own_code(model, tokenizer)) != config.own:
        saved, passed = (", ".join(x.values()) for x in (config.own, own))
        raise UserError(
            f"{folder}: saved with custom code ({saved or 'none'})"
            f" and loaded with other code ({passed or 'none'}); no file brings"
            " code: in Python make model and tokenizer as they were made, and "
            "pass them (model=..., tokenizer=...)"
        )
    tensors, _ = read_tensors(path)
    if tokenizer is None:
        tokenizer = read_tokenizer(pieces)
    elif pieces.is_file() and pieces.read_bytes() != tokenizer.model:
        raise UserError(
            f"{folder}: the {type(tokenizer).__name__} that is passed is not "
            "the tokenizer that the model was trained with; pass that one"
        )
    for file in (path, pieces):
        if sha256(file) != config.sha256.get(file.name):
            told = "not the file that config.json names (its SHA-256 differs)"
            raise damaged(file, told)
    if model is None:
        check_fit(lambda: outline(config.model), tensors, path)
        if len(tokenizer) != config.model.vocab_size:
            told = f"it has {len(tokenizer)} pieces, but config.json says "
            raise damaged(pieces, told + str(config.model.vocab_size))
        model = build(config.model)
    set_weights(model, tensors, path)
    return model.to(device).eval(), tokenizer, config.history


def read_tokenizer(path: Path, advice: str = WHOLE) -> Tokenizer:
    """The tokenizer in a file; UserError with the advice if it has none."""
    try:
        data = read_some(path, MOST_TOKENIZER)
        if not data:
            raise ValueError("it is empty")
        return Tokenizer(data)
    except (OSError, ValueError, RuntimeError) as error:  # sentencepiece's
        raise UserError(
            f"{path}: no sentencepiece model ({error!s:.200}); {advice}"
        ) from error


def read_config(folder: Path | str) -> Config:
    """The config.json of a folder or a shipped model; UserError if none."""
    folder = find_model(folder)
    path = folder / "config.json"
    try:
        plain = read_json(path)
        if plain.get("format") != FORMAT:
            raise ValueError(f"its format is {plain.get('format')!r:.40}")
        builder = plain.get("builder")
        if builder is not None:
            plain["model"] = read_sizes(builder, plain.get("model"))
        config: Config = from_plain(Config, plain)
        if builder is None and "model" not in config.own:
            raise ValueError("it names no builder")
        return config
    except OSError as error:
        advice = "name another folder"
        if (folder / "checkpoints").is_dir():
            advice = "train to the end with `resume=True`, which makes it"
        raise UserError(
            f"{folder}: no trained model here (config.json: "
            f"{error.strerror}); {advice}"
        ) from error
    except (ValueError, RecursionError) as error:
        told = f"not the configuration of a model ({error!s:.150})"
        raise damaged(path, told) from error
