"""What the documents tell a reader to type runs somewhere.

A word of the Makefile runs in a job of a workflow. A command of the package is
run here, as it is written, with little text and few updates. What neither does
stands in ELSEWHERE, with what stands in for it.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache, partial
from glob import glob
from pathlib import Path

import pytest
import yaml

from annotated_transformer.corpora import running_text
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.corpora.running_text import RunningText

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
STEPS = "\n".join(
    step.get("run", "")
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
    for job in yaml.safe_load(path.read_text())["jobs"].values()
    for step in job["steps"]
)
# what a job says to type, and what a word of the Makefile does
LINES = {
    line.strip().removeprefix("$(BIN)/")
    for line in f"{STEPS}\n{MAKEFILE}".splitlines()
}
PAGES = [
    *("README.md", "CONTRIBUTING.md"),
    *("experiments/README.md", "benchmarks/README.md"),
    *sorted(f"book/{x.name}" for x in (ROOT / "book").glob("toolkit*.md")),
]
# By the first words of a command: what runs in its place, or why nothing does.
ELSEWHERE = {
    ".venv/bin/pip install notebook": "Jupyter is no part of the book",
    ".venv/bin/jupyter notebook": "it waits for a reader",
    ".venv/bin/python -m pytest book/": "make test runs every chapter",
    "python -m pytest -n 2": "make test, with two more options",
    "python -m venv": "make setup",
    ". .venv/bin/activate": "for the reader's own shell",
    r".venv\Scripts\activate": "for the reader's own shell, on Windows",
    "pip install -r requirements.txt": "make setup",
    "playwright install chromium": "tests/tools/test_chromium.py",
    "pip install torch --index-url": ".github/workflows/test.yml",
    "pip install .": ".github/workflows/wheel.yml installs the wheel",
    "annotated-transformer export multi30k-en-de captions-onnx": "with "
    "another model in tests/convert/test_export.py",
    "annotated-transformer export multi30k-en-de onnx": "the same",
    "docker run": ".github/workflows/soak.yml translates with the image",
    "torchrun": "tests/system/test_processes.py, on a CPU",
    "uvicorn serve:app": "tests/book/test_serve.py",
    "curl localhost": "tests/book/test_serve.py",
    ".venv/bin/python -m experiments --only": "make measure, with ONLY",
    ".venv/bin/python -m experiments --seed": "with a toy in "
    "tests/experiments/test_experiments.py",
    ".venv/bin/python tools/record": "tests/tools/test_record_scores.py",
    ".venv/bin/python tools/pack": "tests/tools/test_pack_model.py",
}
FEW = "--max-steps=2 --checkpoint-every=2 --batch-tokens=512 --device=cpu"
SMALL = "--set=model.layers=1 --set=model.d_model=32 --set=model.d_ff=32"


def commands(page: str) -> list[tuple[str, str]]:
    """What a page says to type, and what it says is printed then."""
    text, found = (ROOT / page).read_text("utf-8"), []
    fence = r"(?ms)^```(\w*)\n(.*?)^```$"
    for kind, block in re.findall(fence, text):
        if kind == "console":
            found += re.findall(
                r"(?m)^\$ ((?:.*\\\n)*.*)\n((?:[^$\n].*\n)*)", block
            )
    if not page.startswith("book/toolkit_"):  # they indent them
        for block in re.findall(
            r"(?m)(?<=\n\n)(?:^ {4}.*\n)+", re.sub(fence, "", text)
        ):
            lines = re.findall(r"(?m)^ {4}((?:.*\\\n)*.*)\n", block)
            found += [(line, "") for line in lines if line[0] != " "]
    return [
        (re.sub(r"\\\n *|\s+# .*", "", line), told) for line, told in found
    ]


ALL = {page: found for page in PAGES if (found := commands(page))}


def covered() -> set[str]:
    """The words that jobs say to make, and those that these need."""
    needs = {
        word: others.split()
        for word, others in re.findall(r"(?m)^([a-z-]+):([^=#\n]*)", MAKEFILE)
    }
    made = re.findall(r"\bmake ((?:[a-z-]+ ?)+)", STEPS)
    waiting = [word for words in made for word in words.split()]
    found: set[str] = set()
    while waiting:
        if (word := waiting.pop()) not in found:
            found.add(word)
            waiting += needs.get(word, [])
    return found & {*needs}


def here(line: str) -> bool:
    """Whether a command runs in no job and stands for itself."""
    ours = line.removeprefix(".venv/bin/") not in LINES
    return ours and not line.startswith(("make ", *ELSEWHERE))


def test_every_word_of_the_makefile_runs_in_a_job():
    (phony,) = re.findall(r"\.PHONY: ((?:.*\\\n)*.*)", MAKEFILE)
    words = {*phony.replace("\\\n", "").split()}
    assert words == covered()
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        told = re.findall(r"(?m)(?:`|^    )make ([a-z-]+)", text)
        assert {*told} <= words, page


def test_what_runs_elsewhere_is_there_and_is_told_of():
    lines = [line for found in ALL.values() for line, _ in found]
    for first, where in ELSEWHERE.items():
        assert any(line.startswith(first) for line in lines), first
        for path in re.findall(r"\S+/\S+\.(?:py|yml)", where):
            assert (ROOT / path).exists(), path


@cache
def texts() -> dict[str, list[str]]:
    """The lines of a file of a few sentences, by the end of its name."""
    pairs = builtin_corpus(60).train
    rows = [[text.replace(",", "") for text in pair] for pair in pairs]
    english, german = map(list, zip(*rows, strict=True))
    return {
        "en": english,
        **dict.fromkeys(("de", "fr", "txt"), german),
        "csv": ["en,de", *map(",".join, rows)],
        "jsonl": [json.dumps({"source": a, "target": b}) for a, b in rows],
        "srt": ["1", "00:00:01,000 --> 00:00:02,000", english[0]],
    }


def typed(line: str, command) -> str:
    """What a command prints: in a shell, or the package's in this process."""
    feeder, pipe, own = line.rpartition(" | ")
    if not own.startswith("annotated-transformer"):
        return in_shell(line)
    words = shlex.split(own)[1:]
    given = in_shell(feeder) if pipe else ""
    output = None
    if ">" in words:
        *words, _, output = words
    if "<" in words:
        *words, _, source = words
        given = Path(source).read_text("utf-8")
    words = [y for x in words for y in (sorted(glob(x)) if "*" in x else [x])]
    if words[0] == "train":
        words += FEW.split()
        if "--from" not in words:
            words += SMALL.split()
        if "--from" not in words or "--new-subwords" in words:
            words += ["--vocab-size=200"]
        if "--resume" not in words:  # a page may use a name twice
            shutil.rmtree(words[1], ignore_errors=True)
    ended = command(*words, stdin=given.encode())
    assert ended.status == 0, f"{line}\n{ended.err}"
    if output:
        Path(output).write_text(ended.out, "utf-8")
    return ended.out


def in_shell(line: str) -> str:
    """What a command prints in bash, with the programs of this Python."""
    folder = str(Path(sys.executable).parent)
    path = os.pathsep.join([folder, os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", line],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout


@pytest.mark.parametrize("page", ALL)
def test_what_a_page_says_to_type_runs(
    page, command, trained, tmp_path, monkeypatch
):
    """In its order; what it says is printed is, but for the numbers."""
    monkeypatch.chdir(tmp_path)
    few = partial(RunningText.from_files, ["few.txt"])
    monkeypatch.setattr(running_text, "plays", few)
    lines = [(line, told) for line, told in ALL[page] if here(line)]
    kinds = "|".join(texts())
    for name, kind in re.findall(rf"([\w.]+\.({kinds}))\b", str(lines)):
        Path(name).write_text("".join(f"{x}\n" for x in texts()[kind]))
    Path("few.txt").write_text(99 * "ROMEO:\nA stage where every man\n\n")
    for line, told in lines:
        if line.startswith("cat "):
            Path(line.removeprefix("cat ")).write_text(told)
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".venv").symlink_to(sys.prefix)
    Path("book").mkdir()
    shutil.copy(ROOT / "book" / "01_attention.ipynb", "book/NN_name.ipynb")
    shutil.copytree(trained, "other")
    for line, told in lines:
        printed = typed(line, command)
        if told:
            number = re.compile(r"-?\d+(\.\d+)?")
            assert number.sub("N", printed) == number.sub("N", told), line
