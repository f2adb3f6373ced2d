"""The model card: the README.md of a model folder."""

from textwrap import fill
from typing import Any

from annotated_transformer.storage.dataclass_json import to_plain
from annotated_transformer.storage.history import History

__all__ = ["MULTI30K_LICENCE", "TEXT_LICENCES", "model_card"]

# what the texts allow that models were trained on
MULTI30K_LICENCE = (
    "Multi30k is for research and education only: "
    "its captions come from Flickr30k."
)
MADE_HERE = "The text was made by this package and has its licence."
TEXT_LICENCES = {
    "multi30k": MULTI30K_LICENCE,
    "builtin": MADE_HERE,
    "pronouns": MADE_HERE,
    "copy": MADE_HERE,
}
UNKNOWN = """
No history was given when it was saved. How it was trained, on which text and
under which licence is for its maker to say.
"""


def model_card(
    history: History | None,
    builder: str | None,
    sizes: dict[str, Any],
    parameters: int,
    own: dict[str, str],
) -> str:
    """What a model is, what it learned from and what it has reached."""
    parts = [f"{x} {sizes[x]}" for x in sizes if sizes[x] is not None]
    size = f"A model of {parameters / 1e6:.2f} million parameters"
    if builder is not None:
        size += (
            f", made by the builder `{builder}` of `annotated_transformer`: "
            f"{', '.join(parts)}"
        )
    size += "."
    if own:
        size += (
            f" It has code of its maker's own ({', '.join(own.values())}), "
            "and is loaded by a program that has it, too."
        )
    if history is None:
        return f"# A translation model\n\n{fill(size, 79)}\n{UNKNOWN}"
    data = history.data
    rows = [("start", quoted(one.command)) for one in history.starts()]
    rows += [
        ("command", quoted(history.command)),
        ("seed", history.recipe["train"]["seed"]),
        ("machine", history.machine.processor),
        *to_plain(history.result).items(),
    ]
    if history.search is not None:
        rows += to_plain(history.search).items()
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    text = f"{data.pairs:,} sentence pairs of {data.name}"
    if data.extra:
        text += f"\nand {data.extra:,} extra ones"
    if data.shares:
        shares = [f"{name} {data.shares[name]:.4g}" for name in data.shares]
        text += f", with a share of an epoch's pairs: {', '.join(shares)}"
    return f"""# {data.name}: {data.source} to {data.target}

{fill(size, 79)}
It was trained on {text}.

| what | value |
|---|---|
{table}

The text that a model was trained on decides what it is good for and how it
may be used. {licences(history)}
`config.json` has the checksums of the text.
"""


def quoted(command: str) -> str:
    """A command as code; a training that Python has called has none."""
    return f"`{command}`" if command else "none, called from Python"


def licences(history: History) -> str:
    """What the texts of all trainings allow, each licence once."""
    texts = [*(one.data for one in history.starts()), history.data]
    told = [
        TEXT_LICENCES.get(
            text.name, f"The licence of {text.name} is for its owner to say."
        )
        if text
        else "What the model that it began with was trained on is not known."
        for text in texts
    ]
    return " ".join(dict.fromkeys(told))
