"""Write the package from the chapters, and bring edits of it back.

Every code cell tagged `export` goes whole and in order into the module named
after its chapter: `book/01_attention.ipynb` builds `attention.py`.
"""

import argparse
import ast
import difflib
import sys
import textwrap
from pathlib import Path

import chapters
from nbformat import NotebookNode

ORIGIN = "Written in book/"


class ExportError(ValueError):
    """A chapter that cannot be exported, or an edit that cannot be pulled."""


def export_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells of a chapter that go into the package, in order."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code"
        and "export" in cell.metadata.get("tags", [])
    ]


def names(statement: ast.stmt) -> list[str]:
    """The names that a top-level statement gives to its module."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return []
    return [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def keys(statement: ast.stmt) -> list[str]:
    """What a statement is recognised by: its names, or else its text."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return ["import"]
    return names(statement) or [ast.unparse(statement)]


def docstring(chapter: Path, notebook: NotebookNode) -> str:
    """The module's docstring: the chapter's summary and where to edit."""
    own = notebook.metadata.get("annotated_transformer", {})
    summary = own.get("summary", "")
    if not summary.endswith(".") or len(summary) > 76:
        raise ExportError(
            f"{chapter}: the notebook's metadata must hold "
            '{"annotated_transformer": {"summary": "..."}}: one sentence of '
            f"at most 76 characters that ends with a stop; found {summary!r}"
        )
    where = f"{ORIGIN}{chapter.name}: edit the chapter, then `make package`."
    return f'"""{summary}\n\n{textwrap.fill(where, 79)}\n"""'


def public_names(body: list[ast.stmt]) -> str:
    """The assignment to `__all__`, in order of definition."""
    defined = [name for statement in body for name in names(statement)]
    quoted = [f'"{name}"' for name in defined if not name.startswith("_")]
    line = f"__all__ = [{', '.join(quoted)}]"
    if len(line) <= 79:
        return line
    return "\n    ".join(["__all__ = [", *(f"{q}," for q in quoted)]) + "\n]"


def render(chapter: Path, notebook: NotebookNode) -> str:
    """The text of the module that a chapter builds."""
    cells = [cell.source.strip("\n") for cell in export_cells(notebook)]
    source = "\n\n\n".join(cells)
    body = ast.parse(source).body
    end = 0  # the last line of the imports that open the module
    for statement in body:
        if keys(statement) != ["import"]:
            break
        end = statement.end_lineno or end
    lines = source.split("\n")
    head = [docstring(chapter, notebook), "\n".join(lines[:end])]
    head.append(public_names(body))
    rest = "\n".join(lines[end:]).strip("\n")
    return "\n\n".join(filter(None, head)) + f"\n\n\n{rest}\n"


def pieces(source: str) -> list[tuple[ast.stmt, str]]:
    """A module's statements, each with its text and the comments above it.

    The docstring and `__all__` are left out: they are made, not written.
    """
    lines = source.split("\n")
    found: list[tuple[ast.stmt, str]] = []
    above: list[str] = []
    end = 0
    for statement in ast.parse(source).body:
        start, done = statement.lineno - 1, statement.end_lineno or 0
        while done < len(lines) and lines[done].startswith(" "):
            done += 1  # a comment that closes a body belongs to it
        made = names(statement) == ["__all__"] or (
            isinstance(statement, ast.Expr) and not found and not end
        )
        if made:
            above += lines[end:start]
        else:
            found.append((statement, "\n".join(above + lines[end:done])))
            above = []
        end = done
    if found:
        last, text = found[-1]
        found[-1] = last, "\n".join([text, *lines[end:]])
    return found


def pull(module: Path, chapter: Path, notebook: NotebookNode) -> None:
    """Bring a module's edits back into the cells that own them.

    Prose, other cells, ids and outputs stay. Raises ExportError where a
    statement belongs to no cell, or the cells would give another module.
    """
    cells = export_cells(notebook)
    owner = {
        key: index
        for index, cell in reversed(list(enumerate(cells)))
        for statement in ast.parse(cell.source).body
        for key in keys(statement)
    }
    texts: list[list[str]] = [[] for _ in cells]
    edited = pieces(module.read_text(encoding="utf-8"))
    for statement, text in edited:
        places = {owner[key] for key in keys(statement) if key in owner}
        if len(places) != 1:
            shown = ", ".join(keys(statement))
            raise ExportError(
                f"{module}, line {statement.lineno}: no single export cell "
                f"of {chapter.name} holds `{shown}`; write it there first"
            )
        texts[places.pop()].append(text)
    for cell, parts in zip(cells, texts, strict=True):
        cell.source = "\n".join(parts).strip("\n")
    pulled = pieces(render(chapter, notebook))
    same = [t.strip() for _, t in pulled] == [t.strip() for _, t in edited]
    if not (same and all(texts)):
        raise ExportError(
            f"{module}: its definitions are in another order than the cells "
            f"of {chapter.name}, or a cell would be empty; edit those instead"
        )


def difference(module: Path, expected: str) -> str:
    """The diff from a module on disk to what its chapter says, or ''."""
    text = module.read_text(encoding="utf-8") if module.exists() else ""
    diff = difflib.unified_diff(
        text.splitlines(keepends=True),
        expected.splitlines(keepends=True),
        str(module) if module.exists() else f"{module} (missing)",
        "its chapter",
    )
    return "".join(diff)


def export(book: Path, package: Path, check: bool, only: list[str]) -> int:
    """Write (or only compare) the modules; the number of differences."""
    faults = 0
    named = [chapters.chapter_of(name, book) for name in only]
    for chapter in named or chapters.find_chapters(book):
        name = chapters.module_name(chapter)
        if not check:
            chapters.ruff_format(chapter)
        notebook = chapters.read(chapter)
        if not export_cells(notebook):
            continue
        module = package / f"{name}.py"
        if diff := difference(module, text := render(chapter, notebook)):
            faults += 1
            if check:
                print(diff)
            else:
                module.write_text(text, encoding="utf-8")
                print(f"wrote {module.name} from {chapter.name}")
    return faults


def pull_all(book: Path, package: Path, only: list[str]) -> None:
    """Pull the named modules into their chapters and write them anew."""
    for name in only:
        module = package / f"{name}.py"
        chapter = chapters.chapter_of(name, book)
        chapters.ruff_format(module)
        notebook = chapters.read(chapter)
        pull(module, chapter, notebook)
        chapters.write(notebook, chapter)
        print(f"pulled {module.name} into {chapter.name}")
    export(book, package, check=False, only=only)


def main() -> int:
    """Export, check or pull, as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", nargs="*", help="default: every module")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--check",
        action="store_true",
        help="write nothing; show differences and exit 1 if there are any",
    )
    mode.add_argument(
        "--pull",
        action="store_true",
        help="bring edits of the named modules back into their chapters",
    )
    arguments = parser.parse_args()
    if arguments.pull and not arguments.module:
        parser.error("--pull needs the name of a module, such as attention")
    try:
        if arguments.pull:
            pull_all(chapters.BOOK, chapters.PACKAGE, arguments.module)
            return 0
        faults = export(
            chapters.BOOK,
            chapters.PACKAGE,
            check=arguments.check,
            only=arguments.module,
        )
    except ExportError as error:
        print(error, file=sys.stderr)
        return 1
    return 1 if arguments.check and faults else 0


if __name__ == "__main__":
    sys.exit(main())
