"""Multi30k fetched from a server of our own, and its real files."""

import functools
import gzip
import hashlib
import http.server
import threading
from collections import Counter
from pathlib import Path

import pytest

from annotated_transformer.corpora import multi30k as multi30k_files
from annotated_transformer.corpora.multi30k import (
    data_folder,
    multi30k,
    multi30k_descriptions,
)
from annotated_transformer.errors import UserError

SUMS = multi30k_files.MULTI30K_SUMS


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        self.server.asked.append(self.path)


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server of small files, whose sums stand for Multi30k's."""
    folder = tmp_path / "server"
    folder.mkdir()
    for name in list(SUMS):
        split, language, _ = name.rsplit(".", 2)
        text = "".join(f"{split} {language} {n}\n" for n in range(50))
        data = gzip.compress(text.encode(), mtime=0)
        (folder / name).write_bytes(data)
        monkeypatch.setitem(SUMS, name, hashlib.sha256(data).hexdigest())
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    answer = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        server.asked, server.folder = [], folder
        url = f"http://127.0.0.1:{server.server_port}/"
        monkeypatch.setattr(multi30k_files, "MULTI30K_URL", url)
        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        )
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def test_files_come_by_https_from_their_authors():
    path = "raw.githubusercontent.com/multi30k/dataset/master/data"
    urls = multi30k_files.MULTI30K_URL, multi30k_files.DESCRIPTIONS_URL
    assert urls == tuple(f"https://{path}/task{n}/raw/" for n in (1, 2))


def test_download_then_read_without_network(server, tmp_path):
    folder = tmp_path / "new" / "folder"
    corpus = multi30k("fr", "de", folder)
    names = [name for name in SUMS if ".en." not in name]
    served = contents(server.folder)
    assert contents(folder) == {name: served[name] for name in names}
    assert Counter(server.asked) == Counter(f"/{name}" for name in names)
    assert corpus.valid[1] == ("val fr 1", "val de 1")
    assert corpus.checksums == {name: SUMS[name] for name in names}
    assert multi30k("fr", "de", folder) == corpus
    assert len(server.asked) == len(names) == 10


NAME = "train.de.gz"


@pytest.mark.parametrize("fault", ["missing", "other", "moved"])
def test_what_goes_wrong_is_one_line_and_leaves_nothing(
    fault, server, tmp_path
):
    """The next call begins as if this one had never been."""
    good, sent = tmp_path / "here", server.folder / NAME
    data = sent.read_bytes()
    sent.unlink()
    if fault == "other":
        sent.write_bytes(b"<html>")
    elif fault == "moved":  # perhaps to where no HTTPS would be
        sent.mkdir()
        (sent / "index.html").write_bytes(data)
    with pytest.raises(UserError) as caught:
        multi30k("en", "de", good)
    message = str(caught.value)
    assert f"/{NAME} could not be downloaded (" in message
    assert f"put the file into {good} yourself" in message
    assert "ANNOTATED_TRANSFORMER_DATA" in message
    assert not (good / NAME).exists()
    if fault == "other":
        sent.write_bytes(data)
        assert len(multi30k("en", "de", good).train) == 50


def test_a_damaged_file_in_the_folder_is_told_and_left(server, tmp_path):
    path = tmp_path / NAME
    path.write_bytes(b"damaged")
    with pytest.raises(UserError, match=f"{NAME} cannot be .* delete it"):
        multi30k("de", "fr", tmp_path)
    assert path.read_bytes() == b"damaged" and f"/{NAME}" not in server.asked


def test_where_the_files_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ANNOTATED_TRANSFORMER_DATA", raising=False)
    cache = tmp_path / "annotated-transformer" / "multi30k"
    assert data_folder(None) == cache
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path / "mine"))
    assert data_folder(None) == tmp_path / "mine"
    assert data_folder("~/own") == Path.home() / "own"


@pytest.mark.parametrize("pair", [("en", "cs"), ("en", "en")])
def test_languages_that_multi30k_lacks(pair, tmp_path):
    with pytest.raises(UserError, match="en, de, fr"):
        multi30k(*pair, folder=tmp_path)


def write(folder, lines):
    """The texts by name as gzip files; their checksums."""
    sums = {}
    for name, text in lines.items():
        data = gzip.compress("\n".join(text).encode(), mtime=0)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        sums[Path(name).name] = hashlib.sha256(data).hexdigest()
    return sums


def test_descriptions_that_stand_in_the_captions(tmp_path, monkeypatch):
    """Each of these but two is a caption, in either language."""
    texts = {
        f"{text}.{language}.gz": [f"{text} {language}", "A", "b"]
        for text in ("train", "val", *multi30k_files.MULTI30K_TESTS)
        for language in ("en", "de")
    }
    texts["train.de.gz"][1] = "Der T-Shirt-Träger, groß!"
    texts["test_2017_mscoco.en.gz"][2] = "It's\u00a0blue"
    described = {
        f"descriptions/train.{n}.de.gz": [f"Neues {n}"] for n in range(1, 6)
    }
    described["descriptions/train.2.de.gz"] += [
        "der t shirt träger   GROSS",
        "VAL DE.",
        "its blue",
        "train en",
        "train en neu",
    ]
    sums = write(tmp_path, texts)
    monkeypatch.setattr(multi30k_files, "MULTI30K_SUMS", sums)
    sums = write(tmp_path, described)
    monkeypatch.setattr(multi30k_files, "DESCRIPTION_SUMS", sums)
    lines, dropped = multi30k_descriptions("de", tmp_path)
    assert lines == [
        *("Neues 1", "Neues 2", "train en neu"),
        *("Neues 3", "Neues 4", "Neues 5"),
    ]
    assert dropped == {
        "train": 2,
        "val": 1,
        "test_2016_flickr": 0,
        "test_2017_flickr": 0,
        "test_2017_mscoco": 1,
    }
    with pytest.raises(UserError, match="'fr'; choose en or de"):
        multi30k_descriptions("fr", tmp_path)


# The real files, where they are at hand


@pytest.mark.parametrize("target", ["de", "fr"])
def test_multi30k_has_the_counts_of_its_authors(target, real_folder):
    corpus = multi30k("en", target, real_folder)
    assert (len(corpus.train), len(corpus.valid)) == (29000, 1014)
    assert {name: len(pairs) for name, pairs in corpus.tests.items()} == {
        "test_2016_flickr": 1000,
        "test_2017_flickr": 1000,
        "test_2017_mscoco": 461,
    }
    assert corpus.train[0][0].startswith("Two young, White males")
    assert len(corpus.checksums) == 10


@pytest.mark.parametrize(
    ("language", "kept"), [("de", 144_524), ("en", 115_842)]
)
def test_descriptions_are_as_many_as_perl_and_awk_leave(
    language, kept, real_folder
):
    """Of 145,000; they compared letters and digits, case folded."""
    if not (real_folder / "descriptions").is_dir():
        pytest.skip("the descriptions are not here")
    lines, dropped = multi30k_descriptions(language, real_folder)
    assert len(lines) == kept == 145_000 - sum(dropped.values())
