"""A Chromium that opens pages is found, or installed, or asked for."""

import os
import shutil
import subprocess
import sys
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
    script(machine.path / "chromium", STUB)
    own = Path(sys.executable).with_name("playwright")
    (machine.tools / "playwright").symlink_to(own)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        machine.environment[name] = "http://127.0.0.1:9"  # nothing is there
    ended = machine.make("test")
    assert ended.returncode != 0
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
        '[ "$*" = "install chromium" ] &&'
        f" PATH=/bin mv {machine.path}/waiting {machine.path}/google-chrome",
    )
    ended = machine.make("browser")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "No Chromium is here: it is being installed\n"
    ended = machine.make("browser")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
