"""Model folders as a stranger might make them, to harm who loads them."""

import json
import os
import pickle
import resource
import shutil
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from mutants import Found, attempt, mend_sums
from safetensors.torch import load_file, save_file
from torch import Tensor

from annotated_transformer.storage.model_folder import load_model

Change = Callable[[Path], object]
Weights = dict[str, Tensor]
CONFIG, PIECES = "config.json", "tokenizer.model"
WEIGHTS = "model.safetensors"


def sizes(builder: object = "transformer", **changes: object) -> Change:
    """Claim other sizes, and perhaps another builder, in config.json."""

    def change(folder: Path) -> None:
        path = folder / CONFIG
        config = json.loads(path.read_text())
        if builder != "transformer":
            vocab_size = config["model"]["vocab_size"]
            config |= {"builder": builder, "model": {"vocab_size": vocab_size}}
        config["model"] |= changes
        path.write_text(json.dumps(config))

    return change


def claims(**changes: object) -> Change:
    """Put other entries into config.json."""

    def change(folder: Path) -> None:
        config = json.loads((folder / CONFIG).read_text())
        (folder / CONFIG).write_text(json.dumps(config | changes))

    return change


def text(data: str | bytes, name: str = CONFIG) -> Change:
    """Put other bytes in the place of a file."""
    data = data.encode() if isinstance(data, str) else data
    return lambda folder: (folder / name).write_bytes(data)


def tensors(change: Callable[[Weights], Weights]) -> Change:
    """Change the weights, by name."""

    def change_weights(folder: Path) -> None:
        path = folder / WEIGHTS
        save_file(change(load_file(path)), path)

    return change_weights


def special(make: Callable[[Path], object], name: str) -> Change:
    """Put something that is not a file in the place of a file."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def header(data: bytes, size: int | None = None) -> Change:
    """Weights whose header is this, of the size that they say it has."""
    size = len(data) if size is None else size
    return text(size.to_bytes(8, "little") + data + bytes(8), WEIGHTS)


LARGE = b'{"a": {"dtype":"F32","shape":[99999,99999],"data_offsets":[0,8]}}'
OTHER, BROKEN = "not those of this model (", "not a whole safetensors file ("
NO_CONFIG = "not the configuration of a model ("
RECURRENT = "recurrent_translator"
# Each by its name: what is done to a good folder, and what its refusal says.
HOSTILE: dict[str, tuple[Change, str]] = {
    "wide": (sizes(d_model=10**9), OTHER),
    "many words": (sizes(vocab_size=10**12), OTHER),
    "many heads": (sizes(heads=10**9, d_k=1, d_v=1), OTHER),
    "long": (sizes(positions="learned", max_length=10**9), OTHER),
    "many groups": (sizes(kv_heads=10**9), NO_CONFIG),
    "other parts": (sizes(norm="rms", feed_forward="swiglu"), OTHER),
    "wide LSTM": (sizes(RECURRENT, width=10**12, d_model=10**12), OTHER),
    "another builder": (sizes(RECURRENT), OTHER),
    "unknown builder": (sizes("os.system"), NO_CONFIG + "`builder='os.sys"),
    "deep": (sizes(decoder_layers=10**6), NO_CONFIG + "`decoder_layers=100"),
    "no layers": (sizes(layers=0), "`layers=0`: must be from 1"),
    "another format": (claims(format=3), "its format is 3"),
    "no sums": (claims(sha256={}), "its SHA-256 differs"),
    "no history": (claims(history={}), "history.command is missing"),
    "truth for a number": (sizes(layers=True), "`model.layers=True`: must be"),
    "unknown name": (sizes(wings=2), "there is no field 'model.wings'"),
    "deep JSON": (text("[" * 10**5), "nested too deeply"),
    "huge JSON": (text(" " * 2**21), "more than 1,048,576 bytes"),
    "not UTF-8": (text(b'{"format": "\xff\xfe"}'), NO_CONFIG),
    "pipe": (special(os.mkfifo, CONFIG), "no trained model here"),
    "pipe of pieces": (special(os.mkfifo, PIECES), "not a file"),
    "endless": (
        special(lambda x: x.symlink_to("/dev/zero"), WEIGHTS),
        "it is no file",
    ),
    "no weights": (lambda x: (x / WEIGHTS).unlink(), "No such file"),
    "claims": (header(LARGE), BROKEN),
    "long header": (header(b"", 2**40), BROKEN),
    "pickle": (text(pickle.dumps({"a": 1}), WEIGHTS), BROKEN),
    "names": (tensors(lambda t: {f"../{x}": t[x] for x in t}), OTHER),
    "double": (tensors(lambda t: {x: t[x].double() for x in t}), "holds F64"),
    "infinite": (tensors(lambda t: {x: t[x] / 0 for x in t}), "not finite"),
    "pieces": (text("garbage", PIECES), f"{PIECES}: "),
    "no pieces": (text("", PIECES), "it is empty"),
}


def hostile(good: Path, scratch: Path) -> Found:
    """Load each hostile copy, its checksums mended, in little memory."""
    if sys.platform == "linux":
        used = int(Path("/proc/self/statm").read_text().split()[0]) << 12
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, -1))

    def tries() -> Iterable[tuple[str, Callable[[], object]]]:
        for name, (change, _) in HOSTILE.items():
            folder = scratch / name
            shutil.copytree(good, folder)
            change(folder)
            mend_sums(folder)
            yield name, partial(load_model, folder)

    return attempt(tries())
