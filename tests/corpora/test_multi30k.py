"""Multi30k fetched from a server of our own, and its real files."""

import functools
import gzip
import hashlib
import http.server
import threading
from collections import Counter

import pytest

from annotated_transformer.corpora import multi30k as multi30k_files
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.errors import UserError
from experiments.shared import multi30k_descriptions as descriptions
from experiments.shared.multi30k_descriptions import multi30k_descriptions

NAME, WHERE = "train.de.gz", "ANNOTATED_TRANSFORMER_DATA"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        self.server.asked.append(self.path)


def write(folder, texts):
    """The lines of each name as a gzip file there; their sums."""
    folder.mkdir(exist_ok=True)
    sums = {}
    for name, lines in texts.items():
        data = gzip.compress("\n".join(lines).encode(), mtime=0)
        (folder / name).write_bytes(data)
        sums[name] = hashlib.sha256(data).hexdigest()
    return sums


@pytest.fixture
def here(monkeypatch, tmp_path):
    """The folder that files are fetched into, not made yet."""
    monkeypatch.setenv(WHERE, str(tmp_path / "new" / "here"))
    return tmp_path / "new" / "here"


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server of small files, whose sums stand for Multi30k's."""
    texts = {}
    for name in multi30k_files.MULTI30K_SUMS:
        split, language, _ = name.rsplit(".", 2)
        texts[name] = [f"{split} {language} {n}" for n in range(50)]
    sums = write(tmp_path / "server", texts)
    monkeypatch.setattr(multi30k_files, "MULTI30K_SUMS", sums)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    answer = functools.partial(Quiet, directory=tmp_path / "server")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        server.asked, server.folder = [], tmp_path / "server"
        url = f"http://127.0.0.1:{server.server_port}/"
        monkeypatch.setattr(multi30k_files, "MULTI30K_URL", url)
        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        )
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_download_then_read_without_network(server, here, monkeypatch):
    corpus, sums = multi30k("fr", "de"), multi30k_files.MULTI30K_SUMS
    names = {name for name in sums if ".en." not in name}
    assert {path.name for path in here.iterdir()} == names
    for name in names:
        served = (server.folder / name).read_bytes()
        assert (here / name).read_bytes() == served
    assert Counter(server.asked) == Counter(f"/{name}" for name in names)
    assert corpus.valid[1] == ("val fr 1", "val de 1")
    assert corpus.checksums == {name: sums[name] for name in names}
    assert multi30k("fr", "de") == corpus
    monkeypatch.delenv(WHERE)  # then the files are in the user's cache
    monkeypatch.setenv("XDG_CACHE_HOME", str(here.parent))
    cache = here.parent / "annotated-transformer" / "multi30k"
    cache.parent.mkdir()
    here.rename(cache)
    assert multi30k("fr", "de") == corpus
    assert len(server.asked) == len(names) == 10


@pytest.mark.parametrize("fault", ["missing", "other", "moved"])
def test_what_goes_wrong_is_one_line_and_leaves_nothing(fault, server, here):
    """The next call begins as if this one had never been."""
    sent = server.folder / NAME
    data = sent.read_bytes()
    sent.unlink()
    if fault == "other":
        sent.write_bytes(b"<html>")
    elif fault == "moved":  # perhaps to where no HTTPS would be
        sent.mkdir()
        (sent / "index.html").write_bytes(data)
    with pytest.raises(UserError) as caught:
        multi30k("en", "de")
    message = str(caught.value)
    assert f"/{NAME} could not be downloaded (" in message
    assert f"put the file into {here} yourself" in message
    assert WHERE in message and not (here / NAME).exists()
    if fault == "other":
        sent.write_bytes(data)
        assert len(multi30k("en", "de").train) == 50


def test_a_damaged_file_in_the_folder_is_told_and_left(server, here):
    here.mkdir(parents=True)
    (here / NAME).write_bytes(b"damaged")
    with pytest.raises(UserError, match=f"{NAME} cannot be .* delete it"):
        multi30k("de", "fr")
    assert (here / NAME).read_bytes() == b"damaged"
    assert f"/{NAME}" not in server.asked


@pytest.mark.parametrize("pair", [("en", "cs"), ("en", "en")])
def test_languages_that_multi30k_lacks(pair):
    with pytest.raises(UserError, match="en, de, fr"):
        multi30k(*pair)
    with pytest.raises(UserError, match="'fr'; choose en or de"):
        multi30k_descriptions("fr")


def test_descriptions_that_stand_in_the_captions(tmp_path, monkeypatch):
    """Each of these but two is a caption, in either language."""
    monkeypatch.setenv(WHERE, str(tmp_path))
    texts = {
        f"{text}.{language}.gz": [f"{text} {language}", "A", "b"]
        for text in ("train", "val", *multi30k_files.MULTI30K_TESTS)
        for language in ("en", "de")
    }
    texts["train.de.gz"][1] = "Der T-Shirt-Träger, groß!"
    texts["test_2017_mscoco.en.gz"][2] = "It's\u00a0blue"
    monkeypatch.setattr(
        multi30k_files, "MULTI30K_SUMS", write(tmp_path, texts)
    )
    described = {f"train.{n}.de.gz": [f"Neues {n}"] for n in range(1, 6)}
    described["train.2.de.gz"] += [
        "der t shirt träger   GROSS",
        "VAL DE.",
        "its blue",
        "train en",
        "train en neu",
    ]
    sums = write(tmp_path / "descriptions", described)
    monkeypatch.setattr(descriptions, "DESCRIPTION_SUMS", sums)
    assert multi30k_descriptions("de") == [
        *("Neues 1", "Neues 2", "train en neu"),
        *("Neues 3", "Neues 4", "Neues 5"),
    ]


# The real files, where they are at hand


@pytest.mark.parametrize("target", ["de", "fr"])
def test_multi30k_has_the_counts_of_its_authors(target, real_folder):
    corpus = multi30k("en", target)
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
    assert len(multi30k_descriptions(language)) == kept
