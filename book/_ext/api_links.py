"""From each exported cell to its entry in the API, and back."""

import ast

from docutils import nodes
from edition import say
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment

PACKAGE = "annotated_transformer"


def definitions(source: str) -> list[str]:
    """The public names that a cell defines at its top level."""
    names: list[str] = []
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case ast.Assign(targets=targets):
                names += [t.id for t in targets if isinstance(t, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
    public = (name for name in names if not name.startswith("_"))
    return list(dict.fromkeys(public))


def chapter_of(page: str) -> tuple[str, str]:
    """The number of a chapter's page and the module it builds."""
    stem = page.rpartition("/")[2]
    number, _, module = stem.partition("_")
    return (number.lstrip("0"), module) if number.isdigit() else ("", stem)


def labels(env: BuildEnvironment) -> StandardDomain:
    """What knows the places that links can name."""
    domain = env.get_domain("std")
    assert isinstance(domain, StandardDomain)
    return domain


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Say above each exported cell where it goes, and what it defines.

    It goes into its module's file, after what the cell before it defines.
    Names lead to the API, which describes them.
    """
    page = app.env.docname
    _, module = chapter_of(page)
    targets = labels(app.env)
    cells = (
        container
        for container in doctree.findall(nodes.container)
        if "tag_export" in container["classes"]
    )
    above = ""
    for cell in list(cells):
        source = next(cell.findall(nodes.literal_block)).astext()
        line = nodes.paragraph(classes=["export"])
        line += nodes.Text(say("goes into "))
        line += nodes.literal("", f"{module}.py")
        if above:
            line += nodes.Text(say(", after "))
            line += nodes.literal("", above)
        names = definitions(source)
        above = names[-1] if names else above
        for name in names:
            full, anchor = f"{PACKAGE}.{module}.{name}", f"export-{name}"
            line += nodes.Text(" · ")
            line += nodes.inline("", "", entry(full, page), ids=[anchor])
            targets.note_hyperlink_target(full, page, anchor, name)
        cell.insert(0, line)


def entry(full: str, page: str) -> nodes.Node:
    """A link to what the API says of a name; plain where it says nothing."""
    name = full.rpartition(".")[2]
    options = {"refdomain": "py", "reftype": "obj", "reftarget": full}
    link = addnodes.pending_xref(refdoc=page, refwarn=False, **options)
    link += nodes.literal("", name)
    return link


def mark_entries(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Lead from each entry of the API to the cell that defines it."""
    known = labels(app.env).anonlabels
    for signature in doctree.findall(addnodes.desc_signature):
        for full in filter(known.get, signature["ids"]):
            chapter, anchor = known[full]
            uri = app.builder.get_relative_uri(page, chapter)
            text = f"chapter {chapter_of(chapter)[0]}".strip()
            back = nodes.reference("", text, refuri=f"{uri}#{anchor}")
            signature += nodes.inline("", "", back, classes=["origin"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", mark_cells)
    app.connect("doctree-resolved", mark_entries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
