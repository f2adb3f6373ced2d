"""The ledger as a page: every claim of claims.yml, and how many hold."""

import json
import re
from collections import Counter
from math import nan
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.teaching.claims import (
    VERDICTS,
    compare,
    read_claims,
)

BOOK = Path(__file__).resolve().parents[1]
CLAIMS = BOOK / "claims.yml"
LINE = re.compile(r"claim (\S+) .+: (\S+) \(expected [^()]+\)")
POWER = r"([\d.]+)e-0*(\d+)"
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
GROUNDS = ("arithmetic", "identity", "experiment", "record")


def paragraph(*children: nodes.Node | str, style: str = "") -> nodes.Node:
    """A paragraph of nodes and plain text."""
    block = nodes.paragraph(classes=[style] if style else [])
    block += [nodes.Text(c) if isinstance(c, str) else c for c in children]
    return block


def table(
    head: list[str], rows: list[nodes.row], *, style: str
) -> nodes.table:
    """A table with one line of column names; cards makes rows into cards."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    names = row(*(paragraph(name) for name in head))
    group += nodes.thead("", names)
    group += nodes.tbody("", *rows)
    return nodes.table("", group, classes=style.split())


def row(*cells: nodes.Node | list[nodes.Node]) -> nodes.row:
    """A row of cells, each one block or a list of them."""
    blocks = [cell if isinstance(cell, list) else [cell] for cell in cells]
    return nodes.row("", *(nodes.entry("", *block) for block in blocks))


def said_by(source: str) -> str:
    """A source as it is read: P is the paper, by section."""
    return f"The paper, {source[2:]}" if source[:2] == "P " else source


def measured() -> dict[str, str]:
    """What the chapters, as they are stored, have printed for each claim."""
    outputs = (
        "".join(output.get("text", ""))
        for path in BOOK.glob("*.ipynb")
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for output in cell.get("outputs", [])
    )
    return dict(found for text in outputs for found in LINE.findall(text))


def what(entry: dict, figure: str) -> str:
    """The statement of a claim, its figure, and what this must meet."""
    statement = entry["statement"][:1].upper() + entry["statement"][1:]
    if entry["verdict"] == "not yet measured" or entry.get("equals") is True:
        return statement
    _, demand = compare(entry, nan)  # in words; nothing is measured here
    both = f"{figure} ({demand})"
    return f"{statement}: {re.sub(POWER, as_power, both)}"


def as_power(figure: re.Match) -> str:
    """5e-06 as 5·10⁻⁶."""
    factor = "" if figure[1] == "1" else f"{figure[1]}·"
    return f"{factor}10⁻{figure[2].translate(RAISED)}"


class Ledger(SphinxDirective):
    """```{ledger}``` is the table of claims, each row with an anchor."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(CLAIMS))
        claims = read_claims(CLAIMS)
        in_order = sorted(claims, key=lambda name: claims[name]["chapter"])
        figures = measured()
        rows = [
            self.row(name, claims[name], figures.get(name, ""))
            for name in in_order
        ]
        head = ["claim", "source", "chapter", "rests on", "verdict"]
        return [table(head, rows, style="ledger cards")]

    def row(self, name: str, entry: dict, figure: str) -> nodes.row:
        """A claim as a row that `{ref}` finds as claim-<its id>."""
        said = what(entry, figure)
        claim = [paragraph(nodes.literal("", name), " ", said)]
        if "caveat" in entry:
            caveat = f"Caveat: {entry['caveat']}"
            claim.append(paragraph(caveat, style="caveat"))
        cells = [said_by(entry["source"]), entry["rests_on"], entry["verdict"]]
        source, ground, verdict = map(paragraph, cells)
        line = row(claim, source, self.link(entry), ground, verdict)
        anchor = nodes.make_id(f"claim-{name}")
        line["ids"].append(anchor)
        self.env.get_domain("std").note_hyperlink_target(
            anchor, self.env.docname, anchor, name
        )
        return line

    def link(self, entry: dict) -> nodes.Node:
        """The chapter, by its title."""
        page = addnodes.pending_xref(
            refdomain="std",
            reftype="doc",
            refdoc=self.env.docname,
            reftarget=entry["chapter"],
            refexplicit=False,
            refwarn=True,
        )
        page += nodes.inline("", entry["chapter"])
        return paragraph(page)


class LedgerCounts(SphinxDirective):
    """```{ledger-counts}``` counts claims by ground and by verdict."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(CLAIMS))
        count = Counter()
        for entry in read_claims(CLAIMS).values():
            for ground in (entry["rests_on"], "all"):
                for verdict in (entry["verdict"], "all"):
                    count[ground, verdict] += 1
        verdicts = [*VERDICTS, "all"]
        rows = [
            row(
                paragraph(ground),
                *(paragraph(str(count[ground, v])) for v in verdicts),
            )
            for ground in (*GROUNDS, "all")
        ]
        return [table(["rests on", *verdicts], rows, style="ledger-counts")]


def load_where_needed(app, page, template, context, doctree) -> None:
    """Give the style to pages with cards, the filters to the ledger."""
    tables = doctree.findall(nodes.table) if doctree else ()
    styles = {style for found in tables for style in found["classes"]}
    if styles & {"cards", "ledger-counts"}:
        app.add_css_file("tables.css")
    if "ledger" in styles:
        app.add_js_file("ledger.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("ledger", Ledger)
    app.add_directive("ledger-counts", LedgerCounts)
    app.connect("html-page-context", load_where_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
