"""Multi30k fetched from a server of our own, and its real files."""

import gzip
import hashlib
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib import request

import pytest

from annotated_transformer.corpora import multi30k as multi30k_files
from annotated_transformer.corpora.multi30k import (
    download_multi30k,
    multi30k,
    multi30k_descriptions,
)
from annotated_transformer.errors import UserError
from annotated_transformer.system import download
from annotated_transformer.system.download import https_opener

# Downloads: the opener of production, its connections led to 127.0.0.1


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.files, self.asked = {}, []
        self.cut, self.ranges, self.moved = None, True, None
        self.stopped = threading.Event()
        self.endless = None  # bytes before, and bytes again and again


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        server, name = self.server, self.path.rsplit("/", 1)[1]
        start = int(self.headers["Range"][len("bytes=") : -1])
        server.asked.append((self.headers["Host"], self.path, start))
        if server.endless:
            before, again, pause = server.endless
            with suppress(OSError):  # until the reader leaves
                self.wfile.write(before)
                while not server.stopped.wait(pause):
                    self.wfile.write(again)
            return
        if server.moved:
            self.send_response(302)
            self.send_header("Location", server.moved)
            self.end_headers()
            return
        if name not in server.files:
            return self.send_error(404)
        data = server.files[name]
        if server.ranges and start >= len(data):
            return self.send_error(416)
        data = data[start:] if server.ranges else data
        self.send_response(206 if server.ranges else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: server.cut])

    def log_message(self, *_):
        pass


class Local(request.HTTPSHandler):
    handler_order = 100  # before the one that would leave this machine

    def __init__(self, server):
        super().__init__()
        self.port = server.server_port

    def https_open(self, ask):
        def connect(host, **options):
            connection = HTTPConnection(host, **options)
            create = connection._create_connection
            connection._create_connection = lambda _, *rest: create(
                ("127.0.0.1", self.port), *rest
            )
            return connection

        return self.do_open(connect, ask)


@pytest.fixture
def server(monkeypatch):
    """A server of small files, whose sums stand for Multi30k's."""
    with Server() as server:
        for sums in (
            multi30k_files.MULTI30K_SUMS,
            multi30k_files.DESCRIPTION_SUMS,
        ):
            for name in list(sums):
                split, language, _ = name.rsplit(".", 2)
                text = "".join(f"{split} {language} {n}\n" for n in range(50))
                data = gzip.compress(text.encode(), mtime=0)
                server.files[name] = data
                found = hashlib.sha256(data).hexdigest()
                monkeypatch.setitem(sums, name, found)
        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        )
        thread.start()
        yield server
        server.stopped.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def opener(server, monkeypatch):
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    opener = https_opener()
    opener.add_handler(Local(server))
    return opener


def test_download_then_read_without_network(server, opener, tmp_path):
    folder = tmp_path / "new" / "folder"
    assert download_multi30k(folder, opener=opener) == folder
    found = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert found == {x: server.files[x] for x in multi30k_files.MULTI30K_SUMS}
    assert {host for host, _, _ in server.asked} == {
        "raw.githubusercontent.com"
    }
    assert all(
        path.startswith("/multi30k/dataset/master/data/task1/raw/")
        for _, path, _ in server.asked
    )
    asked = len(server.asked)
    assert asked == 15
    corpus = multi30k("fr", "de", folder)
    assert corpus.valid[1] == ("val fr 1", "val de 1")
    assert len(corpus.checksums) == 10
    assert len(server.asked) == asked


def write(folder, lines):
    """The texts by name as gzip files; their checksums."""
    sums = {}
    for name, text in lines.items():
        data = gzip.compress("\n".join(text).encode(), mtime=0)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        sums[Path(name).name] = hashlib.sha256(data).hexdigest()
    return sums


def test_descriptions_are_downloaded_when_asked(server, opener, tmp_path):
    download_multi30k(tmp_path, ["en"], opener)
    assert not (tmp_path / "descriptions").exists()
    download_multi30k(tmp_path, [], opener, descriptions=["de"])
    found = {
        path.name: path.read_bytes()
        for path in (tmp_path / "descriptions").iterdir()
    }
    names = [f"train.{n}.de.gz" for n in range(1, 6)]
    assert found == {name: server.files[name] for name in names}
    assert server.asked[-1][1].startswith(
        "/multi30k/dataset/master/data/task2/raw/train."
    )
    (tmp_path / "descriptions" / names[2]).write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"train\.3\.de\.gz is damaged"):
        download_multi30k(tmp_path, [], opener, descriptions=["de"])


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
    with pytest.raises(UserError, match="'fr'; choose from de"):
        multi30k_descriptions("fr", tmp_path)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_cut_download_continues(server, opener, tmp_path, ranges):
    server.cut, server.ranges = 40, ranges
    names = sorted(multi30k_files.MULTI30K_SUMS)
    with pytest.raises(UserError, match=r"https://.*\.gz could not be .*miss"):
        download_multi30k(tmp_path, opener=opener)
    (part,) = tmp_path.iterdir()
    assert part.name.endswith(".gz.part") and part.stat().st_size == 40
    server.cut = None
    download_multi30k(tmp_path, opener=opener)
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    assert [start for _, _, start in server.asked[:3]] == [0, 40, 0]
    assert (tmp_path / part.stem).read_bytes() == server.files[part.stem]


def test_a_whole_part_is_only_renamed(server, opener, tmp_path):
    name = next(iter(multi30k_files.MULTI30K_SUMS))
    (tmp_path / f"{name}.part").write_bytes(server.files[name])
    download_multi30k(tmp_path, opener=opener)
    assert (tmp_path / name).read_bytes() == server.files[name]
    assert not list(tmp_path.glob("*.part"))


def test_a_corrupted_download_is_not_kept(server, opener, tmp_path):
    name = next(iter(multi30k_files.MULTI30K_SUMS))
    expected, server.files[name] = (
        multi30k_files.MULTI30K_SUMS[name],
        b"<html>",
    )
    found = hashlib.sha256(b"<html>").hexdigest()
    with pytest.raises(UserError, match=f"{name} .*{found}, not {expected}"):
        download_multi30k(tmp_path, opener=opener)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_in_the_folder_is_told_and_left(opener, tmp_path):
    name = next(iter(multi30k_files.MULTI30K_SUMS))
    path = tmp_path / name
    path.write_bytes(b"damaged")
    with pytest.raises(UserError, match=f"{name} is damaged.*delete it"):
        download_multi30k(tmp_path, opener=opener)
    assert path.read_bytes() == b"damaged"


def test_a_network_failure_names_url_folder_variable(server, opener, tmp_path):
    server.files.clear()
    with pytest.raises(UserError) as caught:
        download_multi30k(tmp_path / "here", opener=opener)
    message = str(caught.value)
    url = "https://raw.githubusercontent.com/multi30k/dataset/master/data/"
    assert url in message and "404" in message
    assert str(tmp_path / "here") in message
    assert "ANNOTATED_TRANSFORMER_DATA" in message
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("scheme", ["http", "ftp", "file"])
def test_no_redirect_leads_away_from_https(server, opener, tmp_path, scheme):
    server.moved = f"{scheme}://127.0.0.1:{server.server_port}/train.en.gz"
    with pytest.raises(UserError, match="could not be downloaded"):
        download_multi30k(tmp_path, opener=opener)
    assert len(server.asked) == 1
    with pytest.raises(OSError, match=f"unknown url type: {scheme}"):
        https_opener().open(server.moved)


BODY = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    ("endless", "told"),
    [
        ((BODY, b"a" * 10_000, 0), "more than 100,000 bytes"),
        ((BODY, b"a", 0.1), "not done after 1 seconds"),
        ((b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.1), "not done after 1"),
        ((b"HTTP/1.1 200 OK\r\n", b"A", 0.1), "not done after 1"),
    ],
)
def test_no_download_goes_on_for_ever(
    endless, told, server, opener, tmp_path, monkeypatch
):
    server.endless = endless
    monkeypatch.setattr(download, "MOST_SECONDS", 1)
    monkeypatch.setattr(download, "MOST_BYTES", 100_000)
    began = time.monotonic()
    with pytest.raises(UserError, match=told):
        download_multi30k(tmp_path, opener=opener)
    assert time.monotonic() - began < 20
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert sum(sizes) <= 100_000


def test_a_redirect_to_nowhere(server, opener, tmp_path):
    server.moved = "https://[::1/x"
    with pytest.raises(UserError, match="could not be downloaded"):
        download_multi30k(tmp_path, opener=opener)


def test_where_the_files_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ANNOTATED_TRANSFORMER_DATA", raising=False)
    cache = tmp_path / "annotated-transformer" / "multi30k"
    assert download_multi30k(languages=[]) == cache
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Path.home() in download_multi30k(languages=[]).parents
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path / "mine"))
    assert download_multi30k(languages=[]) == tmp_path / "mine"
    assert download_multi30k("~/own", []) == Path.home() / "own"


@pytest.mark.parametrize("pair", [("en", "cs"), ("xx", "de"), ("en", "en")])
def test_languages_that_multi30k_lacks(pair, tmp_path):
    with pytest.raises(UserError, match="en, de, fr"):
        multi30k(*pair, folder=tmp_path)


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
    assert len(lines) == kept
    assert kept + sum(dropped.values()) == 145_000
