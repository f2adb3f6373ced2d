"""Model folders as a stranger might make them, to harm who loads them."""

import json
import os
import pickle
import resource
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from mutants import Found, attempt, mend_sums
from safetensors.torch import load_file, save_file

from annotated_transformer.storage.model_folder import load_model

Change = Callable[[Path], object]


def sizes(**changes: object) -> Change:
    """Claim other sizes in config.json."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        config = json.loads(path.read_text())
        config["model"] |= changes
        path.write_text(json.dumps(config))

    return change


def built(builder: object, **model: object) -> Change:
    """Claim another builder, and its sizes, in config.json."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        config = json.loads(path.read_text())
        history = config.pop("about", None) or config["history"]
        config |= {"format": 2, "builder": builder, "history": history}
        if model:
            few = {"vocab_size": config["model"]["vocab_size"]}
            config["model"] = few | model
        path.write_text(json.dumps(config))

    return change


def text(data: str | bytes, name: str = "config.json") -> Change:
    """Put other bytes in the place of a file."""
    data = data.encode() if isinstance(data, str) else data
    return lambda folder: (folder / name).write_bytes(data)


def tensors(change: Callable[[dict], dict]) -> Change:
    """Change the weights, by name."""

    def change_weights(folder: Path) -> None:
        path = folder / "model.safetensors"
        save_file(change(load_file(path)), path)

    return change_weights


def special(make: Callable[[Path], object], name: str) -> Change:
    """Put something that is not a file in the place of a file."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def padded(data: bytes) -> Change:
    """Other bytes for the weights, as many as they were."""

    def change(folder: Path) -> None:
        path = folder / WEIGHTS
        path.write_bytes(data.ljust(path.stat().st_size, b"\0"))

    return change


def header(plain: dict) -> bytes:
    """A safetensors file that claims this and has eight bytes."""
    data = json.dumps(plain).encode()
    return len(data).to_bytes(8, "little") + data + bytes(8)


WEIGHTS = "model.safetensors"
LARGE = {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 8]}
HOSTILE = {
    "wide": sizes(d_model=10**9),
    "deep": sizes(layers=10**6),
    "deeper": sizes(layers=10**999),
    "many words": sizes(vocab_size=10**12),
    "many heads": sizes(heads=10**9, d_k=1, d_v=1),
    "long": sizes(positions="learned", max_length=10**9),
    "text for a number": sizes(layers="2"),
    "fraction": sizes(d_model=8.0),
    "truth for a number": sizes(layers=True),
    "negative": sizes(d_ff=-8),
    "not a number": sizes(dropout=float("nan")),
    "text for truth": sizes(pre_norm="no"),
    "nested": sizes(heads={"heads": [2]}),
    "nothing": sizes(d_ff=None),
    "unknown name": sizes(wings=2),
    "no builder": built(None),
    "unknown builder": built("os.system"),
    "another builder": built("modern_transformer"),
    "recurrent": built("recurrent_translator"),
    "deep LSTM": built("recurrent_translator", layers=10**7),
    "wide LSTM": built("recurrent_translator", width=10**12, d_model=10**12),
    "deep convolutions": built("convolutional_translator", layers=10**7),
    "wide convolutions": built("convolutional_translator", places=10**12),
    "many groups": built("modern_transformer", heads=10**9, groups=10**9),
    "deep decoder": sizes(decoder_layers=10**6),
    "deep JSON": text("[" * 10**5),
    "deep object": text('{"a":' * 10**5),
    "name twice": text('{"format": 1, "format": 1}'),
    "huge JSON": text(" " * 2**21),
    "long number": text('{"format": ' + "1" * 9999 + "}"),
    "not UTF-8": text(b'{"format": "\xff\xfe"}'),
    "empty JSON": text(""),
    "folder": special(Path.mkdir, "config.json"),
    "pipe": special(os.mkfifo, "config.json"),
    "pipe of pieces": special(os.mkfifo, "tokenizer.model"),
    "loop": special(lambda path: path.symlink_to(path), "config.json"),
    "endless": special(lambda path: path.symlink_to("/dev/zero"), WEIGHTS),
    "sparse": lambda folder: os.truncate(folder / WEIGHTS, 10**12),
    "short": lambda folder: os.truncate(folder / WEIGHTS, 999),
    "claims": padded(header({"a": LARGE})),
    "long header": padded(b"\xff" * 7),
    "longest header": padded((2**40).to_bytes(8, "little")),
    "names": tensors(lambda t: {f"../../{name}": t[name] for name in t}),
    "shapes": tensors(lambda t: {name: t[name].flatten() for name in t}),
    "double": tensors(lambda t: {name: t[name].double() for name in t}),
    "infinite": tensors(lambda t: {name: t[name] / 0 for name in t}),
    "pickle": padded(pickle.dumps({"a": 1})),
    "pieces": text("garbage", "tokenizer.model"),
    "no pieces": text("", "tokenizer.model"),
}


def hostile(good: Path, scratch: Path) -> Found:
    """Load each hostile copy, its checksums mended, in little memory."""
    if sys.platform == "linux":
        used = int(Path("/proc/self/statm").read_text().split()[0]) << 12
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, -1))

    def tries() -> Iterable[tuple[str, Callable[[], object]]]:
        for name, change in HOSTILE.items():
            folder = scratch / name
            shutil.copytree(good, folder)
            change(folder)
            if name != "sparse":
                mend_sums(folder)
            yield name, lambda folder=folder: load_model(folder)

    return attempt(tries())
