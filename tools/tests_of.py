"""Say what tests a chapter: its notebook, and its module's tests if any."""

import sys

from chapters import ROOT, chapter_of, module_name


def files_for(name: str) -> list[str]:
    """The files that pytest is given, relative to the repository."""
    chapter = chapter_of(name)
    tests = ROOT / "tests" / f"test_{module_name(chapter)}.py"
    files = [chapter, tests] if tests.exists() else [chapter]
    return [str(path.relative_to(ROOT)) for path in files]


if __name__ == "__main__":
    print(*files_for(" ".join(sys.argv[1:])))
