"""Numbers typed in prose, against what they were counted or measured in.

A figure that a cell prints comes again in each test of its notebook. One that
stands in a sentence does not: here its sentence is written anew, from records,
recipes, claims and the pages themselves, and the page must have it so.
"""

from dataclasses import replace
from statistics import fmean

import chapters
import pytest
from test_planted import FAULTS

from annotated_transformer.model import PRESETS, parameter_count
from annotated_transformer.runs.recipes import recipe_of
from annotated_transformer.teaching.records import read_run
from experiments.shared import run_and_record

NUMBERS = """zero one two three four five six seven eight nine ten eleven
twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"""
WORDS = NUMBERS.split()
OUTPUTS = 3475  # captions of Multi30k's validation text and three tests


def text(page: str) -> str:
    """A page's prose, without its cells."""
    path = chapters.ROOT / page
    if path.suffix != ".ipynb":
        return path.read_text("utf-8")
    cells = chapters.read(path).cells
    return "\n".join(c.source for c in cells if c.cell_type == "markdown")


def counted():
    """Sentences that count chapters, headings, rows, faults, claims."""
    number = WORDS[len([*chapters.BOOK.glob("[0-9]*.ipynb")])].title()
    yield "book/conclusion.md", f"{number} chapters later"
    contents = (chapters.ROOT / "_toc.yml").read_text()
    parts = contents.count("numbered: true")
    yield "CHANGELOG.md", f"A book in {WORDS[parts]} parts"
    yield "CONTRIBUTING.md", f"{WORDS[len(FAULTS)]} faults planted"
    page = "book/questions.ipynb"
    entries, quoted = (text(page).count(x) for x in ("\n### ", '\n### "'))
    yield page, f"answers {WORDS[entries - quoted]} questions"
    yield page, f"weighs {WORDS[quoted]} quoted sentences"


def measured():
    """Sentences with figures of a record, of a model's size, of a recipe."""
    page = "book/toolkit_sizes.md"
    for preset, rows in read_run("benchmark-cpu")["training"].items():
        for kind, end in (("float32", ""), ("bf16", ", bf16")):
            ours = rows["systems"][f"this package{end}"]
            rate = float(f"{ours['rate']:.2g}")
            gigabytes = ours["memory"] / 1e9
            row = f"| {preset} | {kind} | {rate:,.0f} | {gigabytes:.1f} GB |"
            yield page, row
    names, sizes = ("tiny", "base"), {"vocab_size": 8000}
    models = [replace(PRESETS[name], **sizes) for name in names]
    tiny, base = (parameter_count(model) / 1e6 for model in models)
    both = f"has ${tiny:.1f}$ million parameters and `base` {base:.0f} million"
    yield page, both
    page, t = "book/toolkit_options.md", recipe_of().train
    yield page, f"{t.steps:,} updates of batches of {t.batch_tokens:,} tokens"
    yield page, f"{t.warmup} updates of warm-up and a peak of `{t.peak_rate}`,"
    last = f"of which the last {t.average} are averaged"
    yield page, f"a checkpoint every {t.checkpoint_every} updates, {last}"
    records = [read_run(p.stem) for p in chapters.BOOK.glob("runs/*.json")]
    tried = sum(
        run["seconds"]
        for run in records
        if run.get("experiment") not in (None, *run_and_record.LONG)
    )
    hours = WORDS[round(tried / 3600 / 2)]
    yield "experiments/README.md", f"take about {hours} hours on two cores"
    pieces = read_run("vocabulary_sizes")["results"]
    kinds = {key.rpartition(" ")[0] for key in pieces if "often" not in key}
    known = f"tries {WORDS[len(kinds)]} vocabularies"
    yield "book/toolkit_sizes.md", known
    page = "book/11_translation.ipynb"
    drawn = read_run("where_translation_fails")["results"]
    never, once = (
        fmean(drawn[f"kinds seed={s}"][f"rarest {n}, share"] for s in range(5))
        for n in (0, 1)
    )
    yield page, f"One caption in {WORDS[round(1 / never)]} has a word that"
    yield page, f"one in {WORDS[round(1 / once)]} a word that it had once"
    written = read_run("no_repeat_ngrams")["results"]
    lost = written["into de n=0 seed=0"]["circling"]
    one_in = f"One German output in {10 * round(OUTPUTS / lost / 10)} goes"
    yield "book/beam_search_settings.ipynb", one_in
    results, run = [], read_run("multi30k-en-fr")
    while run and run["result"]["updates"] != 800:  # the first of the risk
        results.append(run["result"])
        run = run["start"]
    assert "--risk" in run["command"]
    more, first, before = results[-1], run["result"], run["start"]["result"]
    lost = [
        2 * float(more[test]) < float(first[test]) + float(before[test])
        for test in first
        if test.endswith("lowercase")
    ]
    yield "book/risk.ipynb", f"gain away on {WORDS[sum(lost)]} sets"


@pytest.mark.parametrize("source", [counted, measured])
def test_typed_numbers_are_those_of_their_sources(source):
    """If not, mend the page, or here the sentence, if it is another now."""
    missing = [
        (page, said)
        for page, said in source()
        if said not in " ".join(text(page).split())
    ]
    assert missing == []
