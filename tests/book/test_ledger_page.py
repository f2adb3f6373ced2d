"""The pages of verdicts: every claim has its row, every switch exists."""

import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
import yaml
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from annotated_transformer.commands import options, train_options
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.teaching.claims import compare
from annotated_transformer.training import TrainConfig

BOOK = Path(__file__).parents[2] / "book"
CLAIMS = yaml.safe_load((BOOK / "claims.yml").read_text("utf-8"))


class Tables(HTMLParser):
    """The tables of a page by their class: rows of texts and of links."""

    def __init__(self, html: str):
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "table":
            self.rows = []
            for style in given.get("class", "").split():
                self.tables[style] = self.rows
        if tag == "tr":
            self.rows.append([])
            self.ids.append(given.get("id"))
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag in ("td", "th", "table"):
            self.inside = tag != "table"
        if tag == "a" and self.inside:
            self.links.append(given["href"])
        if tag in ("script", "link"):
            self.loads.append(given.get("src") or given.get("href") or "")

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Tables]:
    """The ledger and its chapters, these empty, built without the book."""
    source = tmp_path_factory.mktemp("source")
    chapters = {entry["chapter"] for entry in CLAIMS.values()}
    for name in chapters:
        (source / f"{name}.rst").write_text(f"{name}\n{'=' * 20}\n")
    (source / "index.rst").write_text(
        "Ledger\n======\n\n:ref:`a claim <claim-p-3-2-1-h>`\n\n"
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
        name: Tables((out / f"{name}.html").read_text("utf-8"))
        for name in ("index", *chapters)
    }


def test_the_ledger_has_a_row_for_every_claim(pages):
    page = pages["index"]
    head, *rows = page.tables["ledger"]
    assert head == ["claim", "source", "chapter", "rests on", "verdict"]
    assert {row[0].split()[0] for row in rows} == set(CLAIMS)
    assert len(rows) == len(CLAIMS)
    for row in rows:
        entry = CLAIMS[row[0].split()[0]]
        assert entry["statement"][1:] in row[0]
        assert entry.get("caveat", "") in row[0]
        expected = row[1].replace("The paper, ", "P ")
        assert expected == entry["source"]
        assert row[2:] == [
            entry[k] for k in ("chapter", "rests_on", "verdict")
        ]


def test_a_row_shows_what_was_measured_and_what_it_must_meet(pages):
    texts = [row[0] for row in pages["index"].tables["ledger"][1:]]
    due = [
        entry
        for entry in CLAIMS.values()
        if entry["verdict"] != "not yet measured"
        and entry.get("equals") is not True
    ]
    assert sum(" (expected " in text for text in texts) == len(due)
    assert not any(":  (expected " in text for text in texts)
    for name, figure in {
        "P-3.2.1-h": "64 ± 2",
        "P-4-a": "exactly 0",
        "P-0-a": "at least 2",
        "P-3.2.1-a": "at most 5·10⁻⁶",
        "P-3-a": "at most 10⁻⁶",
        "P-5.4-e": "1.377 ± 0.0005",
    }.items():
        (text,) = [t for t in texts if t.startswith(f"{name} ")]
        text = text.split("Caveat")[0].strip()
        assert text.endswith(f" (expected {figure})")
        found = re.search(r": (\S+) \(expected", text)[1]
        number = re.sub("·?10⁻(.)", r"e-\1", found.replace(",", ""))
        number = number.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))
        assert compare(CLAIMS[name], float(number))[0]


def test_every_claim_can_be_linked_to_and_leads_to_its_chapter(pages):
    page = pages["index"]
    anchors = [name for name in page.ids if name]
    assert len(anchors) == len(set(anchors)) == len(CLAIMS)
    assert "claim-p-3-2-1-h" in anchors
    chapters = [entry["chapter"] for entry in CLAIMS.values()]
    assert Counter(page.links) == Counter(f"{c}.html" for c in chapters)


def test_the_counts_add_up(pages):
    head, *rows = pages["index"].tables["ledger-counts"]
    count = {
        (row[0], verdict): int(number)
        for row in rows
        for verdict, number in zip(head[1:], row[1:], strict=True)
    }
    for entry in CLAIMS.values():
        count[entry["rests_on"], entry["verdict"]] -= 1
        count[entry["rests_on"], "all"] -= 1
        count["all", entry["verdict"]] -= 1
        count["all", "all"] -= 1
    assert set(count.values()) == {0}


def test_filters_are_loaded_on_the_ledger_only(pages):
    for name, page in pages.items():
        assert any("ledger.js" in x for x in page.loads) == (name == "index")
        assert any("tables.css" in x for x in page.loads) == (name == "index")


def switches() -> list[str]:
    text = (BOOK / "differences_from_paper.md").read_text("utf-8")
    return re.findall(r"`((?:--|\w+\()[^`]+)`", text)


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
    files = options.__file__, train_options.__file__
    declared = "".join(Path(file).read_text("utf-8") for file in files)
    for switch in found:
        if switch.startswith("--"):
            flag = switch[2:].replace("-", "_")
            given = f'{switch}"' in declared or f"{switch}/" in declared
            words = "".join(part.title() for part in flag.split("_"))
            assert given or re.search(rf"(?m)^{words}\w* = ", declared), switch
        else:
            eval(switch, names)


def test_the_rate_of_the_authors_program_is_what_the_table_says():
    (rate,) = [s for s in switches() if "peak_rate" in s]
    config = eval(rate, {"TrainConfig": TrainConfig})
    for step in (1, 8000, 100_000):
        theirs = 2 * 512**-0.5 * min(1, step / 8000) * max(step, 8000) ** -0.5
        assert config.rate(step, 512) == pytest.approx(theirs, rel=1e-3)
