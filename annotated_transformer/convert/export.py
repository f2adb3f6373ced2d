"""A model in a folder for another program: written whole, with a card."""

from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from pkgutil import resolve_name
from warnings import catch_warnings

from ..data import Tokenizer
from ..errors import UserError
from ..model import EncoderDecoder
from ..storage.builders import own_code
from ..storage.history import History
from ..storage.model_card import CONFIG, model_card
from ..system.atomic_files import replacing

CARDS = Path(__file__).parent / "cards"


def export_model(
    folder: Path | str,
    to: str,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None = None,
    quantization: str | None = None,
) -> None:
    """Write a new folder that another program loads, with all that it needs.

    The program is huggingface, ctranslate2 or onnx. The folder has the model,
    tokenizer.model, and a README.md with an example. quantization, which only
    CTranslate2 has, is the kind of number in the file, such as int8; else it
    is float32. UserError for a model or a tokenizer that has no counterpart
    there, and if the folder exists or cannot be written.
    """
    folder = Path(folder)
    if folder.exists():
        raise UserError(f"{folder}: exists already; choose another name")
    if own := own_code(None, tokenizer):
        raise UserError(
            f"{own['tokenizer']} is no tokenizer of this package, so other "
            "programs do not have its code; train one with train_tokenizer"
        )
    if quantization and to != "ctranslate2":
        raise UserError("`quantization` is for CTranslate2; leave it out")
    options = {"quantization": quantization} if quantization else {}
    write = resolve_name(f"annotated_transformer.convert.{to}:write_{to}")
    with replacing(folder.parent, folder.name) as parent:
        new = parent / folder.name
        new.mkdir()
        with redirect_stderr(StringIO()), catch_warnings(action="ignore"):
            values = write(new, model, tokenizer, history, **options)
        (new / "tokenizer.model").write_bytes(tokenizer.model)
        kind = "writer" if model.source is None else "translator"
        parts = f"{to}_{kind}.md", f"{kind}.md"
        use = "".join((CARDS / part).read_text("utf-8") for part in parts)
        card = model_card(model, tokenizer, history, {}).removesuffix(CONFIG)
        text = f"{card}\n{use.format(**values)}"
        (new / "README.md").write_bytes(text.encode())
