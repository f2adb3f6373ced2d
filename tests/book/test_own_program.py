"""The program on the page "In a program of your own" does what it says."""

import re
from contextlib import redirect_stdout
from io import StringIO

import chapters

PAGE = (chapters.BOOK / "toolkit_own_program.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


def test_the_program_of_the_page_runs(tmp_path, monkeypatch):
    """Block by block; a line that is a comment is what a block prints."""
    monkeypatch.chdir(tmp_path)
    names, told = {"__name__": "page"}, 0
    for block in BLOCKS:
        with redirect_stdout(StringIO()) as printed:
            exec(block, names)
        shown = re.findall(r"^# (.*)$", block, re.M)
        if shown:
            assert printed.getvalue().splitlines() == shown
            told += len(shown)
    assert told > 5
    made = {path.parent.name for path in tmp_path.glob("*/config.json")}
    assert made == {"model", "squared", "gru", "mine", "letters"}
