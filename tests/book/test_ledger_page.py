"""The pages of verdicts: every claim has its row, every switch exists."""

import re
from collections import Counter
from pathlib import Path

import chapters
import ledger_page
import pytest
import torch
import typer.main
import yaml
from bs4 import BeautifulSoup, Tag
from docutils.nodes import make_id
from hypothesis import given
from hypothesis import strategies as st
from ledger_page import measured, readable, together
from measured_numbers import ADDRESS, NUMBER, outputs, printed
from small_book import build_pages
from sphinx.errors import ExtensionError

from annotated_transformer.commands.app import app
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.training import TrainConfig
from ledger.claims import read_claims

BOOK = Path(__file__).parents[2] / "book"
CLAIMS = read_claims(BOOK)


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, BeautifulSoup]:
    """The ledger and its chapters, of these the claims alone, built."""
    source = tmp_path_factory.mktemp("source")
    names = {entry["page"] for entry in CLAIMS.values()}
    for name in names:
        text = [name, "=" * 20, ""]
        if name == "ladder":
            text += ["It is so (:claim:`ladder-rotary`).", ""]
        text += [".. rst-class:: output", "", "::", ""]
        text += [f"    {line}" for line in claim_lines(name)]
        (source / f"{name}.rst").write_text("\n".join(text) + "\n", "utf-8")
    (source / "index.rst").write_text(
        "Ledger\n======\n\n:ref:`a claim <claim-p-3-1-d>`\n\n"
        ".. ledger-counts::\n\n.. ledger::\n\n.. withdrawn::\n\n"
        ".. toctree::\n   :glob:\n\n   *\n"
    )
    out, said = build_pages(
        source, "ledger_page", nitpicky=True, smartquotes=False
    )
    assert not said
    texts = (
        (name, (out / f"{name}.html").read_text("utf-8"))
        for name in ("index", *names)
    )
    return {name: BeautifulSoup(text, "html.parser") for name, text in texts}


def claim_lines(page: str) -> list[str]:
    """What the chapter, as it is stored, prints of its claims."""
    lines = outputs(page).splitlines()
    return [line for line in lines if line.startswith("claim ")]


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
    histories = yaml.safe_load(
        (BOOK / "runs" / "claim_histories.yml").read_text("utf-8")
    )
    for name, entry in CLAIMS.items():
        shown = found[make_id(f"claim-{name}")]
        text = words(shown.text)
        for field in (
            *("statement", "quote", "setting", "quantity", "control"),
            *("note", "translation", "why", "place"),
        ):
            assert shown_as(entry.get(field, "")) in text, (name, field)
        for record in entry.get("records", ()):
            assert record in text, name
        for change in histories.get(name, {}).get("changes", ()):
            said = f"{change['word']} {change['date']} ({change['commit']})"
            assert said in text and words(change["text"]) not in text
        assert shown["data-page"] == entry["page"]
        page, place = f"{entry['page']}.html", make_id(f"shown-{name}")
        links = {link["href"] for link in shown.select("a[href]")}
        assert {page, f"{page}#{place}"} <= links
        assert pages[entry["page"]].select_one(f"#{place}")
    for name in {entry["page"] for entry in CLAIMS.values()}:
        printed = "".join(pre.text for pre in pages[name].select("pre"))
        assert "claim " not in printed  # the sentences stand in their place


def test_a_claim_is_one_line_and_on_its_page_one_sentence(pages):
    """As the chapters print them, read here without the page's own way."""
    head, *rows = pages["index"].select("table.ledger tr")
    columns = [cell.text for cell in head.select("th")]
    assert columns == list(ledger_page.COLUMNS) and len(rows) == len(CLAIMS)
    by_id = {row.select_one("details")["id"]: row for row in rows}
    for page in {entry["page"] for entry in CLAIMS.values()}:
        for line in claim_lines(page):
            name, said = line.removeprefix("claim ").split(": ", 1)
            verdict, _, figure, *rest = said.split("; ")
            figure = readable(figure)
            row = by_id[make_id(f"claim-{name}")]
            _, cell, measured, size, p, seeds, tuned, control = (
                cell.text for cell in row.select("td")
            )
            shown = row.select_one("td .verdict").text
            assert shown.removesuffix(" †") == verdict
            status = {*rest} & {"explored", "registered"}
            assert cell == " ".join([shown, *status])
            assert row.select_one("details")["data-verdict"] == verdict
            assert measured.startswith(figure)
            assert tuned == CLAIMS[name].get("tuned", "")
            for part in rest:
                kind, _, value = part.partition(" ")
                if kind == "direction":
                    assert size == value.replace(" size ", " ")
                elif kind == "p":
                    assert p == value
                elif kind == "control":
                    assert control == readable(value)
                else:
                    assert part in (seeds, "explored", "registered")
            place = pages[page].select_one(f"#{make_id(f'shown-{name}')}")
            if name == "ladder-rotary":  # the next test
                continue
            sentence = words(place.text)
            statement = shown_as(CLAIMS[name]["statement"]).removesuffix(".")
            assert sentence.startswith(f"{shown}: {statement} (")
            assert figure in sentence and sentence.endswith(").")
            link = place.select_one("a")["href"]
            assert link == f"index.html#{make_id(f'claim-{name}')}"
            grey = place.select_one(".verdict.explored")
            assert bool(grey) == ("explored" in rest)
            end = "".join(f"; {x}" for x in status)
            assert sentence.endswith(f"{end}).")


def test_beneath_the_first_sentence_a_line_says_how_to_read_it(pages):
    """Once on each page that has one, and never on the ledger."""
    for name, page in pages.items():
        places = page.select(".claim-sentence")
        said = [place for place in places if place.text.strip()]
        keys = page.select(".claim-key")
        assert keys == [x.find_next_sibling() for x in said[:1]], name
    assert not pages["index"].select(".claim-key")


def test_a_page_that_says_a_verdict_itself_gets_no_second_sentence(pages):
    """But still the place that the ledger leads to."""
    page = pages["ladder"]
    said = words(page.select_one("section > p").text)
    assert re.fullmatch(r"It is so \(.+ nats, shown[^()]*\)\.", said)
    place = page.select_one("#shown-ladder-rotary")
    assert "claim-sentence" in place["class"] and not place.text.strip()


@pytest.mark.parametrize("name", CLAIMS)
def test_figures_of_a_note_are_printed_by_the_page(name):
    """Or are settings, which are formulas or stand in its statement."""
    entry = CLAIMS[name]
    said = outputs(entry["page"]) + entry["statement"]
    text = ADDRESS.sub("", re.sub(r"\$.*?\$", "", entry.get("note", "")))
    for figure in NUMBER.findall(text):
        assert printed(figure, said), figure


def test_quotations_in_chinese_say_that_they_are(pages):
    """Their translations and all that stands around them do not."""
    quotes = [words(entry.get("quote", "")) for entry in CLAIMS.values()]
    chinese = [quote for quote in quotes if re.search("[一-鿿]", quote)]
    shown = pages["index"].select("details.claim [lang=zh]")
    assert Counter(words(span.text) for span in shown) == Counter(chinese)


def test_all_that_left_are_counted():
    """Those before the list, too, whose number the page says."""
    page = (BOOK / "ledger.md").read_text("utf-8")
    assert f"By then {ledger_page.EARLIER} other claims had been" in page


def test_the_counts_add_up(pages):
    """Counted here in the table."""
    rows = pages["index"].select("table.ledger tbody tr")
    cells = [[cell.text for cell in row.select("td")] for row in rows]
    verdicts = [row.select_one("td .verdict").text for row in rows]
    number = Counter(shown.removesuffix(" †") for shown in verdicts)
    falls = sum(shown.endswith("†") for shown in verdicts)
    computed = sum(row[5].startswith("computed") for row in cells)
    assert computed == number["true"] + number["false"]
    registered = sum(shown.endswith("registered") for _, shown, *_ in cells)
    said = words(pages["index"].text)
    for part in (
        f"Of {len(cells) - computed} measured statements, "
        f"{number['shown']} are shown ({falls} of them fall",
        f"the opposite is shown of {number['the opposite shown']}, "
        f"{number['open']} are open, and {registered} were registered",
        f"of {computed} computed ones, {number['true']} are true.",
    ):
        assert part in said


@given(
    st.lists(st.floats(1e-6, 1), min_size=1, max_size=40), st.integers(0, 9)
)
def test_all_claims_together_are_held_to_benjamini_and_yekutieli(each, left):
    """By their step-up procedure, done by hand; those that left have p = 1."""
    ordered = sorted([*each, *[1.0] * left])
    m = len(ordered)
    harmonic = sum(1 / i for i in range(1, m + 1))
    kept = [
        p
        for rank, p in enumerate(ordered, 1)
        if p <= 0.05 * rank / m / harmonic
    ]
    bar = max(kept, default=0.0)
    for p, adjusted in zip(each, together(each, left), strict=True):
        if abs(adjusted - 0.05) > 1e-9:
            assert (adjusted < 0.05) == (p <= bar)


def test_a_chapter_that_does_not_print_its_claim_is_an_error():
    entry = {"page": "page", "quantity": "the sum", "equals": 4}
    printed = "claim C: true; equals 4; 4; control -5e-06\n"
    other = {"page": "page", "needs": "direction", "margin": "nats"}
    line = (
        "claim D: shown; needs direction; 2 [1, 3]; direction shown, size "
        "beyond 0.05; p 0.04; 3 seeds; explored\n"
    )
    found = measured({"C": entry, "D": other}, printed + line)
    assert found["C"].verdict == "true" and found["C"].control == "-5e-06"
    assert found["D"].words == "shown, beyond 0.05"
    assert found["D"].falls and not found["C"].falls
    for stale in ("", printed.replace("equals 4", "equals 3")):
        with pytest.raises(ExtensionError, match="run the chapter"):
            measured({"C": entry}, stale)


def switches() -> list[str]:
    """What the tables of versions name, at the end of their page."""
    notebook = chapters.read(BOOK / "paper_tables.ipynb")
    text = "".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
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
