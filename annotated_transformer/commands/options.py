"""Options that commands share.

A bound stands with the field that an option sets, not here: whatever reads
the field checks it, and the command line shows the message.
"""

from typing import Any, Literal

from typer import Argument, Option

from ..storage.pretrained import pretrained

Device = Literal["cuda", "mps", "cpu"] | None

MODEL = Argument(
    help="the folder of a trained model, or the name of one that comes with "
    f"the package: {', '.join(pretrained())}"
)
DEVICE = Option(
    None, help="where to compute; the fastest at hand if not given"
)
BEAM = Option(
    None,
    help="translations kept at each step (1: greedy); 5, or the model's own",
)
ALPHA = Option(
    None,
    help="length penalty: higher favours longer output; 0.6, or the model's "
    "own",
)
NO_REPEAT = Option(
    None,
    help="say no N tokens in a row twice; 0, which forbids nothing, or the "
    "model's own",
)
PAIRS = Option(None, help="instead, one file of both: .tsv, .csv or .jsonl")
QUIET = Option(False, "--quiet", help="do not say what is doubtful")


def batch_tokens_option(default: int | None) -> Any:
    """How large a batch may be."""
    return Option(
        default,
        help="tokens of a batch, padding included; a search counts each once "
        "for each place of its beam; fewer need less memory",
    )
