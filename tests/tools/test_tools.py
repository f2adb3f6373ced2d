"""Each tool catches the faults it is there for."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import chapters
import export
import nbformat
import pytest
import run_chapters
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
)
from tests_of import files_for

SUMMARY = "Circles and their areas."
EXPORTED = [
    "import math",
    "PI = math.pi\n# Twice as much.\nTAU = 2 * PI",
    "def area(radius: float) -> float:\n"
    '    """The area of a circle."""\n'
    "    return PI * radius**2",
]


def notebook(*sources: str, exported: list[str] | None = None):
    cells = [new_markdown_cell("# Circles")]
    for source in exported or []:
        cells.append(new_code_cell(source, metadata={"tags": ["export"]}))
    cells += [new_code_cell(source) for source in sources]
    own = {"annotated_transformer": {"summary": SUMMARY}}
    return new_notebook(cells=cells, metadata=own)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book of one chapter, and the package that was made of it."""
    folder = tmp_path / "book"
    folder.mkdir()
    (tmp_path / "package").mkdir()
    chapter = notebook("print(round(area(1), 4))", exported=EXPORTED)
    chapters.write(chapter, folder / "01_circle.ipynb")
    export.export(folder, tmp_path / "package", check=False, only=[])
    return folder


@pytest.fixture
def module(book: Path) -> Path:
    return book.parent / "package" / "circle.py"


def differences(book: Path) -> int:
    return export.export(book, book.parent / "package", check=True, only=[])


def pull(book: Path) -> None:
    export.pull_all(book, book.parent / "package", ["circle"])


def test_module_reads_as_if_written_by_hand(book, module):
    text = module.read_text()
    assert text.startswith(f'"""{SUMMARY}\n\nWritten in book/01_circle.ipynb:')
    assert '\nimport math\n\n__all__ = ["PI", "TAU", "area"]\n\n\nPI' in text
    assert "print" not in text
    for command in (["check", "--isolated"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, str(module)]
        subprocess.run([*ruff, "--line-length=79"], check=True)
    assert differences(book) == 0


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (
            lambda path: path.write_text(path.read_text().replace("2", "3")),
            "-    return PI * radius**3",
        ),
        (Path.unlink, "circle.py (missing)"),
    ],
)
def test_module_that_differs_is_found(book, module, capsys, change, shown):
    change(module)
    assert differences(book) == 1
    assert shown in capsys.readouterr().out


def test_edit_is_pulled_into_the_cell_that_owns_it(book, module):
    path = book / "01_circle.ipynb"
    before = chapters.read(path)
    before.cells[-1].outputs = [nbformat.v4.new_output("stream", text="3.1\n")]
    chapters.write(before, path)
    edited = module.read_text().replace("TAU = 2 * PI", "TAU = PI + PI")
    edited = edited.replace("import math", "import cmath\nimport math")
    edited = edited.replace("    return PI", "    # Euclid.\n    return PI")
    module.write_text(edited)
    pull(book)
    after = chapters.read(path)
    assert after.cells[1].source == "import cmath\nimport math"
    assert after.cells[2].source.endswith("# Twice as much.\nTAU = PI + PI")
    assert "    # Euclid.\n    return" in after.cells[3].source
    assert after.cells[0] == before.cells[0]
    assert after.cells[4] == before.cells[4]
    assert [c.id for c in after.cells] == [c.id for c in before.cells]
    assert module.read_text() == edited
    assert differences(book) == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def area", "def volume", "no single export cell .* `volume`"),
        ("PI = math.pi", "print(1)\nPI = math.pi", r"holds `print\(1\)`"),
        (EXPORTED[2], "", "a cell would be empty"),
        ("import math\n", f"import math\n\n{EXPORTED[2]}\n", "another order"),
    ],
)
def test_pull_refuses_what_no_cell_owns(book, module, old, new, message):
    stored = (book / "01_circle.ipynb").read_bytes()
    text = module.read_text()
    assert old in text
    if "area" in new and "area" not in old:  # moved to the top
        text = text.replace(EXPORTED[2], "")
    module.write_text(text.replace(old, new))
    with pytest.raises(export.ExportError, match=message):
        pull(book)
    assert (book / "01_circle.ipynb").read_bytes() == stored


@pytest.mark.parametrize("name", ["1", "01", "circle", "01_circle"])
def test_chapter_goes_by_number_stem_or_module(book, name):
    assert chapters.chapter_of(name, book) == book / "01_circle.ipynb"


@pytest.mark.parametrize("name", ["", "0", "10", "circ"])
def test_who_names_no_chapter_is_told_what_there_is(book, name):
    with pytest.raises(SystemExit, match="^no chapter is .* are 01_circle$"):
        chapters.chapter_of(name, book)


def test_chapter_is_tested_with_its_module():
    chapter = "book/10_decoding.ipynb"
    assert files_for("10") == [chapter, "tests/test_decoding.py"]
    assert files_for("ladder") == ["book/ladder.ipynb"]


DRAWING = """
from annotated_transformer.teaching import plotting

_, ax = plotting.figure()
plotting.curves(ax, {"a": ([0, 1], [0, 1])})
plotting.plt.show()
"""


def test_second_run_changes_nothing(book):
    path = book / "01_circle.ipynb"
    drawn = chapters.read(path)
    drawn.cells.append(new_code_cell(DRAWING.strip()))
    chapters.write(drawn, path)
    run_chapters.run(path, timeout=60)
    first = path.read_bytes()
    run_chapters.run(path, timeout=60)
    assert path.read_bytes() == first
    cells = [c for c in chapters.read(path).cells if c.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4, 5]
    assert cells[-2].outputs[0].text == "3.1416\n"
    assert "image/svg+xml" in cells[-1].outputs[0].data
    assert first.endswith(b"}\n")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import warnings\nwarnings.warn('odd')", "wrote to stderr:\n.*odd"),
    ],
)
def test_failing_chapter_is_not_stored(tmp_path, source, message):
    path = tmp_path / "01_fault.ipynb"
    chapters.write(notebook(source), path)
    chapters.ruff_format(path)
    stored = path.read_bytes()
    with pytest.raises(RuntimeError, match=message):
        run_chapters.run(path, timeout=60)
    assert path.read_bytes() == stored


BUSY = """
from time import process_time

end = process_time() + 0.6
while process_time() < end:
    pass
"""


def test_processor_time_of_all_chapters_is_recorded(
    tmp_path, monkeypatch, capsys
):
    paths = [tmp_path / "01_idle.ipynb", tmp_path / "02_busy.ipynb"]
    for path, source in zip(paths, ("import time", BUSY.strip()), strict=True):
        chapters.write(notebook(source), path)
    monkeypatch.setattr(chapters, "find_chapters", lambda: paths)
    monkeypatch.setattr(run_chapters, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(sys, "argv", ["run_chapters.py", "--record"])
    assert run_chapters.main() == 0
    found = json.loads((tmp_path / "record.json").read_text())
    idle, busy = found["seconds"].values()
    assert [*found["seconds"]] == ["01_idle", "02_busy"]
    assert idle > 0 and 0.4 < busy - idle < 5
    assert found["machine"]["threads"] == 1 and "date" in found
    (tmp_path / "record.json").unlink()
    chapters.write(notebook("1 / 0"), paths[0])
    assert run_chapters.main() == 1
    assert not (tmp_path / "record.json").exists()
    monkeypatch.setattr(sys, "argv", ["run_chapters.py", "a", "--record"])
    with pytest.raises(SystemExit):
        run_chapters.main()
    assert "--record is of all chapters" in capsys.readouterr().err


NUMBER = "random() * 10 ** randrange(-9, 9)"
# What cells print, and whether another run of them passes; of a measured cell
# the words are compared.
PRINTED = {
    "print('the same')": True,
    "print(random())": False,
    "print('claim scale: shown; at least 1;', random())": True,
    "print('run multi30k', random())": False,
    "print('claim', random())": False,
}
MEASURED = {
    f"for x in ('one', 'two'):\n    print(f'{{x:8}} {{{NUMBER}:9.2f}}')": True,
    f"print('loss', -{NUMBER}, f'{{{NUMBER}:.0e}}, {{{NUMBER}:,.0f}}')": True,
    "print(choice([*map(chr, range(97, 1000))]), 1)": False,
}


def test_output_that_changes_and_a_kernel_that_dies_are_found(tmp_path):
    """By the same check that `make test` makes."""
    path = tmp_path / "01_output.ipynb"
    first = "from random import choice, random, randrange"
    book = notebook(first, *PRINTED, *MEASURED)
    for cell in book.cells[-len(MEASURED) :]:
        cell.metadata["tags"] = ["measured"]
    chapters.write(book, path)
    run_chapters.run(path, timeout=60)
    dead = notebook("import os", "os._exit(9)")
    chapters.write(dead, tmp_path / "02_dead.ipynb")
    shutil.copy(chapters.BOOK / "conftest.py", tmp_path)
    sanitize = Path(__file__).parents[1] / "sanitize.cfg"
    words = [sys.executable, "-m", "pytest", "-q", "--nbval", tmp_path]
    words += ["--nbval-current-env", f"--nbval-sanitize-with={sanitize}"]
    words += ["-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    support = Path(__file__).parents[1] / "support"
    verdict = subprocess.run(
        words,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(support)},
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    passes = [True, *PRINTED.values(), *MEASURED.values()]
    failed = re.findall(r"^FAILED 01.*::Cell (\d) ", verdict, re.MULTILINE)
    fails = [n for n, x in enumerate(passes) if not x]
    assert [*map(int, failed)] == fails, verdict
    assert "the kernel died" in verdict
    assert f"{len(fails) + 1} failed, {sum(passes) + 1} passed" in verdict
