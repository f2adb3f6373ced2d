"""The pages of verdicts: every claim has its row, every switch exists."""

import json
import re
from collections import Counter
from pathlib import Path

import ledger_page
import pytest
import torch
import typer.main
from bs4 import BeautifulSoup, Tag
from docutils.nodes import make_id
from ledger_page import bound_first, measured
from measured_numbers import ADDRESS, NUMBER, outputs, printed
from small_book import build_pages
from sphinx.errors import ExtensionError

from annotated_transformer.commands.app import app
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.teaching.claims import VERDICTS, read_claims
from annotated_transformer.training import TrainConfig

BOOK = Path(__file__).parents[2] / "book"
CLAIMS = read_claims(BOOK)


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, BeautifulSoup]:
    """The ledger and its chapters, of these the claims alone, built."""
    source = tmp_path_factory.mktemp("source")
    chapters = {entry["page"] for entry in CLAIMS.values()}
    for name in chapters:
        text = [name, "=" * 20, "", ".. rst-class:: output", "", "::", ""]
        text += [f"    {line}" for line in claim_lines(name)]
        (source / f"{name}.rst").write_text("\n".join(text) + "\n", "utf-8")
    (source / "index.rst").write_text(
        "Ledger\n======\n\n:ref:`a claim <claim-p-3-1-d>`\n\n"
        ":needs:`modern-rmsnorm`\n\n"
        ".. ledger-counts::\n\n.. ledger::\n\n.. withdrawn::\n\n"
        ".. toctree::\n   :glob:\n\n   *\n"
    )
    out, said = build_pages(
        source, "ledger_page", nitpicky=True, smartquotes=False
    )
    assert not said
    texts = (
        (name, (out / f"{name}.html").read_text("utf-8"))
        for name in ("index", *chapters)
    )
    return {name: BeautifulSoup(text, "html.parser") for name, text in texts}


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


def claims(page: BeautifulSoup) -> dict[str, Tag]:
    """The folded claims of a page."""
    found = page.select("details.claim")
    assert len({claim["id"] for claim in found}) == len(found)
    return {claim["id"]: claim for claim in found}


def words(text: str) -> str:
    return " ".join(text.split())


def shown_as(text: str) -> str:
    """What stands on the page for text with formulas, before MathJax."""
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", words(text))


def test_every_claim_is_there_with_all_that_a_sceptic_asks_for(pages):
    """With its words, its verdict, the way to its cell and back."""
    found = claims(pages["index"])
    assert len(found) == len(CLAIMS)
    for name, entry in CLAIMS.items():
        shown = found[make_id(f"claim-{name}")]
        badge = claims(pages[entry["page"]])[make_id(f"shown-{name}")]
        assert "tried-here" in badge["class"]
        texts = words(shown.text), words(badge.text)
        for field in (
            *("statement", "quote", "quantity", "control"),
            *("caveat", "note"),
        ):
            said = shown_as(entry.get(field, ""))
            assert all(said in text for text in texts), (name, field)
        for field in ("translation", "why", "place", "no_chance", "rests_on"):
            assert shown_as(entry.get(field, "")) in texts[0], (name, field)
        for line in (entry.get("history", ""), *entry.get("records", ())):
            assert shown_as(line) in texts[0], name
        for term in ("measured", "expected", "control", "bound first"):
            assert term in texts[0]
        assert shown["data-page"] == entry["page"]
        assert shown["data-verdict"] == badge["data-verdict"]
        assert shown["data-verdict"] in texts[0]
        page = f"{entry['page']}.html"
        links = {link["href"] for link in shown.select("a[href]")}
        assert {page, f"{page}#{badge['id']}"} <= links
        back = {link["href"] for link in badge.select("a[href]")}
        assert f"index.html#{shown['id']}" in back
    for name in {entry["page"] for entry in CLAIMS.values()}:
        printed = "".join(pre.text for pre in pages[name].select("pre"))
        assert "claim " not in printed  # the badges stand in their place


@pytest.mark.parametrize(
    ("at_least", "known", "said"),
    [
        (3, None, "yes: r has kept it since before its first run"),
        (3, "a", "in part: r has kept it since before its first run, but a"),
        (4, "a", "no: a"),
        (4, None, "no record shows it"),
    ],
)
def test_a_bound_comes_first_where_a_record_kept_it_and_nothing_was_known(
    tmp_path, monkeypatch, at_least, known, said
):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "r.json").write_text('{"margins": {"C": [3, null]}}')
    monkeypatch.setattr(ledger_page, "BOOK", tmp_path)
    entry = {"records": ["r"], "at_least": at_least, "known": known}
    assert bound_first("C", entry) == said


def test_verdicts_and_figures_are_those_that_the_chapters_print(pages):
    """Looked up here without the page's own way of reading an output."""
    found, seen = claims(pages["index"]), set()
    for path in BOOK.glob("*.ipynb"):
        for line in claim_lines(path.stem):
            _, name, rest = line.split(" ", 2)
            shown = found[make_id(f"claim-{name}")]
            assert shown["data-verdict"] == rest.partition(": ")[0]
            figure = re.match(r"[\d.]+(?=[ ,])", rest.partition(": ")[2])
            assert not figure or figure[0] in shown.text
            seen.add(name)
    assert seen == CLAIMS.keys()


def test_what_would_decide_a_claim_is_what_its_chapter_prints(pages):
    (line,) = (x for x in claim_lines("17_modern") if "modern-rmsnorm" in x)
    link = "p > a[href='#claim-modern-rmsnorm']"
    said = pages["index"].select_one(link).text
    assert "seeds" in said and line.endswith(f"; {said}")


@pytest.mark.parametrize("name", CLAIMS)
def test_figures_of_a_caveat_or_a_note_are_printed_by_the_page(name):
    """Or are settings, which are formulas or stand in its statement."""
    entry = CLAIMS[name]
    said = outputs(entry["page"]) + entry["statement"]
    text = entry.get("caveat", "") + " " + entry.get("note", "")
    text = ADDRESS.sub("", re.sub(r"\$.*?\$", "", text))
    for figure in NUMBER.findall(text):
        assert printed(figure, said), figure


def test_quotations_in_chinese_say_that_they_are(pages):
    """Their translations and all that stands around them do not."""
    quotes = [words(entry.get("quote", "")) for entry in CLAIMS.values()]
    chinese = [quote for quote in quotes if re.search("[一-鿿]", quote)]
    shown = pages["index"].select("details.claim [lang=zh]")
    assert Counter(words(span.text) for span in shown) == Counter(chinese)


def test_the_counts_add_up(pages):
    expected = Counter()
    for name, entry in CLAIMS.items():
        claim = claims(pages["index"])[make_id(f"claim-{name}")]
        computed = entry["rests_on"] in ("arithmetic", "identity")
        what = "computed" if computed else "measured"
        first = claim.find("dt", string="bound first").find_next("dd").text
        shown = re.match("yes|in part|no(?=:)|", first)[0]
        for which in (
            (what, claim["data-source"]),
            ("bound first", shown or "no record shows it"),
        ):
            for verdict in (claim["data-verdict"], "all"):
                expected[*which, verdict] += 1
                expected[which[0], "all", verdict] += 1
    for counts in pages["index"].select("table.ledger-counts"):
        (what, *verdicts), *rows = (
            [cell.text for cell in row.select("td, th")]
            for row in counts.select("tr")
        )
        assert verdicts == [*VERDICTS, "all"]
        for source, *numbers in rows:
            for verdict, number in zip(verdicts, numbers, strict=True):
                asked = expected.pop((what, source, verdict), 0)
                assert int(number) == asked
    assert not expected


def test_a_chapter_that_does_not_print_its_claim_is_an_error():
    entry = {
        "page": "page",
        "quantity": "the sum",
        "control": "another",
        "equals": 4,
    }
    printed = "claim C holds: 4, expected exactly 4; control -5e-06\n"
    found = measured({"C": entry}, printed)["C"]
    assert found == ("holds", "4", "−5·10⁻⁶", "")
    for stale in ("", printed.replace("exactly 4", "exactly 3")):
        with pytest.raises(ExtensionError, match="run the chapter"):
            measured({"C": entry}, stale)


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
