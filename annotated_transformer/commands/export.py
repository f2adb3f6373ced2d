"""The command that takes a model to another program."""

from pathlib import Path
from pkgutil import resolve_name
from typing import Literal

from typer import Argument, Option

from annotated_transformer.commands.options import described
from annotated_transformer.errors import UserError
from annotated_transformer.system.console import put

__all__ = ["export"]

# each has a module in convert, with a function save_... of its name
Format = Literal["huggingface", "ctranslate2", "onnx"]
Quantization = Literal["int8", "int8_float16", "int16", "float16", "bfloat16"]


@described(
    folder=Argument(help="the folder to make"),
    to=Option(help="whose program will read it"),
    quantization=Option(
        help="smaller numbers in the file, for CTranslate2; int8 makes it a "
        "third as large"
    ),
)
def export(
    model: Path,
    folder: Path,
    to: Format,
    quantization: Quantization | None = None,
) -> None:
    """Write a model in the format of another program.

    FOLDER has all that the program needs, the subwords included, and a
    README.md with an example.
    """
    from annotated_transformer.storage.model_folder import load_model

    if quantization and to != "ctranslate2":
        raise UserError("--quantization is for --to ctranslate2; leave it out")
    options = {"quantization": quantization} if quantization else {}
    save = resolve_name(f"annotated_transformer.convert.{to}:save_{to}")
    save(folder, *load_model(model), **options)
    put(f"{folder}: see its README.md\n")
