"""What is kept between runs, and whatever may happen to it."""

import errno
from threading import Event, Thread

import pytest
from instants import instants

from annotated_transformer.errors import UserError
from annotated_transformer.system import cache as cache_module
from annotated_transformer.system.cache import VARIABLE, Cache
from annotated_transformer.system.console import console

KEY = {"of": "a text"}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The pieces that were made, and the folder that keeps them."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return []


def numbers(made, key=KEY, **options):
    """The bytes of a piece, which are made once."""

    def make(folder):
        made.append(key)
        for name in "ab":
            (folder / name).write_bytes(name.encode() * 999)

    def read(folder):
        return [(folder / name).read_bytes() for name in "ab"]

    return Cache(**options).get(key, make, read)


FOUND = [b"a" * 999, b"b" * 999]


def test_a_piece_is_made_once_for_each_key(made, tmp_path):
    assert [numbers(made) for _ in range(3)] == [FOUND] * 3
    assert numbers(made, {"of": "another"}) == FOUND
    assert made == [KEY, {"of": "another"}]
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    assert numbers(made, kept=False) == FOUND
    assert len(made) == 3 and not (tmp_path / "cache").exists()


def test_plain_data_is_computed_once_by_the_same_code(made, monkeypatch):
    for _ in range(2):
        found = Cache().value(KEY, lambda: made.append(1) or {"lines": [1, 2]})
        assert found == {"lines": [1, 2]}
    assert len(made) == 1
    monkeypatch.setattr(cache_module, "code", lambda: "of another version")
    assert Cache().value(KEY, lambda: "other") == "other"


def test_a_process_may_be_killed_at_any_instant(made, tmp_path, monkeypatch):
    """Before each change that it makes to the disk."""
    cache = tmp_path / "cache"
    found = instants(cache, tmp_path / "copies", lambda: numbers(made))
    assert len(found) > 6
    for copy in found:
        monkeypatch.setenv(VARIABLE, str(copy))
        assert numbers(made) == FOUND
        made.clear()
        assert numbers(made) == FOUND and not made
        assert not [*copy.glob("*.part")]


def damages(piece):
    """Ways in which a piece on the disk is no longer what it was."""
    about = (piece / "about.json").read_text()
    yield lambda: (piece / "a").unlink()
    yield lambda: (piece / "a").write_bytes(b"a" * 998)
    yield lambda: (piece / "b").write_bytes(b"b" * 998 + b"c")
    yield lambda: (piece / "about.json").unlink()
    for text in "", "[]", "{}", about[:-9], about.replace("a text", "another"):
        yield lambda text=text: (piece / "about.json").write_text(text)


def test_what_is_damaged_or_foreign_is_told_and_made_anew(
    made, tmp_path, capsys
):
    assert numbers(made) == FOUND
    (piece,) = (x for x in (tmp_path / "cache").iterdir() if x.is_dir())
    for damage in [*damages(piece)]:
        made.clear()
        damage()
        assert numbers(made) == FOUND and len(made) == 1
        assert capsys.readouterr().err.count("made anew") == 1
        assert numbers(made) == FOUND and len(made) == 1
        assert not capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(made, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match=f"file.cache/.*{VARIABLE}") as error:
        numbers(made)
    assert "\n" not in str(error.value) and not made


def test_a_full_disk_leaves_nothing_and_can_be_tried_again(
    made, tmp_path, monkeypatch
):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(cache_module, "finish", full)
        with pytest.raises(UserError, match=r"No space left.*make room"):
            numbers(made)
    assert not [x for x in (tmp_path / "cache").iterdir() if x.is_dir()]
    assert numbers(made) == FOUND


def test_of_two_that_want_a_piece_one_makes_it(made, monkeypatch):
    """The other says that it waits, and reads what the first has made."""
    begun, waits, found = Event(), Event(), []
    monkeypatch.setattr(console, "out", lambda text: waits.set())

    def make(folder):
        begun.set()
        assert waits.wait(60)
        made.append(folder)
        (folder / "a").write_text("whole")

    def read(folder):
        return (folder / "a").read_text()

    def get():
        found.append(Cache().get(KEY, make, read))

    first = Thread(target=get)
    first.start()
    assert begun.wait(60)
    get()
    first.join()
    assert found == ["whole"] * 2 and len(made) == 1
