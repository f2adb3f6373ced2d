"""The book keeps its rules: outputs, layers, names, pictures, contents."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import chapters
import export
import pytest
import yaml
from ledger_page import bibliography
from print_book import files
from references import authors
from test_floors import imported, modules

from ledger.records import read_run

NOTEBOOKS = {path: chapters.read(path) for path in chapters.find_chapters()}
CELLS = {
    path: [cell for cell in notebook.cells if cell.source]
    for path, notebook in NOTEBOOKS.items()
}
CONTENTS = (chapters.ROOT / "_toc.yml").read_text()
ORDER = re.findall(r"file: book/(\w+)", CONTENTS)
# Where in the book the chapter or the lab stands that builds a module.
BUILT = {
    chapters.module_name(path): ORDER.index(path.stem)
    for path, notebook in NOTEBOOKS.items()
    if export.export_cells(notebook)
}
MACHINE = re.compile(r"/(home|root|tmp|Users|var|opt)/|\bat 0x[0-9a-f]{6,}")
TIME = re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d")

each_notebook = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS]
)


def code_cells(path: Path):
    return [cell for cell in CELLS[path] if cell.cell_type == "code"]


def texts(output) -> str:
    """Everything in an output that a reader sees as text."""
    if output.output_type == "stream":
        return output.text
    shown = output.get("data", {})
    return "\n".join(str(v) for k, v in shown.items() if "image/" not in k)


def test_contents_list_every_page_once():
    listed = list(files(yaml.safe_load(CONTENTS)))
    assert listed[0] == "book/intro" and len({*listed}) == len(listed)
    assert len(listed) == CONTENTS.count("file: ") + 1  # and the root
    assert {f"book/{path.stem}" for path in NOTEBOOKS} <= {*listed}


@each_notebook
def test_every_cell_was_run_in_order(path):
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1)), "run it: make run"


@each_notebook
def test_outputs_hold_nothing_of_a_machine_or_a_moment(path):
    for cell in code_cells(path):
        assert "execution" not in cell.metadata, "a timestamp"
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
            assert not MACHINE.search(texts(output)), texts(output)
            assert not TIME.search(texts(output)), texts(output)
            assert "text/html" not in output.get("data", {}), "plain text only"


@each_notebook
def test_every_picture_has_alt_text(path):
    for cell in CELLS[path]:
        pictures = [
            output
            for output in cell.get("outputs", [])
            if any(
                kind.startswith("image/") for kind in output.get("data", {})
            )
        ]
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        assert not pictures or alt.strip(), f"no alt text:\n{cell.source}"
        assert len(pictures) < 2, "one picture a cell, since alt text is"
        if cell.cell_type == "markdown":
            assert not re.search(r"!\[\s*\]\(", cell.source)


def definitions(cells) -> set[str]:
    return {
        statement.name
        for cell in cells
        for statement in ast.parse(cell.source).body
        if isinstance(statement, ast.FunctionDef | ast.ClassDef)
    }


@each_notebook
def test_sketch_never_shares_the_name_of_an_exported_definition(path):
    """And all cells are Python: `!command` passes, whatever its status is."""
    exported = export.export_cells(NOTEBOOKS[path])
    sketches = [cell for cell in code_cells(path) if cell not in exported]
    assert not definitions(exported) & definitions(sketches)


@each_notebook
def test_chapter_does_not_import_the_module_it_builds(path):
    if path.stem.split("_")[0].isdigit():
        source = "\n".join(cell.source for cell in code_cells(path))
        used = imported("a_notebook", source)
        assert chapters.module_name(path) not in {*used} & set(BUILT)


@pytest.mark.parametrize("module", BUILT)
def test_module_stands_on_earlier_chapters_only(module):
    """Directly, or through a module without a chapter."""
    sources = dict(modules())
    waiting, seen = [(module, [module])], set()
    while waiting:
        name, way = waiting.pop()
        for used in {*imported(name, sources.get(name, ""))} - seen:
            seen.add(used)
            path = " -> ".join([*way, used])
            assert used != "__init__", path
            if used in BUILT:
                assert BUILT[used] < BUILT[module], path
            else:
                waiting.append((used, [*way, used]))


def test_each_work_has_a_label_of_its_own():
    """Years get a letter, in the bibliography's order, where labels clash."""
    labels = Counter(
        (authors(work), work.fields.get("year", ""))
        for work in bibliography().entries.values()
    )
    assert [label for label, times in labels.items() if times > 1] == []


def test_address_of_the_repository_stands_in_one_place():
    with open(chapters.ROOT / "pyproject.toml", "rb") as file:
        urls = tomllib.load(file)["project"]["urls"]
    address = urls["Repository"].removeprefix("https://")
    patterns = ("*.*", ".ci/*", ".github/**/*", "book/**/*", "tests/**/*")
    patterns += ("annotated_transformer/**/*.py", "tools/*", "benchmarks/*")
    holders = [
        path.relative_to(chapters.ROOT).as_posix()
        for pattern in patterns
        for path in chapters.ROOT.glob(pattern)
        if path.is_file() and address.encode() in path.read_bytes()
    ]
    assert holders == ["pyproject.toml"]


def test_page_of_sizes_has_the_rates_of_the_record():
    page = (chapters.BOOK / "toolkit_sizes.md").read_text("utf-8")
    for preset, rows in read_run("benchmark-cpu")["training"].items():
        for kind, end in (("float32", ""), ("bf16", ", bf16")):
            ours = rows["systems"][f"this package{end}"]
            rate = float(f"{ours['rate']:.2g}")
            gigabytes = ours["memory"] / 1e9
            row = f"| {preset} | {kind} | {rate:,.0f} | ${gigabytes:.1f}$ GB |"
            assert row in page


def test_page_of_sizes_has_the_rows_of_many_pairs():
    page = (chapters.BOOK / "toolkit_sizes.md").read_text("utf-8")
    for size, rows in read_run("benchmark-pairs")["pairs"].items():
        for row in rows.values():
            gigabytes = row["memory"] / 1e9
            assert f" {row['wall']:.0f} s, ${gigabytes:.1f}$ GB |" in page
        assert f"\n| {int(size):,} |" in page
