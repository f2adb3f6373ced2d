"""The pages of verdicts: every claim has its row, every switch exists."""

import json
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
import typer.main
from docutils.nodes import make_id
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import docutils_namespace

from annotated_transformer.commands.app import app
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.teaching.claims import VERDICTS, read_claims
from annotated_transformer.training import TrainConfig

BOOK = Path(__file__).parents[2] / "book"
CLAIMS = read_claims(BOOK)


class Page(HTMLParser):
    """A page's table of counts, its folded claims and what it loads."""

    def __init__(self, html: str):
        super().__init__()
        self.rows: list[list[str]] = []  # of the last table
        self.claims: list[dict[str, str]] = []  # attributes, and their text
        self.links: list[str] = []
        self.loads: list[str] = []
        self.chinese: list[str] = []  # what says that it is
        self.cell = self.claim = self.zh = self.pre = False
        self.printed = ""  # what stands in blocks of output
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.cell = True
        if tag == "details" and "claim" in given.get("class", "").split():
            self.claims.append(given | {"text": ""})
            self.claim = True
        if tag == "span" and self.claim:
            self.zh = given.get("lang") == "zh"
            self.chinese += [""] * self.zh
        if tag == "a" and self.claim:
            self.links.append(given["href"])
        if tag == "pre":
            self.pre = True
        if tag in ("script", "link"):
            self.loads.append(given.get("src") or given.get("href") or "")

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cell = False
        if tag == "span":
            self.zh = False
        if tag == "details":
            self.claim = False
        if tag == "pre":
            self.pre = False

    def handle_data(self, data):
        if self.cell:
            self.rows[-1][-1] += data
        if self.claim:
            self.claims[-1]["text"] += data
        if self.zh:
            self.chinese[-1] += data
        if self.pre:
            self.printed += data


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Page]:
    """The ledger and its chapters, of these the claims alone, built."""
    source = tmp_path_factory.mktemp("source")
    chapters = {entry["page"] for entry in CLAIMS.values()}
    for name in chapters:
        text = [name, "=" * 20, "", ".. rst-class:: output", "", "::", ""]
        text += [f"    {line}" for line in claim_lines(name)]
        (source / f"{name}.rst").write_text("\n".join(text) + "\n", "utf-8")
    (source / "index.rst").write_text(
        "Ledger\n======\n\n:ref:`a claim <claim-p-3-1-d>`\n\n"
        ".. ledger-counts::\n\n.. ledger::\n\n"
        ".. toctree::\n   :glob:\n\n   *\n"
    )
    sys.path.insert(0, str(BOOK / "_ext"))
    out = source / "out"
    try:
        options = {
            "extensions": ["ledger_page"],
            "nitpicky": True,
            "smartquotes": False,
        }
        with docutils_namespace():
            Sphinx(
                source,
                None,
                out,
                out,
                "html",
                options,
                status=None,
                warningiserror=True,
            ).build()
    finally:
        sys.path.remove(str(BOOK / "_ext"))
    return {
        name: Page((out / f"{name}.html").read_text("utf-8"))
        for name in ("index", *chapters)
    }


def claim_lines(page: str) -> list[str]:
    """What the chapter, as it is stored, prints of its claims."""
    notebook = json.loads((BOOK / f"{page}.ipynb").read_text("utf-8"))
    return [
        line
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        for line in "".join(output.get("text", "")).splitlines()
        if line.startswith("claim ")
    ]


def words(text: str) -> str:
    return " ".join(text.split())


def shown_as(text: str) -> str:
    """What stands on the page for text with formulas, before MathJax."""
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", words(text))


def test_every_claim_is_there_with_all_that_a_sceptic_asks_for(pages):
    found = {x["id"]: x for x in pages["index"].claims}
    assert len(found) == len(pages["index"].claims) == len(CLAIMS)
    for name, entry in CLAIMS.items():
        shown = found[make_id(f"claim-{name}")]
        text = words(shown["text"])
        for field in ("statement", "quote", "translation", "why", "caveat"):
            assert shown_as(entry.get(field, "")) in text, (name, field)
        for field in ("place", "quantity", "control", "no_chance", "rests_on"):
            assert words(entry.get(field, "")) in text, (name, field)
        for line in (*entry.get("history", ()), *entry.get("records", ())):
            assert shown_as(line) in text, name
        assert shown["data-page"] == entry["page"]
        assert shown["data-verdict"] in text
        for term in ("measured", "asked for", "control", "refuted by"):
            assert term in text


def test_verdicts_and_figures_are_those_that_the_chapters_print(pages):
    """Looked up here without the page's own way of reading an output."""
    found = {x["id"]: x for x in pages["index"].claims}
    seen = set()
    for path in BOOK.glob("*.ipynb"):
        for line in claim_lines(path.stem):
            _, name, rest = line.split(" ", 2)
            if rest.startswith("control: "):
                continue
            verdict = rest.partition(": ")[0]
            shown = found[make_id(f"claim-{name}")]
            assert shown["data-verdict"] == verdict
            figure = rest.partition(f"{CLAIMS[name]['quantity']}: ")
            figure = re.match(r"[\d.,]+(?![\de.])", figure[2])
            assert not figure or figure[0] in shown["text"]
            seen.add(name)
    assert seen == CLAIMS.keys()


def test_every_claim_leads_to_its_chapter_and_its_cell(pages):
    expected = Counter()
    for name, entry in CLAIMS.items():
        page = f"{entry['page']}.html"
        expected.update([page, f"{page}#{make_id(f'shown-{name}')}"])
    inside = [x for x in pages["index"].links if "://" not in x]
    assert Counter(inside) == expected


def test_every_claim_has_a_badge_where_it_is_tried(pages):
    """In place of its line, which would say it in the claim's shorthand."""
    ledger = {x["id"]: x for x in pages["index"].claims}
    for name, entry in CLAIMS.items():
        page = pages[entry["page"]]
        (badge,) = (
            x for x in page.claims if x["id"] == make_id(f"shown-{name}")
        )
        assert "tried-here" in badge["class"]
        whole = ledger[make_id(f"claim-{name}")]
        assert badge["data-verdict"] == whole["data-verdict"]
        for field in ("statement", "quote", "quantity", "control", "caveat"):
            said = shown_as(entry.get(field, ""))
            assert said in words(badge["text"]), (name, field)
        assert f"index.html#{make_id(f'claim-{name}')}" in page.links
    for name in {entry["page"] for entry in CLAIMS.values()}:
        assert "claim " not in pages[name].printed


def test_quotations_in_chinese_say_that_they_are(pages):
    """Their translations and all that stands around them do not."""
    quotes = [words(entry.get("quote", "")) for entry in CLAIMS.values()]
    chinese = [quote for quote in quotes if re.search("[一-鿿]", quote)]
    assert chinese
    assert Counter(pages["index"].chinese) == Counter(chinese)


def test_the_counts_add_up(pages):
    head, *rows = pages["index"].rows
    assert head == ["source", *VERDICTS, "all"]
    count = {
        (row[0], verdict): int(number)
        for row in rows
        for verdict, number in zip(head[1:], row[1:], strict=True)
    }
    for claim in pages["index"].claims:
        for source in (claim["data-source"], "all"):
            for verdict in (claim["data-verdict"], "all"):
                count[source, verdict] -= 1
    assert set(count.values()) == {0}


def test_a_chapter_that_does_not_print_its_claim_is_an_error():
    sys.path.insert(0, str(BOOK / "_ext"))
    try:
        from ledger_page import measured
    finally:
        sys.path.remove(str(BOOK / "_ext"))
    entry = {
        "page": "page",
        "quantity": "the sum",
        "control": "another",
        "equals": 4,
    }
    printed = (
        "claim C holds: the sum: 4 (expected exactly 4)\n"
        "claim C control: another: -5e-06\n"
    )
    found = measured({"C": entry}, printed)["C"]
    assert found == ("holds", "4", "−5·10⁻⁶", "")
    for stale in ("", printed.replace("exactly 4", "exactly 3")):
        with pytest.raises(ExtensionError, match="run the chapter"):
            measured({"C": entry}, stale)


def test_filters_are_loaded_on_the_ledger_only(pages):
    for name, page in pages.items():
        assert any("ledger.js" in x for x in page.loads) == (name == "index")
        assert any("tables.css" in x for x in page.loads) == (name == "index")
        assert any("claims.css" in x for x in page.loads)


def switches() -> list[str]:
    """What the tables of versions name, at the end of their page."""
    notebook = json.loads((BOOK / "paper_tables.ipynb").read_text("utf-8"))
    text = "".join(
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "markdown"
    )
    tables = text.partition("(sec-versions)=")[2]
    return re.findall(r"`((?:--|\w+\()[^`]+)`", tables)


def test_the_table_of_versions_names_switches_that_exist():
    model = transformer(
        ModelConfig(vocab_size=9, layers=1, d_model=4, heads=1)
    ).eval()
    names = {
        "ModelConfig": ModelConfig,
        "TrainConfig": TrainConfig,
        "adam": adam,
        "beam_decode": beam_decode,
        "model": model,
        "source": torch.tensor([[4]]),
        "parameters": model.parameters(),
    }
    found = switches()
    assert len(found) > 20
    known = {
        switch
        for command in typer.main.get_group(app).commands.values()
        for option in command.params
        for switch in (*option.opts, *option.secondary_opts)
    }
    for switch in found:
        if switch.startswith("--"):
            assert switch in known
        else:
            eval(switch, names)


def test_the_rate_of_the_authors_program_is_what_the_table_says():
    (rate,) = [s for s in switches() if "peak_rate" in s]
    config = eval(rate, {"TrainConfig": TrainConfig})
    for step in (1, 8000, 100_000):
        theirs = 2 * 512**-0.5 * min(1, step / 8000) * max(step, 8000) ** -0.5
        assert config.rate(step, 512) == pytest.approx(theirs, rel=1e-3)
