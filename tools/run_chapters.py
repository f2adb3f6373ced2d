"""Run chapters from top to bottom and store their outputs in place."""

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path

import chapters
import nbformat
import torch
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.machine import environment

RECORD = chapters.BOOK / "runs" / "benchmark-notebooks.json"


def stderr_of(notebook: nbformat.NotebookNode) -> list[str]:
    """One message for each cell that wrote to stderr."""
    return [
        f"cell {index} wrote to stderr:\n{output.text}"
        for index, cell in enumerate(notebook.cells, start=1)
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    ]


def processor_seconds() -> float:
    """Processor time of the processes that this one started and saw end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(chapter: Path, timeout: int) -> float:
    """Execute one chapter in its own folder and store what it printed.

    Returns the seconds of a processor that it took. Raises RuntimeError, and
    leaves the file's outputs as they were, where a cell fails, takes more than
    `timeout` seconds or writes to stderr.
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
    before = processor_seconds()
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError) as error:
        raise RuntimeError(str(error)) from error
    if messages := stderr_of(notebook):
        raise RuntimeError("\n".join(messages))
    chapters.write(notebook, chapter)
    return processor_seconds() - before


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
    parser.add_argument(
        "--record",
        action="store_true",
        help=f"write the processor time of all chapters to {RECORD.name}",
    )
    arguments = parser.parse_args()
    if arguments.record and arguments.chapter:
        parser.error("--record is of all chapters: name none")
    # One thread a process, as in the tests: sums do not depend on the machine.
    os.environ["OMP_NUM_THREADS"] = "1"
    failed, seconds = [], {}
    for chapter in arguments.chapter or chapters.find_chapters():
        start = time.perf_counter()
        try:
            seconds[chapter.stem] = run(chapter, arguments.timeout)
        except Exception as error:
            failed.append(chapter.name)
            print(f"{chapter.name}: {error}", file=sys.stderr)
        took = time.perf_counter() - start
        print(f"{chapter.name}: {took:.1f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    elif arguments.record:
        torch.set_num_threads(1)
        found = {
            "about": "Processor time of every notebook, in seconds.",
            "command": "python tools/run_chapters.py --record",
            **environment(),
            "seconds": {name: round(x, 1) for name, x in seconds.items()},
        }
        write_text(RECORD, json.dumps(found, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
