"""The ledger as a page: every claim of the book, as a sceptic reads it.

```{ledger}``` is a list of claims by chapter, each of which unfolds to its
quotation, its measurement and its control; ```{ledger-counts}``` counts
verdicts by source, with what is computed apart from what is measured, and
```{withdrawn}``` lists the claims that left.
{measured}`P-6.1-d` is the figure of a claim, linked to the cell that printed
it, and {verdict}`P-6.1-d` its verdict, linked to the ledger. Where a cell
prints a claim, its page shows a badge. {needs}`P-6.1-d` is what would decide
a claim that is undecided. Verdicts and figures are those that
the chapters, as they are stored, print.
"""

import json
import re
from collections import Counter
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from api_links import labels
from docutils import nodes
from pybtex.database import BibliographyData, Entry, parse_file
from pybtex.richtext import Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.writers.html5 import HTML5Translator

from annotated_transformer.teaching.claims import (
    CHINESE,
    OURS,
    VERDICTS,
    Claim,
    bounds,
    demand,
    read_claims,
)

BOOK = Path(__file__).resolve().parents[1]
PAPER = "vaswani2017attention"
COMMENTARIES = {
    *("jnjyan2018", "introduction", "seq2seqnotes"),
    *("selfattentionqa", "xie2020source"),
}
KINDS = ("the paper", "commentaries", "other works", OURS)
FIRST = ("yes", "in part", "no", "no record shows it")
SIGNS = dict(zip(VERDICTS, "✓◐✗?", strict=True))
PRINTED = re.compile(
    rf"^claim (\S+) ({'|'.join(sorted(VERDICTS, reverse=True))}): "
    r"(.+), (expected .+?); control ([^;\n]+)(?:; (.*))?$",
    re.MULTILINE,
)
FORMULA = re.compile(r"\$([^$]+)\$")
POWER = re.compile(r"(-?[\d.]+)e-0*(\d+)")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Found(NamedTuple):
    """What a chapter has printed of a claim."""

    verdict: str
    figure: str  # with its interval
    control: str
    needs: str  # what would decide, where this does not


def paragraph(*children: nodes.Node | str, style: str = "") -> nodes.Node:
    """A paragraph of nodes and plain text."""
    block = nodes.paragraph(classes=[style] if style else [])
    block += [nodes.Text(c) if isinstance(c, str) else c for c in children]
    return block


def marked(text: str) -> list[nodes.Node]:
    """Text whose $...$ are formulas."""
    pieces = FORMULA.split(" ".join(text.split()))
    return [
        nodes.math(piece, piece) if place % 2 else nodes.Text(piece)
        for place, piece in enumerate(pieces)
        if piece
    ]


def quoted(text: str) -> nodes.Node:
    """A quotation; one in Chinese says so, to browsers and to voices."""
    chinese = CHINESE.search(text)
    quote = nodes.inline(classes=["language-zh"] if chinese else [])
    quote += marked(text)
    return quote


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


def kind(source: str) -> str:
    """Who says it: one of four kinds of source."""
    if source in (PAPER, OURS):
        return KINDS[0] if source == PAPER else OURS
    return KINDS[1] if source in COMMENTARIES else KINDS[2]


def outputs() -> str:
    """Everything that the chapters, as they are stored, have printed."""
    return "".join(
        "".join(output.get("text", ""))
        for path in sorted(BOOK.glob("*.ipynb"))
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for output in cell.get("outputs", [])
    )


def measured(claims: dict[str, Claim], printed: str) -> dict[str, Found]:
    """The verdicts, figures and controls of all claims.

    ExtensionError where a chapter has printed none: run it.
    """
    lines = {name: said for name, *said in PRINTED.findall(printed)}
    found = {}
    for name, entry in claims.items():
        verdict, figure, asked, control, needs = lines.get(name, [""] * 5)
        if asked != demand(entry):
            raise ExtensionError(
                f"{entry['page']}.ipynb does not print {name} as "
                f"{entry['page']}.yml has it now: run the chapter"
            )
        found[name] = Found(
            verdict, readable(figure), readable(control), needs
        )
    return found


@cache
def everywhere() -> dict[str, Found]:
    """What is measured of every claim of the book."""
    return measured(read_claims(BOOK), outputs())


def readable(figure: str) -> str:
    """5e-06 as 5·10⁻⁶, and a minus sign where there is one."""
    text = POWER.sub(as_power, figure)
    return re.sub(r"(?<![\w⁻])-(?=[\d.])", "−", text)


def as_power(figure: re.Match[str]) -> str:
    """A number in scientific notation as it is written by hand."""
    factor = "" if figure[1] == "1" else f"{figure[1]}·"
    return f"{factor}10⁻{figure[2].translate(RAISED)}"


@cache
def bibliography() -> BibliographyData:
    """The works of references.bib."""
    return parse_file(str(BOOK / "references.bib"))


def plain(text: str) -> str:
    """LaTeX as it is read."""
    return str(Text.from_latex(text)).replace("{", "").replace("}", "")


def authors(work: Entry) -> str:
    """One or two family names, or the first and "et al."."""
    names = [
        plain(" ".join([*person.prelast_names, *person.last_names]))
        for person in work.persons["author"]
    ]
    if len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names)


def short_source(source: str) -> str:
    """A source in a word or three, as a filter lists it."""
    if source in (OURS, PAPER):
        return KINDS[0] if source == PAPER else OURS
    work = bibliography().entries[source]
    year = work.fields.get("year", "")
    name = authors(work)
    if name == "unsigned":
        return f"unsigned, {UNSIGNED[source]}"
    return f"{name} {year}".strip()


UNSIGNED = {
    "introduction": "an introduction",
    "seq2seqnotes": "notes on sequence to sequence",
    "selfattentionqa": "self-attention Q&A",
}


def full_source(entry: Claim) -> list[nodes.Node | str]:
    """Author, title, where published, and the place in it."""
    work = bibliography().entries[entry["source"]]
    fields = work.fields
    where = next(
        (fields[x] for x in ("booktitle", "journal") if x in fields), ""
    )
    address = re.search(r"\\url\{([^}]+)\}", fields.get("howpublished", ""))
    if not address:
        where = where or fields.get("howpublished", "")
    said = [authors(work), plain(fields["title"]), plain(where)]
    said += [fields.get("year", ""), plain(fields.get("note", ""))]
    parts: list[nodes.Node | str] = [
        ", ".join(x for x in said if x) + f"; {entry['place']}"
    ]
    if address:
        link = nodes.reference("", address[1], refuri=address[1])
        parts += [". ", link]
    return parts


class claim_entry(nodes.General, nodes.Element):
    """A claim, folded: a summary and what stands under it."""


class claim_summary(nodes.General, nodes.TextElement):
    """The line that is seen of a folded claim."""


def visit_entry(self: HTML5Translator, node: claim_entry) -> None:
    data = {f"data-{key}": node[key] for key in ("verdict", "source", "page")}
    self.body.append(self.starttag(node, "details", CLASS="claim", **data))


def depart_entry(self: HTML5Translator, node: claim_entry) -> None:
    self.body.append("</details>\n")


def visit_summary(self: HTML5Translator, node: claim_summary) -> None:
    self.body.append(self.starttag(node, "summary", ""))


def depart_summary(self: HTML5Translator, node: claim_summary) -> None:
    self.body.append("</summary>\n")


class Ledger(SphinxDirective):
    """```{ledger}``` is the list of claims by chapter, each with an anchor."""

    def run(self) -> list[nodes.Node]:
        claims, pages = read_claims(BOOK), dict[str, list[str]]()
        for name, entry in claims.items():
            pages.setdefault(entry["page"], []).append(name)
        blocks: list[nodes.Node] = []
        for page, names in pages.items():
            heading = paragraph(page_link(self.env, page), style="of-page")
            entries = map(self.entry, names)
            blocks.append(
                nodes.container("", heading, *entries, classes=["claims"])
            )
        return blocks

    def entry(self, name: str) -> nodes.Node:
        """A claim that `{ref}` finds as claim-<its id>."""
        entry, found = read_claims(BOOK)[name], everywhere()[name]
        claim = folded(self.env, f"claim-{name}", name)
        source = short_source(entry["source"])
        if entry["source"] == PAPER:
            source = f"{source}, {entry['place']}"
        claim += claim_summary(
            "",
            "",
            verdict_of(found.verdict),
            nodes.Text(" "),
            *marked(entry["statement"]),
            nodes.Text(" "),
            nodes.inline("", source, classes=["source"]),
        )
        claim += details(self.env, name, entry, found, full=True)
        return claim


class Withdrawn(SphinxDirective):
    """```{withdrawn}``` lists claims that left, with verdict and reason."""

    def run(self) -> list[nodes.Node]:
        text = (BOOK / "withdrawn_claims.yml").read_text("utf-8")
        rows = [
            row(
                paragraph(
                    verdict_of(entry["verdict"])
                    if "verdict" in entry
                    else "none printed"
                ),
                paragraph(
                    *marked(entry["statement"]),
                    " ",
                    nodes.inline(
                        "", short_source(entry["source"]), classes=["source"]
                    ),
                ),
                paragraph(*marked(readable(entry["figure"]))),
                paragraph(*marked(entry["why"])),
            )
            for entry in yaml.safe_load(text).values()
        ]
        head = ["verdict", "statement", "measured", "why it left"]
        return [table(head, rows, style="cards withdrawn")]


def folded(env: BuildEnvironment, place: str, name: str) -> claim_entry:
    """A claim without its contents, at a place that links can name."""
    entry, anchor = read_claims(BOOK)[name], nodes.make_id(place)
    claim = claim_entry(
        verdict=everywhere()[name].verdict,
        source=kind(entry["source"]),
        page=entry["page"],
        ids=[anchor],
    )
    labels(env).note_hyperlink_target(anchor, env.docname, anchor, name)
    return claim


def details(
    env: BuildEnvironment, name: str, entry: Claim, found: Found, full: bool
) -> nodes.definition_list:
    """What a sceptic asks for, term by term; a badge has less than all."""
    rows: list[tuple[str, list[nodes.Node | str]]] = []
    if "quote" in entry:
        quote = ["“", quoted(entry["quote"]), "”"]
        if "translation" in entry:
            quote += [" (“", *marked(entry["translation"]), "”)"]
        rows += [("said", [*quote, " — ", *full_source(entry)])]
    why = entry.get("why") or (
        f"the margin of {METRICS[entry['metric']]}, for a claim that "
        f"says “{entry['demands']}”"
    )
    figure = f"{entry['quantity']}: {found.figure}"
    if found.needs:
        figure += f"; {found.needs}"
    rows += [
        ("measured", [figure]),
        ("expected", [f"{readable(demand(entry))[9:]}; ", *marked(why)]),
        ("control", [f"{entry['control']}: {found.control}"]),
    ]
    rows += [
        (field, marked(entry[field]))
        for field in ("caveat", "note")
        if field in entry
    ]
    if full:
        cell = reference(env, f"shown-{name}", "the cell")
        rows += [
            ("bound first", [bound_first(name, entry)]),
            ("rests on", ground(entry)),
            ("shown in", [page_link(env, entry["page"]), ", ", cell]),
        ]
        if "history" in entry:
            rows.append(("history", marked(entry["history"])))
        rows.append(("name", [nodes.literal("", name, classes=["id"])]))
    else:
        ledger = reference(env, f"claim-{name}", name)
        said = [*marked(entry["statement"]), " (", ledger, ")"]
        rows.insert(0, ("claim", said))
    listed = nodes.definition_list(classes=["claim-details"])
    for term, said in rows:
        listed += nodes.definition_list_item(
            "",
            nodes.term("", term),
            nodes.definition("", paragraph(*said)),
        )
    return listed


def bound_first(name: str, entry: Claim) -> str:
    """Whether the bound is older than the figure, as far as can be verified.

    What was known of the figure when the bound was set outweighs a record.
    """
    known = entry.get("known")
    now = [x if isfinite(x) else None for x in bounds(entry)]
    for record in entry.get("records", ()):
        text = (BOOK / "runs" / f"{record}.json").read_text("utf-8")
        if json.loads(text).get("margins", {}).get(name) == now:
            first = f"{record} has kept it since before its first run"
            return (
                f"in part: {first}, but {known}" if known else f"yes: {first}"
            )
    if known:
        return f"no: {known}"
    if "metric" in entry:
        return "a general margin; no record shows that it came first"
    return "no record shows it"


def ground(entry: Claim) -> list[nodes.Node | str]:
    """What a verdict rests on."""
    said = f"{entry['rests_on']}"
    if "records" in entry:
        said += f" ({', '.join(entry['records'])})"
    if "no_chance" in entry:
        said += f"; no chance: {entry['no_chance']}"
    return [said]


class OfClaim(SphinxRole):
    """A figure or a verdict, as a link to the claim that it belongs to."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            found = everywhere()[self.text]
        except KeyError:
            raise ExtensionError(
                f"{self.env.docname}: no page claims {self.text}"
            ) from None
        if self.name == "measured":
            shown = f"shown-{self.text}"
            return [reference(self.env, shown, found.figure)], []
        said = verdict_of(found.verdict).astext()
        if self.name == "needs":
            said = found.needs
            if not said:
                raise ExtensionError(
                    f"{self.env.docname}: {self.text} needs nothing: it is "
                    f"{found.verdict}"
                )
        return [reference(self.env, f"claim-{self.text}", said)], []


def reference(env: BuildEnvironment, name: str, text: str) -> nodes.Node:
    """A link to a claim's place in the ledger or in its chapter."""
    link = pending(env, "ref", nodes.make_id(name), explicit=True)
    link += nodes.inline("", text, classes=["of-claim"])
    return link


def page_link(env: BuildEnvironment, page: str) -> nodes.Node:
    """A link to a page, by its title."""
    link = pending(env, "doc", page, explicit=False)
    link += nodes.inline("", page)
    return link


def pending(
    env: BuildEnvironment, kind: str, target: str, explicit: bool
) -> addnodes.pending_xref:
    """A link that Sphinx resolves; explicit keeps the text that it has."""
    return addnodes.pending_xref(
        refdomain="std",
        reftype=kind,
        refdoc=env.docname,
        reftarget=target,
        refexplicit=explicit,
        refwarn=True,
    )


def show_badges(app: Sphinx, doctree: nodes.document) -> None:
    """Show what a cell prints of claims as badges, found as shown-<the id>."""
    for block in list(doctree.findall(nodes.literal_block)):
        printed = (name for name, *_ in PRINTED.findall(block.astext()))
        names = list(dict.fromkeys(printed))
        if not names or "output" not in block["classes"]:
            continue
        rest = PRINTED.sub("", block.astext()).strip("\n")
        said = [nodes.literal_block(rest, rest, **block.attributes)]
        badges = [badge(app.env, name) for name in names]
        block.parent.replace(block, (said if rest else []) + badges)
    # whether a page needs MathJax was decided before its folds were there
    app.env.get_domain("math").process_doc(app.env, app.env.docname, doctree)


def badge(env: BuildEnvironment, name: str) -> nodes.Node:
    """A claim where it is tried: its verdict and figure; the rest unfolds."""
    entry, found = read_claims(BOOK)[name], everywhere()[name]
    claim = folded(env, f"shown-{name}", name)
    claim["classes"].append("tried-here")
    said = f" {found.figure}; {readable(demand(entry))}"
    verdict = verdict_of(found.verdict)
    claim += claim_summary("", "", verdict, nodes.Text(said))
    claim += details(env, name, entry, found, full=False)
    return claim


def verdict_of(verdict: str) -> nodes.inline:
    """A verdict with its sign, in its colour."""
    return nodes.inline(
        "",
        f"{SIGNS[verdict]} {verdict}",
        classes=["verdict", nodes.make_id(verdict)],
    )


METRICS = {
    "bleu": "one point of BLEU",
    "nats": "0.05 nats per token",
    "accuracy": "0.01 of right answers",
}


class LedgerCounts(SphinxDirective):
    """```{ledger-counts}``` counts claims by source and by verdict.

    What nothing random can move, arithmetic and identities, has its own
    table. The last one goes by whether the bound came first.
    """

    def run(self) -> list[nodes.Node]:
        claims = read_claims(BOOK)
        count = Counter[tuple[str, str, str]]()
        for name, found in everywhere().items():
            entry = claims[name]
            first = bound_first(name, entry).partition(":")[0]
            by = {
                grounds(entry): kind(entry["source"]),
                "bound first": first if first in FIRST else FIRST[-1],
            }
            for what, which in by.items():
                for verdict in (found.verdict, "all"):
                    count[what, which, verdict] += 1
                    count[what, "all", verdict] += 1
        verdicts = [*VERDICTS, "all"]
        return [
            table(
                [what, *verdicts],
                [
                    row(
                        paragraph(which),
                        *(
                            paragraph(str(count[what, which, v]))
                            for v in verdicts
                        ),
                    )
                    for which in (*KINDS, *FIRST, "all")
                    if count[what, which, "all"]
                ],
                style="ledger-counts",
            )
            for what in ("measured", "computed", "bound first")
        ]


def grounds(entry: Claim) -> str:
    """Whether a claim is measured, or computed by arithmetic or identity."""
    chance = entry["rests_on"] in ("experiment", "record")
    return "measured" if chance else "computed"


def load_where_needed(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give styles to pages with cards or claims, the filters to the ledger."""
    if not doctree:
        return
    styles = {x for t in doctree.findall(nodes.table) for x in t["classes"]}
    if styles & {"cards", "ledger-counts"}:
        app.add_css_file("tables.css")
    claims = list(doctree.findall(claim_entry))
    if claims:
        app.add_css_file("claims.css")
    if any("tried-here" not in entry["classes"] for entry in claims):
        app.add_js_file("ledger.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(claim_entry, html=(visit_entry, depart_entry))
    app.add_node(claim_summary, html=(visit_summary, depart_summary))
    app.add_directive("ledger", Ledger)
    app.add_directive("ledger-counts", LedgerCounts)
    app.add_directive("withdrawn", Withdrawn)
    app.add_role("measured", OfClaim())
    app.add_role("verdict", OfClaim())
    app.add_role("needs", OfClaim())
    app.connect("doctree-read", show_badges)
    app.connect("html-page-context", load_where_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
