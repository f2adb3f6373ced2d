"""What a run begins with: new weights, or those of a trained model."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch

from ..data import Tokenizer
from ..embedding import UNK, TokenEmbedding
from ..errors import UserError
from ..model import EncoderDecoder
from ..storage.history import Origin
from ..storage.model_folder import load_model, read_config
from .recipes import Recipe


@dataclass(frozen=True)
class Start:
    """What a training begins with: by default weights and subwords are new.

    A trained model's folder brings weights, sizes and subwords; new_subwords
    are learned from the corpus instead, and take over the vectors of those
    that it has. A tokenizer, or the path of a sentencepiece model, replaces
    subwords learned from the corpus: its ids of padding, beginning, end and
    the unknown must be 0, 1, 2 and 3. A model, which may have parts of your
    own, brings weights and sizes, and stays as it is: Translator.load brings
    what is learned into one that is built in the same way.
    """

    folder: Path | str | None = None
    new_subwords: bool = False
    tokenizer: Tokenizer | Path | str | None = None
    model: EncoderDecoder | None = None

    @property
    def fine_tunes(self) -> bool:
        """True if a trained model goes on with its subwords."""
        return self.folder is not None and not self.new_subwords

    def check(self, recipe: Recipe) -> None:
        """UserError for what a run that begins so cannot be asked for."""
        trained = self.folder is not None
        if trained and (self.tokenizer is not None or self.model is not None):
            raise UserError(
                f"{self.folder}: a trained model has subwords of its own; "
                "leave it out, or the model and the tokenizer that are passed"
            )
        if recipe.labs.risk and not trained and self.model is None:
            raise UserError(
                "`risk` learns from a model's own translations, so it needs a "
                "trained one to begin with: add `start=MODEL`"
            )
        if recipe.labs.adapters and not self.fine_tunes:
            raise UserError(
                "`adapters` change a trained model a little, and keep its "
                "subwords: add `start=MODEL`, and leave out `new_subwords`"
            )
        if self.new_subwords and not trained:
            raise UserError(
                "`new_subwords` is for a run that begins with a model; a new "
                "one always learns its own: leave it out, or add `start=MODEL`"
            )


NEW = Start()


class Parent(NamedTuple):
    """A trained model that a run starts from."""

    model: EncoderDecoder
    tokenizer: Tokenizer
    origin: Origin  # what the history of the run says of it


def start_from(
    folder: Path | str, recipe: Recipe, new_subwords: bool
) -> tuple[Parent, Recipe]:
    """A trained model to start from, and the recipe with the model's sizes.

    Dropout is the recipe's own, and so are subwords that are to be new.
    UserError if there is no such model.
    """
    model, tokenizer, known = load_model(folder)
    own = {
        name: getattr(recipe.model, name)
        for name in ("dropout", "attention_dropout")
        if hasattr(model.config, name) and hasattr(recipe.model, name)
    }
    recipe = replace(recipe, model=replace(model.config, **own))
    if not new_subwords:
        kind = known.recipe.get("tokenizer", "given") if known else "given"
        recipe = replace(recipe, vocab_size=len(tokenizer), tokenizer=kind)
    files = read_config(folder).sha256
    origin = Origin("no history was given", files=files)
    if known is not None:
        origin = Origin(
            known.command, known.data, known.result, known.start, files
        )
    return Parent(model, tokenizer, origin), recipe


@torch.no_grad()
def copy_parent_weights(
    model: EncoderDecoder, tokenizer: Tokenizer, parent: Parent
) -> None:
    """Give a model the weights of its parent.

    The vectors of subwords that both have go with them; the vectors of the
    others stay as they were drawn.
    """
    name_of, here = tokenizer.pieces.id_to_piece, range(len(tokenizer))
    row_of = parent.tokenizer.pieces.piece_to_id
    rows = {row: row_of(name_of(row)) for row in here}  # UNK if there is none
    own = [row for row in here if rows[row] != UNK or row == UNK]
    theirs = [rows[row] for row in own]
    given = parent.model.state_dict()
    of_subwords = {
        f"{name}.weight"
        for name, part in model.named_modules(remove_duplicate=False)
        if isinstance(part, TokenEmbedding)
    }
    for name, weight in model.state_dict().items():
        if name in of_subwords:
            weight[own] = given[name][theirs].to(weight.device)
        else:
            weight.copy_(given[name])
