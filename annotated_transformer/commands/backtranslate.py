"""The command that makes sources for targets that have none."""

from annotated_transformer.commands import options
from annotated_transformer.commands.translate import check_lengths, load
from annotated_transformer.errors import UserError
from annotated_transformer.system.console import put
from annotated_transformer.system.text_lines import read_lines

__all__ = ["backtranslate"]

BATCH_TOKENS = {"cuda": 32768}  # elsewhere 4096


def backtranslate(
    model: options.Model,
    file: options.OneSide,
    output: options.PairsFile,
    forward: options.MakeTargets = False,
    sample: options.Sample = False,
    top_k: options.TopK = 0,
    temperature: options.Temperature = 1.0,
    seed: options.DrawSeed = None,
    beam: options.Beam = None,
    alpha: options.Alpha = None,
    no_repeat: options.NoRepeat = None,
    tag: options.Tag = "",
    batch_tokens: options.BatchTokens = None,
    device: options.Device = None,
    resume: options.GoOn = False,
) -> None:
    """Make sources for a text that has none: more pairs to learn from.

    TEXT holds targets, and MODEL translates from their language; --forward has
    it the other way. Each line of the file made is a source, a tab and its
    target, as train --extra reads them. Ctrl-C ends it after a batch, and the
    same command with --resume goes on to the same file. It searches, or with
    --sample, --top-k or --temperature draws.
    """
    from annotated_transformer.pairs.back_translation import (
        write_back_translations,
    )
    from annotated_transformer.pairs.sampling import Sampling
    from annotated_transformer.storage.model_folder import read_config
    from annotated_transformer.storage.pretrained import find_model

    search = {"beam": beam, "alpha": alpha, "no_repeat": no_repeat}
    draws = sample or top_k != 0 or temperature != 1
    if draws and any(value is not None for value in search.values()):
        raise UserError(
            "--beam, --alpha and --no-repeat search, and --sample, --top-k "
            "and --temperature draw; choose one of the two"
        )
    if seed is not None and not draws:
        raise UserError(
            "--seed is for drawing, and this searches; add --sample, --top-k "
            "or --temperature"
        )
    try:
        sampling = Sampling(top_k, temperature, seed or 0) if draws else None
    except ValueError as error:
        raise UserError(f"{error}") from error
    lines = read_lines(file)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise UserError(f"{file}, line {number}: blank; delete the line")
    translator = load(model, device, **search)
    check_lengths(translator, lines, file)
    written = write_back_translations(
        output,
        translator,
        lines,
        sampling,
        tag=tag,
        forward=forward,
        batch_tokens=batch_tokens
        or BATCH_TOKENS.get(translator.device.type, 4096),
        model=read_config(find_model(model)).sha256["model.safetensors"],
        resume=resume,
    )
    put(f"{output}: {written} pairs\n")
