"""The command that takes a model to another program."""

from pathlib import Path
from typing import Literal

from typer import Argument, Option

from ..system.console import put
from .options import MODEL

Format = Literal["huggingface", "ctranslate2", "onnx"]
Quantization = Literal["int8", "int8_float16", "int16", "float16", "bfloat16"]


def export(
    model: Path = MODEL,
    folder: Path = Argument(help="the folder to make"),
    to: Format = Option(help="whose program will read it"),
    quantization: Quantization | None = Option(
        None,
        help="smaller numbers in the file, for CTranslate2; int8 makes it a "
        "third as large",
    ),
) -> None:
    """Write a model in the format of another program.

    FOLDER has all that the program needs, the subwords included, and a
    README.md with an example.
    """
    from ..convert.export import export_model
    from ..storage.model_folder import load_model

    export_model(folder, to, *load_model(model), quantization=quantization)
    put(f"{folder}: see its README.md\n")
