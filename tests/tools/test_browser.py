"""The browser of the tests sees what goes wrong in a page."""

from pathlib import Path

import pytest
from browser import Window

FAULTS = {
    "an error in the console": "<script>console.error('broken')</script>",
    "an exception": "<script>throw new Error('broken')</script>",
}
REQUESTS = {
    "a name": "<img alt='' src='https://example.org/x.png'>",
    "a fetch": "<script>fetch('https://example.org').catch(_ => 0)</script>",
}


def write(folder: Path, body: str) -> Path:
    page = folder / "page.html"
    icon = "<link rel=icon href='data:,'>"
    page.write_text(f"<!doctype html><title>t</title>{icon}{body}")
    return page


@pytest.mark.parametrize("body", FAULTS.values(), ids=FAULTS)
def test_complaints_are_noted(window: Window, tmp_path, body):
    window.open(write(tmp_path, body))
    assert "broken" in " ".join(window.complaints)


@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS)
def test_network_is_cut_and_each_try_noted(window: Window, tmp_path, body):
    page = window.open(write(tmp_path, body))
    page.wait_for_load_state("networkidle")
    assert len(window.escaped) == 1
    failed = page.evaluate("fetch('http://192.0.2.1').catch(e => e.message)")
    assert failed == "Failed to fetch"
