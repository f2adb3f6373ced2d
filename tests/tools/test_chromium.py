"""A Chromium that opens pages is found, or installed, or asked for."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import chromium
import pytest
from chapters import ROOT

STUB = "echo 'chromium needs a snap: snap install chromium' >&2; exit 1"


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


class Machine:
    """A machine without a browser: its PATH, its tools, its make."""

    def __init__(self, folder: Path) -> None:
        self.path, self.tools = folder / "path", folder / "tools"
        for made in (self.path, self.tools):
            made.mkdir()
        for tool in ("sh", "find"):  # all that the Makefile asks for
            (self.path / tool).symlink_to(shutil.which(tool))
        (self.tools / "python").symlink_to(sys.executable)
        self.environment = {
            "PATH": str(self.path),
            "HOME": str(folder),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PLAYWRIGHT_BROWSERS_PATH": str(folder / "browsers"),
        }

    def make(self, *words: str) -> subprocess.CompletedProcess:
        """Ask make for something, after a set-up and a build."""
        ready = ["-o", ".venv/.stamp", "-o", "_build/html/.stamp"]
        return subprocess.run(
            [shutil.which("make"), *ready, f"BIN={self.tools}", *words],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_a_network_one_line_says_what_to_type(machine):
    """Where nothing answers, which is worse than to be refused."""
    script(machine.path / "chromium", STUB)
    own = Path(sys.executable).with_name("playwright")
    (machine.tools / "playwright").symlink_to(own)
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            machine.environment[name] = proxy
        ended = machine.make("test")
    others = os.getloadavg()[0] / os.cpu_count()  # that want a processor
    assert time.monotonic() - began < 10 * max(1, others)
    assert ended.returncode != 0
    assert ended.stdout == ""
    told, of_make = ended.stderr.splitlines()
    assert told == chromium.NEEDED and of_make.startswith("make: ")


def test_playwright_installs_one(machine, browser):
    kind = browser.browser_type
    real = next(x for x in chromium.places(kind) if chromium.started(kind, x))
    script(machine.path / "chromium", STUB)
    script(
        machine.path / "waiting",
        f"PATH='{os.environ['PATH']}' HOME='{Path.home()}'\n"
        f"exec '{real}' \"$@\"",
    )
    script(
        machine.tools / "playwright",
        '[ "$*" = "install chromium" ] && echo "|##  |  10% of 1 MiB" &&'
        f" PATH=/bin mv {machine.path}/waiting {machine.path}/google-chrome",
    )
    ended = machine.make("browser")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "No Chromium is here: playwright installs it\n"
    (machine.tools / "playwright").unlink()
    ended = machine.make("browser")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


TESTS = """\
import pytest

@pytest.mark.parametrize("page", range(3))
def test_page(browser, page):
    assert False

@pytest.mark.skip
def test_skipped():
    assert False

def test_number():
    assert True
"""


def test_what_is_left_out_is_counted_and_not_passed(tmp_path):
    (tmp_path / "test_pages.py").write_text(TESTS)
    words = "-q -p xdist -p browser -p no:cacheprovider -n 1 --no-browser"
    own = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # they take seconds to import
    }
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words.split(), str(tmp_path)],
        cwd=tmp_path,
        env=os.environ | own,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    assert "Left out: 3 tests that open pages" in ended.stdout
    assert "1 passed, 4 skipped" in ended.stdout
