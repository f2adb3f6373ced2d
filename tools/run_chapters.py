"""Run chapters from top to bottom and store their outputs in place."""

import argparse
import os
import sys
import time
from pathlib import Path

import chapters
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError


def stderr_of(notebook: nbformat.NotebookNode) -> list[str]:
    """One message for each cell that wrote to stderr."""
    return [
        f"cell {index} wrote to stderr:\n{output.text}"
        for index, cell in enumerate(notebook.cells, start=1)
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    ]


def run(chapter: Path, timeout: int) -> None:
    """Execute one chapter in its own folder and store what it printed.

    Raises RuntimeError, and leaves the file's outputs as they were, where a
    cell fails, takes more than `timeout` seconds or writes to stderr.
    """
    chapters.ruff_format(chapter)
    notebook = chapters.read(chapter)
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # however the kernel cut them up
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(chapter.parent)}},
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError) as error:
        raise RuntimeError(str(error)) from error
    if messages := stderr_of(notebook):
        raise RuntimeError("\n".join(messages))
    chapters.write(notebook, chapter)


def main() -> int:
    """Run the chapters named on the command line, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chapter", nargs="*", type=Path, help="default: all")
    parser.add_argument(
        "--timeout",
        type=int,
        default=300,
        help="seconds a cell may take (default: %(default)s)",
    )
    arguments = parser.parse_args()
    # One thread a process, as in the tests: sums do not depend on the machine.
    os.environ["OMP_NUM_THREADS"] = "1"
    failed = []
    for chapter in arguments.chapter or chapters.find_chapters():
        start = time.perf_counter()
        try:
            run(chapter, arguments.timeout)
        except Exception as error:
            failed.append(chapter.name)
            print(f"{chapter.name}: {error}", file=sys.stderr)
        seconds = time.perf_counter() - start
        print(f"{chapter.name}: {seconds:.1f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
