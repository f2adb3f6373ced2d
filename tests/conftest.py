"""One thread, one seed, and shapes checked in the chapters' signatures."""

import io
import os
import sys
from collections.abc import Callable, Generator
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import jaxtyping

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of what tests start, too

# Before any test imports the package, so that every signature is checked that
# may have shapes: those of the chapters, and of what converts their layers.
SPEC = find_spec("annotated_transformer")
assert SPEC and SPEC.origin
CHAPTERS = [path.stem for path in Path(SPEC.origin).parent.glob("*.py")]
jaxtyping.install_import_hook(
    [f"annotated_transformer.{name}" for name in [*CHAPTERS, "convert"]],
    "beartype.beartype",
)

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import settings  # noqa: E402
from refusal import Ended  # noqa: E402
from shaken import shaken  # noqa: E402

from annotated_transformer.corpora.multi30k import DATA_VARIABLE  # noqa: E402

# without playwright there are no tests of pages, and all others run
pytest_plugins = ["browser"] if find_spec("playwright") else []

# These and the chapters are begun first: a long file that is begun last leaves
# one of two workers with nothing to do.
LONG = {
    *("test_pages", "test_translator_in_page", "test_widgets", "test_run"),
    *("test_commands", "test_shipped", "test_processes", "test_tools"),
    *("test_chromium", "test_experiments", "test_faults"),
    *("test_risk", "test_documented_commands"),
}

# Shared machines are slow at times; and what CI tries must not vary.
settings.register_profile(
    "book",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    max_examples=25,
)
settings.load_profile("book")


def pytest_configure() -> None:
    # Tests run side by side: more threads would only wait for each other.
    torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def late(item: pytest.Item) -> bool:
        return item.path.suffix == ".py" and item.path.stem not in LONG

    items.sort(key=late)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check shapes and types, but where a test says that they are not."""
    free = item.get_closest_marker("unchecked") is not None
    jaxtyping.config.update("jaxtyping_disable", free)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Add up in another order, fixtures included, where that is asked for."""
    with shaken():
        return (yield)


@pytest.fixture(autouse=True)
def seed() -> None:
    """Make what a test draws independent of the tests before it."""
    torch.manual_seed(0)


@pytest.fixture
def real_folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Multi30k's files, where a machine has them; they are read from there."""
    folder = Path(
        os.environ.get(DATA_VARIABLE)
        or Path(__file__).parents[1] / "../shared/multi30k"
    )
    if not folder.is_dir():
        pytest.skip("Multi30k is not here")
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    return folder


@pytest.fixture(scope="session")
def command() -> Callable[..., Ended]:
    """Run the command line inside this process; bytes are standard input."""
    from annotated_transformer.commands.app import main

    def run(*words: object, stdin: bytes = b"") -> Ended:
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n")
        err, status = io.StringIO(), 0
        argv = ["annotated-transformer", *map(str, words)]
        given = io.TextIOWrapper(io.BytesIO(stdin))
        with (
            mock.patch.object(sys, "argv", argv),
            mock.patch.object(sys, "stdin", given),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as end:
                assert not isinstance(end.code, str)
                status = end.code or 0
        out.flush()
        return Ended(status, out.buffer.getvalue().decode(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def recipe_options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options of a training of seconds: a copy task read from files."""
    from annotated_transformer.data import copy_task

    folder = tmp_path_factory.mktemp("text")
    pairs = [f"{source}\t{target}\n" for source, target in copy_task(440)]
    (folder / "train.tsv").write_text("".join(pairs[:400]))
    (folder / "valid.tsv").write_text("".join(pairs[400:]))
    return [
        f"--pairs={folder / 'train.tsv'}",
        f"--valid-pairs={folder / 'valid.tsv'}",
        *["--tokenizer=char", "--device=cpu", "--max-steps=40"],
        *["--checkpoint-every=8", "--average=3", "--batch-tokens=256"],
        *["--warmup=10", "--dropout=0.1"],
        *["--set=model.layers=1", "--set=model.d_model=32"],
        "--set=train.peak_lr=0.02",
    ]


@pytest.fixture(scope="session")
def trained(
    command: Callable[..., Ended],
    recipe_options: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A model folder that a whole, uninterrupted training has made."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    ended = command("train", folder, *recipe_options)
    assert ended.status == 0, ended.err
    return folder
