"""The commands that use a language model: generate and perplexity."""

from pathlib import Path

from typer import Argument, Option

from ..system.console import console, in_digits, put
from .options import DEVICE, MODEL, Device

SEPARATOR = "---\n"


def generate(
    model: Path = MODEL,
    prompt: str = Option("", help="how the text begins"),
    number: int = Option(1, min=1, help="so many texts, --- between them"),
    max_tokens: int = Option(
        500, min=1, help="tokens to write, beyond the prompt"
    ),
    temperature: float = Option(
        1.0,
        help="what is drawn varies more above 1, less below; 0: always the "
        "likeliest",
    ),
    top_k: int = Option(
        0, help="draw each token from the K likeliest; 0: from all"
    ),
    top_p: float = Option(
        1.0,
        help="draw from the fewest whose probabilities add up to P or more",
    ),
    seed: int = Option(0, help="another one draws other text"),
    stop: bool = Option(False, "--stop", help="end with the document"),
    device: Device = DEVICE,
) -> None:
    """Write text with a language model, to standard output.

    The text begins with the prompt, and what follows is drawn token by token.
    """
    # what loads PyTorch, here: --help does without it
    from ..runs.devices import choose_device
    from ..writing import Writer

    writer = Writer.load(model, choose_device(device))
    if unknown := writer.reader.unknown(prompt):
        console.out(
            f"warning: the prompt: the model has never seen {unknown}; if it "
            "reads letters, its card says which"
        )
    texts = writer(
        [prompt] * number,
        max_new_tokens=max_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        stop=stop,
    )
    put(SEPARATOR.join(text.removesuffix("\n") + "\n" for text in texts))


def perplexity(
    model: Path = MODEL,
    file: Path = Argument(help="text as it is; a language model predicts it"),
    device: Device = DEVICE,
) -> None:
    """Score a text: how well a language model predicts it.

    The text is read in windows as long as the model's context. Bits per byte
    compare models with different tokens.
    """
    from ..corpora.running_text import RunningText
    from ..runs.devices import choose_device
    from ..runs.windows import score_text
    from ..writing import Writer

    writer = Writer.load(model, choose_device(device))
    text = RunningText.from_files([file], writer.mark)
    found = score_text(writer.model, writer.tokenizer, text)
    rows = {
        "tokens": found.tokens,
        "unknown tokens": found.unknown,
        "bytes": found.bytes,
        "nats per token": in_digits(found.loss),
        "perplexity per token": in_digits(found.perplexity),
        "bits per byte": in_digits(found.bits_per_byte),
        "perplexity per byte": in_digits(2**found.bits_per_byte),
    }
    put("".join(f"{name:22}{x}\n" for name, x in rows.items()))
