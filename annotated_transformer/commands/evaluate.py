"""The command evaluate: how good a model's translations are."""

import json
from dataclasses import asdict
from pathlib import Path

from typer import Argument, Option

from ..system.console import console, put
from .inputs import load, read_given, warn_of_direction
from .options import (
    ALPHA,
    BEAM,
    DEVICE,
    MODEL,
    NO_REPEAT,
    PAIRS,
    QUIET,
    Device,
    batch_tokens_option,
)


def evaluate(
    model: Path = MODEL,
    source: Path | None = Argument(
        None, help="what to translate, a sentence a line"
    ),
    reference: Path | None = Argument(
        None, help="its translations by people, line by line"
    ),
    pairs: Path | None = PAIRS,
    device: Device = DEVICE,
    typed: bool = Option(
        False,
        "--typed",
        help="also score SOURCE typed in other ways: in capitals, with typing "
        "errors and so on",
    ),
    as_json: bool = Option(False, "--json", help="one JSON object instead"),
    quiet: bool = QUIET,
    beam: int | None = BEAM,
    alpha: float | None = ALPHA,
    no_repeat: int | None = NO_REPEAT,
    batch_tokens: int = batch_tokens_option(4096),
) -> None:
    """Score a model's translations: BLEU, of three kinds, and chrF.

    Each score comes with the sacrebleu signature that defines it. --typed adds
    a line for each way to type the text: its BLEU, the same lower-cased, how
    many lines are typed otherwise, and how many translations differ. Standard
    error says if the two files seem to be swapped, or another model's.
    """
    from ..storage.model_folder import read_config
    from ..text.checks import missing_blanks
    from ..text.noise import scores_as_typed
    from ..translation import corpus_scores

    language = read_config(model).languages[1]
    given, (where, _) = read_given(model, (source, reference), pairs)
    sources, references = zip(*given, strict=True)
    if not quiet and (told := missing_blanks(references, language)):
        console.out(f"warning: {reference or pairs}: {told}")
    translator = load(model, device, beam, alpha, no_repeat)
    translator.split = ""
    best = translator.n_best(
        [*sources], 1, batch_tokens=batch_tokens, where=where, first=1
    )
    outputs = [one.text for (one,) in best]
    sure = [one.confidence for (one,) in best]
    if not quiet:
        warn_of_direction(translator, given, str(source or pairs), sure)
    scores = corpus_scores(outputs, references, language)
    search = ("beam", "alpha", "no_repeat")
    result = {name: getattr(translator, name) for name in search}
    result |= asdict(scores)
    others = {}
    if typed:
        found = scores_as_typed(
            translator, sources, references, language, batch_tokens
        )
        others = {way: asdict(one) for way, one in found.items()}
        result["typed"] = others
    if as_json:
        put(json.dumps(result, indent=1) + "\n")
        return
    for name, signature in scores.signatures.items():
        put(f"{name:15} {result[name]:5.2f}  {signature}\n")
    if others:
        put(f"{'typed':24}  BLEU  lower  lines  other translations\n")
    for way, one in others.items():
        bleu, lowercase, lines, outputs = one.values()
        put(f"{way:24}{bleu:6.2f}{lowercase:7.2f}{lines:7.0f}{outputs:7.0f}\n")
