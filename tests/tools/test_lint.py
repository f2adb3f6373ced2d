"""`make lint` reads every file of code, or the table here says why not."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from bundle import BUNDLES
from chapters import ROOT

CODE = {
    *(".py", ".ipynb", ".js", ".mjs", ".ts", ".css", ".sh"),
    *(".yml", ".yaml", ".toml", ".cfg", "Makefile", "Dockerfile"),
}
# What no linter reads, and why. `*` stands for folders, too.
NOT_LINTED = {
    "book/_static/search/minisearch.js": "another's program, minified",
    "book/_static/in_page/*.js": "bundled from book/in_page, which is linted",
    ".github/workflows/*.yml": "actionlint reads them in a job of test.yml",
    "*.yml": "settings and data: what reads them refuses what is wrong",
    "*.yaml": "settings, which pre-commit checks",
    "*.toml": "data, which tests read",
    "*.cfg": "expressions that nbval compiles in each run of the chapters",
    ".ci/run": "it calls make test, and does nothing else",
    "Makefile": "its words are run by CI and by make fresh",
    "Dockerfile": "docker build stops where a line fails",
}
WEB = ROOT / "tools" / "web"


def make(*words: str, **given) -> subprocess.CompletedProcess[str]:
    """Ask the Makefile for something, after a set-up."""
    command = [shutil.which("make"), "-o", ".venv/.stamp", *words]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, **given
    )


def git(*words: str) -> list[str]:
    listed = subprocess.check_output(["git", *words], cwd=ROOT, text=True)
    return listed.splitlines()


def code() -> Iterator[str]:
    """The files of code in the repository: by their names, or executable."""
    for line in git("ls-files", "--stage"):
        mode, _, _, path = line.split(maxsplit=3)
        name = Path(path)
        if mode == "100755" or {name.suffix, name.name} & CODE:
            yield path


def found(pattern: str, folder: Path = ROOT) -> Iterator[str]:
    """The files that a pattern of the shell or of tsc stands for."""
    choice = re.search(r"\{(.+?)\}", pattern)
    for part in choice[1].split(",") if choice else [""]:
        one = pattern.replace(choice[0], part) if choice else pattern
        up, _, rest = one.rpartition("../")
        for path in (folder / up).resolve().glob(rest):
            yield path.relative_to(ROOT).as_posix()


def all_found(patterns: list[str], folder: Path = ROOT) -> set[str]:
    return {path for pattern in patterns for path in found(pattern, folder)}


def linted() -> set[str]:
    """What the linters in the recipe of `make lint` read, as they are set."""
    recipe = make("-n", "lint").stdout.replace("\\\n", " ")
    files: set[str] = set()
    if "/ruff check\n" in recipe:
        shown = subprocess.check_output(
            [sys.executable, "-m", "ruff", "check", "--show-files"],
            cwd=ROOT,
            text=True,
        )
        files |= {
            Path(path).relative_to(ROOT).as_posix()
            for path in shown.splitlines()
        }
    if prettier := re.search(r"/prettier .*--check (.+?) &&", recipe):
        words = shlex.split(prettier[1])
        files |= all_found([word for word in words if word[0] != "!"])
        files -= all_found([word[1:] for word in words if word[0] == "!"])
    if "/tsc -p tools/web" in recipe:
        text = (WEB / "tsconfig.json").read_text()
        settings = json.loads(re.sub(r"//.*", "", text))
        read = all_found(settings["include"], WEB)
        files |= read - all_found(settings["exclude"], WEB)
    return files


def test_what_is_not_linted_has_a_reason():
    files = linted()
    without = [
        path
        for path in code()
        if path not in files
        and not any(fnmatch(path, pattern) for pattern in NOT_LINTED)
    ]
    assert without == []


@pytest.mark.parametrize("pattern", NOT_LINTED)
def test_a_reason_is_given_for_something(pattern):
    assert any(fnmatch(path, pattern) for path in code())


def test_actions_are_pinned_by_commit():
    """A tag can be moved."""
    lines = subprocess.check_output(
        ["git", "grep", "-h", "uses: ", ".github/workflows"],
        cwd=ROOT,
        text=True,
    ).splitlines()
    pinned = re.compile(r" +(- )?uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert lines and all(pinned.fullmatch(line) for line in lines), lines


class Machine:
    """A machine with a node, and linters that find nothing."""

    def __init__(self, folder: Path) -> None:
        self.path, self.modules = folder / "path", folder / "node_modules"
        for name in ("sh", "find", "rm", "touch"):
            self.write(self.path / name, f'exec {shutil.which(name)} "$@"')
        self.write(self.path / "node")
        self.write(self.path / "npm", "exit 1")
        for name in ("prettier", "eslint", "tsc"):
            self.write(self.modules / ".bin" / name)
        bundle = f'{BUNDLES}/"$1"'  # the script is the module's name
        self.write(
            self.modules / ".bin" / "esbuild",
            f"exec {shutil.which('cat')} {bundle}",
        )
        (self.modules / ".stamp").touch()

    def write(self, path: Path, text: str = "exit 0") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def lint(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return make(
            "web",
            f"WEB={self.modules}",
            env={"PATH": str(self.path), **environment},
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("linter", ["prettier", "eslint", "tsc", "esbuild"])
def test_what_a_linter_of_scripts_finds_fails(machine, linter):
    assert machine.lint().returncode == 0
    machine.write(machine.modules / ".bin" / linter, "exit 1")
    assert machine.lint().returncode != 0


def leave_out_node(machine: Machine) -> None:
    (machine.path / "node").unlink()


def age_node(machine: Machine) -> None:
    machine.write(machine.path / "node", "exit 1")


def leave_out_registry(machine: Machine) -> None:
    (machine.modules / ".stamp").unlink()


@pytest.mark.parametrize(
    "lack", [leave_out_node, age_node, leave_out_registry]
)
def test_what_is_left_out_is_said_and_is_there_on_github(machine, lack):
    lack(machine)
    ended = machine.lint()
    assert (ended.returncode, ended.stderr) == (0, "")
    (said,) = ended.stdout.splitlines()
    assert "are not linted" in said and "node 20.19" in said
    assert machine.lint(GITHUB_ACTIONS="true").returncode != 0


def test_the_node_that_is_asked_for_is_the_one_that_they_need():
    lock = json.loads((WEB / "package-lock.json").read_text())["packages"]
    needed = lock["node_modules/eslint"]["engines"]["node"]
    package = json.loads((WEB / "package.json").read_text())
    assert needed.startswith("^20.19.0 ")
    assert package["engines"]["node"] == ">=20.19"
    assert all(x[0].isdigit() for x in package["devDependencies"].values())
