"""The model card: the README.md of a model folder.

It shows what the history has; a shipped model's scores were put there by
tools/pack_model.py.
"""

from dataclasses import asdict
from textwrap import fill

from ..data import Tokenizer
from ..embedding import UNK
from ..errors import printable
from ..model import EncoderDecoder
from .builders import find_builder
from .history import Data, Environment, History

# what the texts allow that models were trained on
MULTI30K_LICENCE = (
    "Multi30k is for research and education only: "
    "its captions come from Flickr30k."
)
MADE_HERE = "The text was made by this package and is under its licence."
TEXT_LICENCES = {
    "multi30k": MULTI30K_LICENCE,
    "builtin": MADE_HERE,
    "pronouns": MADE_HERE,
    "copy": MADE_HERE,
    "parsing": MADE_HERE,
    "plays": "The text, Shakespeare's plays, is in the public domain.",
}
CONFIG = "`config.json` has its sizes, and the checksums of the text.\n"
BLANKS = {" ": "the blank", "\n": "the end of a line"}
MOST = 500  # letters that a card lists
UNKNOWN = """
No history was given when it was saved. How it was trained, on which text and
under which licence is for its maker to say.
"""


def model_card(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None,
    own: dict[str, str],
) -> str:
    """What a model is, what it learned from and what it has reached."""
    count = sum(parameter.numel() for parameter in model.parameters())
    told = f"A model of {count / 1e6:.2f} million parameters"
    if builder := find_builder(model.config):
        told += f", made by the builder `{builder}` of `annotated_transformer`"
    told += "."
    if own:
        told += (
            f" It has custom code ({', '.join(own.values())}), "
            "and is loaded by a program that has it, too."
        )
    size = fill(told, 79)
    if history is None:
        return f"# A model without a history\n\n{size}\n{UNKNOWN}"
    data, result = history.data, asdict(history.result)
    scores = result.pop("scores")
    search = asdict(history.search) if history.search else {}
    rows = [("start", quoted(one.command)) for one in history.starts()]
    rows += [
        ("command", quoted(history.command)),
        ("machine", history.machine.processor),
        *(("resumed", in_place_of(history, x)) for x in history.resumed),
        *(result | scores | search).items(),
    ]
    table = [f"| {name} | {x} |" for name, x in rows if x is not None]
    text = f"{data.pairs:,} sentence pairs of {data.name}"
    title = f"# {data.name}: {data.source} to {data.target}\n"
    if data.bytes:
        text = f"{data.bytes:,} bytes of {data.name}, of which "
        text += f"{data.held_out:.1%} were held out"
        title = f"# {data.name}: a language model\n"
    if data.extra:
        text += f"\nand {data.extra:,} extra ones"
    texts = [one.data for one in history.starts()] + [data]
    licences = dict.fromkeys(map(licence, texts))  # each once
    return "\n".join(
        [
            title,
            f"{size}\nIt was trained on {text}.\n",
            "| what | value |\n|---|---|",
            *table,
            *([] if "tokenizer" in own else letters(tokenizer)),
            "\nThe text that a model was trained on decides what it is good",
            f"for and how it may be used. {' '.join(licences)}",
            CONFIG,
        ]
    )


def letters(tokenizer: Tokenizer) -> list[str]:
    """What a model knows that reads letter by letter: it has seen no others.

    More than MOST are counted.
    """
    known = {x.replace("▁", " ") for x in tokenizer.vocabulary[UNK + 1 :]}
    if max(map(len, known)) > 1:
        return []
    told = f"It reads letter by letter, and knows {len(known):,} of them"
    if len(known) > MOST:
        return [f"\n{told}."]
    blanks = [name for x, name in BLANKS.items() if x in known]
    others = printable("".join(sorted(known - BLANKS.keys())))
    told += f", {' and '.join(blanks)} included" if blanks else ""
    rows = [others[i : i + 75] for i in range(0, len(others), 75)]
    return [f"\n{told}:\n", *(f"    {row}" for row in rows)]


def quoted(command: str) -> str:
    """A command as code; a run begun from Python has none."""
    return f"`{command}`" if command else "none, called from Python"


def in_place_of(history: History, resumed: Environment) -> str:
    """What a run was resumed with that is not what it was begun with."""
    before, after = history.environment.differences(resumed)
    return f"with {after} in place of {before}"


def licence(text: Data | None) -> str:
    """What a text allows that a model was trained on, as far as is known."""
    if text is None:
        return "What the model that it began with was trained on is not known."
    unknown = f"The licence of {text.name} is for its owner to say."
    return TEXT_LICENCES.get(text.name, unknown)
