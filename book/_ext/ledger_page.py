"""The ledger as a page: every claim of the book, one line each.

```{ledger}``` is a table of claims, each of which unfolds to its quotation,
its quantity and its control; ```{ledger-counts}``` counts them in a sentence,
and ```{withdrawn}``` lists the claims that left.
{measured}`P-6.1-d` is the figure of a claim, linked to the cell that printed
it, {verdict}`P-6.1-d` what it shows, linked to the ledger, {claim}`P-6.1-d`
both. Where a cell prints a claim, its page gets a sentence, unless the page
has one with the verdict; beneath the first a line says how to read it.
Figures are those that the chapters, as they are stored, print.
"""

import re
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import yaml
from api_links import labels
from docutils import nodes
from each_page import Page, each_page
from edition import say
from notebooks import cells, output
from pybtex.database import BibliographyData, parse_file
from pybtex.richtext import Text
from references import authors
from scipy.stats import false_discovery_control
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.writers.html5 import HTML5Translator
from written_tables import paragraph, row, table

from ledger import BOOK
from ledger.claims import (
    CHINESE,
    FALSE,
    NOT_REPEATED,
    OPEN,
    OPPOSITE,
    OURS,
    PRINTED,
    SHOWN,
    TRUE,
    Claim,
    asked,
    read_claims,
)

PAPER = "vaswani2017attention"
COMMENTARIES = {
    *("jnjyan2018", "introduction", "seq2seqnotes"),
    *("selfattentionqa", "xie2020source"),
}
KINDS = ("the paper", "commentaries", "other works", OURS)
UNITS = {"bleu": " BLEU", "nats": " nats", "accuracy": ""}
COLUMNS = (
    *("statement", "verdict", "figure", "direction and size, or number"),
    *("p", "seeds", "tuned", "control"),
)
WITHDRAWN, HISTORIES = "withdrawn_claims.yml", "runs/claim_histories.yml"
FALLS = "†"  # where all claims are tested together
EARLIER = 84  # claims that left before the list of withdrawn ones begins
FORMULA = re.compile(r"\$([^$]+)\$")
COUNT = re.compile(r"\d[\d.,e-]*(?<!,)")
POWER = re.compile(r"(-?[\d.]+)e-0*(\d+)")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Found(NamedTuple):
    """What a chapter has printed of a claim; "" where nothing was."""

    verdict: str
    asked: str
    figure: str  # with its interval
    direction: str
    size: str
    p: str
    seen: str
    status: str
    control: str
    falls: bool  # together with all others

    @property
    def words(self) -> str:
        """Direction and size, or the number that was asked for."""
        return f"{self.direction}, {self.size}" if self.size else self.asked


def marked(text: str) -> list[nodes.Node]:
    """Text whose $...$ are formulas."""
    pieces = FORMULA.split(" ".join(text.split()))
    return [
        nodes.math(piece, piece) if place % 2 else nodes.Text(piece)
        for place, piece in enumerate(pieces)
        if piece
    ]


def quoted(text: str) -> nodes.Node:
    """A quotation; one in Chinese is so as a whole, whatever stands in it."""
    chinese = CHINESE.search(text)
    quote = nodes.inline(classes=["language-zh"] if chinese else [])
    quote += marked(text)
    return quote


def kind(source: str) -> str:
    """Who says it: one of four kinds of source."""
    if source in (PAPER, OURS):
        return KINDS[0] if source == PAPER else OURS
    return KINDS[1] if source in COMMENTARIES else KINDS[2]


def outputs() -> str:
    """Everything that the chapters, as they are stored, have printed."""
    return "\n".join(
        output(cell)
        for path in sorted(BOOK.glob("*.ipynb"))
        for cell in cells(path)
    )


def measured(claims: dict[str, Claim], printed: str) -> dict[str, Found]:
    """What is measured of all claims, and what falls if tested together.

    ExtensionError where a chapter has printed none: run it.
    """
    lines = {said["name"]: said for said in PRINTED.finditer(printed)}
    found = {}
    for name, entry in claims.items():
        if name not in lines or lines[name]["asked"] != asked(entry):
            raise ExtensionError(
                f"{entry['page']}.ipynb does not print {name} as "
                f"{entry['page']}.yml has it now: run the chapter"
            )
        found[name] = Found._make([*lines[name].groups("")[1:], False])
    chosen = [name for name, one in found.items() if one.p]
    each = [float(found[name].p.removeprefix("< ")) for name in chosen]
    left = len(stored(WITHDRAWN)) + EARLIER
    for name, p in zip(chosen, together(each, left), strict=True):
        falls = found[name].verdict == SHOWN and p > 0.05
        found[name] = found[name]._replace(falls=falls)
    return found


def together(each: list[float], left: int) -> list[float]:
    """Each p as Benjamini and Yekutieli adjust it, among those that left."""
    adjusted = false_discovery_control([*each, *[1.0] * left], method="by")
    return [float(p) for p in adjusted[: len(each)]]


@cache
def everywhere() -> dict[str, Found]:
    """What is measured of every claim of the book."""
    return measured(read_claims(BOOK), outputs())


@cache
def stored(name: str) -> dict[str, Any]:
    """What a file of the book says of claims, by their names."""
    found: dict[str, Any] = yaml.safe_load((BOOK / name).read_text("utf-8"))
    return found


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


def short_source(source: str) -> str:
    """A source in a word or three, as a filter lists it."""
    if source in (OURS, PAPER):
        return kind(source)
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
    """Author, title, place and address; the bibliography has the rest."""
    fields = bibliography().entries[entry["source"]].fields
    said = f"{short_source(entry['source'])}, {plain(fields['title'])}"
    parts: list[nodes.Node | str] = [f"{said}; {entry['place']}"]
    if found := re.search(r"\\url\{([^}]+)\}", fields.get("howpublished", "")):
        parts += [". ", nodes.reference("", found[1], refuri=found[1])]
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


# Filled by ledger.js; it stands there before, so that nothing moves.
FILTERS = (
    '<form class="ledger-filter pst-js-only">'
    + "".join(
        f'<label>{key}<select name="{key}"><option value="">all</option>'
        "</select></label>"
        for key in ("verdict", "source", "page")
    )
    + '<button type="reset">show all</button>'
    '<button type="button" name="unfold">unfold</button>'
    '<output name="shown">claims</output></form>'
)


class Ledger(SphinxDirective):
    """```{ledger}``` is the table of claims, each with an anchor."""

    def run(self) -> list[nodes.Node]:
        rows = [
            row(
                folded(self.env, name, entry),
                paragraph(
                    verdict_of(found), found.status and f" {found.status}"
                ),
                paragraph(readable(found.figure + unit(entry, found))),
                paragraph(readable(found.words)),
                paragraph(readable(found.p)),
                paragraph(found.seen or f"computed, {entry['computed']}"),
                paragraph(entry.get("tuned", "")),
                paragraph(readable(found.control)),
            )
            for name, entry in read_claims(BOOK).items()
            for found in [everywhere()[name]]
        ]
        filters = nodes.raw("", FILTERS, format="html")
        return [filters, table(COLUMNS, rows, style="cards ledger")]


class Withdrawn(SphinxDirective):
    """```{withdrawn}``` lists claims that left, with verdict and reason."""

    def run(self) -> list[nodes.Node]:
        rows = []
        for name, entry in stored(WITHDRAWN).items():
            left = stored(HISTORIES)[name]
            source = short_source(entry.get("source", OURS))
            said = nodes.inline("", source, classes=["source"])
            rows.append(
                row(
                    paragraph(*marked(entry["statement"]), " ", said),
                    paragraph(readable(left["printed"])),
                    paragraph(*marked(entry["why"])),
                    paragraph(left["withdrawn"]),
                )
            )
        head = ("statement", "last printed", "why it left", "when")
        return [table(head, rows, style="cards withdrawn")]


class LedgerCounts(SphinxDirective):
    """```{ledger-counts}``` says in a sentence how many are what."""

    def run(self) -> list[nodes.Node]:
        return [paragraph(counts(everywhere()))]


def counts(found: dict[str, Found]) -> str:
    """How many claims are shown, or true, and how many were registered."""
    number = Counter(one.verdict for one in found.values())
    computed = number[TRUE] + number[FALSE]
    registered = sum(one.status == "registered" for one in found.values())
    falls = sum(one.falls for one in found.values())
    again = number[NOT_REPEATED]
    return (
        f"Of {len(found) - computed} measured statements, {number[SHOWN]} are "
        f"shown ({falls} of them fall if all are tested together, {FALLS}), "
        f"the opposite is shown of {number[OPPOSITE]}, {number[OPEN]} are "
        f"open{f', {again} not repeated' if again else ''}, and {registered} "
        f"were registered before they were measured; of {computed} computed "
        f"ones, {number[TRUE]} are true."
    )


def anchored(env: BuildEnvironment, place: str, name: str) -> str:
    """The anchor of a place that links can name."""
    anchor = nodes.make_id(place)
    labels(env).note_hyperlink_target(anchor, env.docname, anchor, name)
    return anchor


def folded(env: BuildEnvironment, name: str, entry: Claim) -> claim_entry:
    """A claim's statement, found as claim-<its id>, with the rest folded."""
    source = short_source(entry["source"])
    if entry["source"] == PAPER:
        source = f"{source}, {entry['place']}"
    claim = claim_entry(
        verdict=everywhere()[name].verdict,
        source=kind(entry["source"]),
        page=entry["page"],
        ids=[anchored(env, f"claim-{name}", name)],
    )
    said = nodes.inline("", source, classes=["source"])
    statement = [*marked(entry["statement"]), nodes.Text(" ")]
    claim += claim_summary("", "", *statement, said)
    claim += details(env, name, entry)
    return claim


def details(
    env: BuildEnvironment, name: str, entry: Claim
) -> nodes.definition_list:
    """What a sceptic asks for, term by term."""
    rows: list[tuple[str, list[nodes.Node | str]]] = []
    if "quote" in entry:
        quote = ["“", quoted(entry["quote"]), "”"]
        if "translation" in entry:
            quote += [" (“", *marked(entry["translation"]), "”)"]
        rows.append(("said", [*quote, " — ", *full_source(entry)]))
    if "setting" in entry:
        rows.append(("setting", marked(entry["setting"])))
    why = [": ", *marked(entry["why"])] if "why" in entry else []
    rows += [
        ("quantity", [entry["quantity"]]),
        ("asked for", [readable(everywhere()[name].asked), *why]),
    ]
    rows += [
        (field, marked(entry[field]))
        for field in ("control", "note")
        if field in entry
    ]
    if given := entry.get("registered"):
        each = [f"{key}: {value}" for key, value in given.items()]
        rows.append(("registered", ["; ".join(each)]))
    cell = reference(env, f"shown-{name}", "the cell")
    records = entry.get("records", [])
    among = [f"; records: {', '.join(records)}"] if records else []
    rows.append(
        ("shown in", [page_link(env, entry["page"]), ", ", cell, *among])
    )
    changes = [
        f"{x['word']} {x['date']} ({x['commit']})"
        for x in stored(HISTORIES).get(name, {}).get("changes", ())
    ]
    if changes:
        rows.append(("changed", ["; ".join(changes)]))
    rows.append(("name", [nodes.literal("", name, classes=["id"])]))
    listed = nodes.definition_list(classes=["claim-details"])
    for term, said in rows:
        listed += nodes.definition_list_item(
            "",
            nodes.term("", term),
            nodes.definition("", paragraph(*said)),
        )
    return listed


def unit(entry: Claim, found: Found) -> str:
    """What a figure is counted in, where it has no other name."""
    return UNITS[entry["margin"]] if found.size else ""


class OfClaim(SphinxRole):
    """A figure or a verdict, as a link to the claim that it belongs to."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            found = everywhere()[self.text]
        except KeyError:
            raise ExtensionError(
                f"{self.env.docname}: no page claims {self.text}"
            ) from None
        said = readable(found.figure)
        if self.name == "measured":
            return [reference(self.env, f"shown-{self.text}", said)], []
        verdict = verdict_of(found).astext()
        if found.size:
            verdict += f", {found.size}"
        if self.name == "claim":
            said += unit(read_claims(BOOK)[self.text], found)
            verdict = f"{said}, {verdict}"
        return [reference(self.env, f"claim-{self.text}", verdict)], []


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


def show_sentences(app: Sphinx, doctree: nodes.document) -> None:
    """Say what a cell prints of claims, each found as shown-<the id>."""
    said_already = {
        link["reftarget"] for link in doctree.findall(addnodes.pending_xref)
    }
    explained = False
    for block in list(doctree.findall(nodes.literal_block)):
        names = [said["name"] for said in PRINTED.finditer(block.astext())]
        if not names or "output" not in block["classes"]:
            continue
        rest = PRINTED.sub("", block.astext()).strip("\n")
        shown = [nodes.literal_block(rest, rest, **block.attributes)]
        for name in names:
            place = nodes.container(classes=["claim-sentence"])
            place["ids"].append(anchored(app.env, f"shown-{name}", name))
            shown.append(place)
            if nodes.make_id(f"claim-{name}") in said_already:
                continue
            place += sentence(app.env, name)
            if not explained:
                shown.append(key())
                explained = True
        block.parent.replace(block, shown if rest else shown[1:])
    # whether a page needs MathJax was decided before these were there
    app.env.get_domain("math").process_doc(app.env, app.env.docname, doctree)


def key() -> nodes.Node:
    """How to read such a sentence, beneath the first of a page."""
    return paragraph(
        say(
            "In brackets: what we measured (the verdict leads to its "
            "definition), its 90% interval where chance plays a part, and "
            "the limit it is compared with. Registered: fixed before the "
            "first run; explored: perhaps only when the figure was known."
        ),
        style="claim-key",
    )


def sentence(env: BuildEnvironment, name: str) -> nodes.Node:
    """A claim where it is tried: verdict, statement and figure."""
    entry, found = read_claims(BOOK)[name], everywhere()[name]
    shown = verdict_of(found)
    text = shown.astext()
    shown[:] = [reference(env, f"claim-{name}", text)]
    figure = found.figure + unit(entry, found)
    rest = [readable(counted(x)) for x in (figure, *conditions(found))]
    statement = marked(say(stated(entry)))
    end = say(" ({}).").format(say("; ").join(rest))
    return paragraph(shown, say(": "), *statement, end)


def stated(entry: Claim) -> str:
    """A claim's statement as part of a sentence."""
    return " ".join(entry["statement"].split()).removesuffix(".")


def conditions(found: Found) -> list[str]:
    """What was asked for, of how many seeds, registered or explored."""
    size = f"size {found.size}" if found.size else found.asked
    return [x for x in (size, found.seen, found.status) if x]


def counted(said: str) -> str:
    """`at most 0.5` in the language of the build, whatever the number."""
    return say(COUNT.sub("{}", said)).format(*COUNT.findall(said))


def claimed(page: str) -> list[str]:
    """What is said of the claims that a page tries."""
    return [
        text
        for name, entry in read_claims(BOOK).items()
        if entry["page"] == page
        for found in [everywhere()[name]]
        for text in (
            *(found.verdict, stated(entry)),
            *(COUNT.sub("{}", x) for x in (found.figure, *conditions(found))),
        )
        if re.search("[a-z]", text)
    ]


def verdict_of(found: Found) -> nodes.inline:
    """A verdict in its colour, or in grey where it was explored."""
    classes = ["verdict", nodes.make_id(found.verdict), found.status]
    said = say(found.verdict) + (f" {FALLS}" if found.falls else "")
    return nodes.inline("", said, classes=[x for x in classes if x])


def load_where_needed(page: Page) -> None:
    """Give styles to pages with cards or claims, the filters to the ledger."""
    if any("cards" in x["classes"] for x in page.find(nodes.table)):
        page.app.add_css_file("tables.css")
    if any("verdict" in x["classes"] for x in page.find(nodes.inline)):
        page.app.add_css_file("claims.css")
    if any(page.find(claim_entry)):
        page.app.add_js_file("ledger.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(claim_entry, html=(visit_entry, depart_entry))
    app.add_node(claim_summary, html=(visit_summary, depart_summary))
    app.add_directive("ledger", Ledger)
    app.add_directive("ledger-counts", LedgerCounts)
    app.add_directive("withdrawn", Withdrawn)
    for name in ("measured", "verdict", "claim"):
        app.add_role(name, OfClaim())
    app.connect("doctree-read", show_sentences)
    each_page(app, load_where_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
