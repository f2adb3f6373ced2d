"""The command that draws how training went."""

from pathlib import Path

from typer import Argument, Option

from ..errors import UserError
from ..system.console import put

PANELS = {
    "loss": "loss in training",
    "valid_perplexity": "validation perplexity",
}


def curve(
    runs: list[Path] = Argument(
        metavar="RUN...", help="folders of training runs"
    ),
    output: Path = Option(help="the picture to make: .svg, .png or .pdf"),
) -> None:
    """Draw the learning curves of training runs, all in one picture.

    It has the loss and the validation perplexity after each interval, as
    metrics.jsonl has them.
    """
    from ..storage.checkpoints import read_metrics
    from ..system.atomic_files import replacing
    from ..system.machine import needed

    known = [(run, read_metrics(run)) for run in runs]
    for run, lines in known:
        if not lines:
            raise UserError(
                f"{run}: no metrics.jsonl with a line in it; name the folder "
                "of a run, which writes a line at each checkpoint"
            )
    needed("matplotlib", "plot").use("agg")  # no window, nor a notebook
    from matplotlib.ticker import LogFormatter

    from ..teaching.plotting import curves, figure

    drawing, _ = figure(9.0, 3.4, columns=len(PANELS))
    for panel, (field, name) in zip(drawing.axes, PANELS.items(), strict=True):
        series = {}
        for run, lines in known:
            # no loss has the first line of a fine-tuning: nothing is learned
            there = [line for line in lines if field in line]
            steps = [line["step"] for line in there]
            series[str(run)] = steps, [line[field] for line in there]
        log = field != "loss"
        curves(panel, series, x_label="updates", y_label=name, log=log)
        if log:  # 20 in place of 2 x 10^1
            panel.yaxis.set_major_formatter(LogFormatter())
            panel.yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False))
        if legend := panel.get_legend():
            legend.set_in_layout(False)  # long paths would squeeze the panel
    if output.suffix[1:] not in drawing.canvas.get_supported_filetypes():
        raise UserError(
            f"{output}: no picture has this ending; choose .svg, .png or .pdf"
        )
    with replacing(output.parent, output.name) as new:
        drawing.savefig(new / output.name)
    put(f"{output}: {', '.join(map(str, runs))}\n")
