"""A folder for another program: whole or not there, with a model card."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import EOS
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.storage.history import History
from annotated_transformer.storage.model_card import CONFIG, model_card
from annotated_transformer.system.atomic_files import new_folder

__all__ = ["exported_folder"]

CARDS = Path(__file__).parent / "cards"


@contextmanager
def exported_folder(
    folder: Path | str,
    library: str,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None,
    **values: object,
) -> Iterator[Path]:
    """Give a folder for a library's files; tokenizer.model and a card join.

    The card shows how to use it there, with these values. UserError if there
    is something of that name, or it cannot be written.
    """
    kind = "writer" if model.source is None else "translator"
    use = (CARDS / f"{library}_{kind}.md").read_text("utf-8")
    head = f"library_name: {library}\n"
    if history and history.data.source:
        head += f"language: [{history.data.source}, {history.data.target}]\n"
    about = model_card(model, history, {}).removesuffix(CONFIG)
    use = use.format(eos=tokenizer.vocabulary[EOS], **values)
    with new_folder(Path(folder)) as new:
        yield new
        (new / "tokenizer.model").write_bytes(tokenizer.model)
        card = f"---\n{head}---\n{about}\n{use}"
        (new / "README.md").write_bytes(card.encode())
