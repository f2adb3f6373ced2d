"""Files are written whole or not at all."""

import pytest

from annotated_transformer.system.atomic_files import replacing, write_text


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old\n")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path, "file") as new:
        (new / "file").write_text("new")
        raise ZeroDivisionError
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old\n"
