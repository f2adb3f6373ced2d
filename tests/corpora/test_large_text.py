"""A large text reads like a list, and is read anew each time."""

import pytest
from pair_files import write

from annotated_transformer.corpora import corpus as corpus_module
from annotated_transformer.corpora import large_text
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.large_text import LargeText
from annotated_transformer.errors import UserError
from annotated_transformer.system.cache import VARIABLE

PAIRS = [(f"a {n}", f"b {n}") for n in range(30)]
FEW = [("x", "y"), ("é", "z")]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of each test's own."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))


@pytest.fixture
def corpora(tmp_path, monkeypatch):
    """The same corpus as a list, and as one that is not kept."""
    train, valid = write(tmp_path, PAIRS, "t"), write(tmp_path, FEW, "v")
    (extra := tmp_path / "extra.tsv").write_text("x\ty\né\tz\n", "utf-8")
    found = []
    for large in (1000, 20):
        monkeypatch.setattr(large_text, "LARGE", large)
        corpus = Corpus.from_files(train, valid, "en", "de")
        found.append((corpus, corpus.with_extra(extra)))
    return found


def test_it_is_read_as_a_list_is(corpora):
    for plain, large in zip(*corpora, strict=True):
        assert isinstance(plain.train, list)
        assert isinstance(large.train, LargeText)
        whole, size = plain.train, len(plain.train)
        assert len(large.train) == size and [*large.train] == whole
        for place in (0, 7, size - 1, -1, -size):
            assert large.train[place] == whole[place]
        for cut in (slice(0, 9), slice(3, None, 4), slice(99), slice(None)):
            assert large.train[cut] == whole[cut]
        with pytest.raises(IndexError):
            large.train[size]
        assert large.checksums == plain.checksums
        assert large.about == plain.about
        assert [*large.text_of_subwords()] == [*plain.text_of_subwords()]
        assert [*(FEW + large.train)] == FEW + whole


def test_subwords_are_learned_from_all_parts_of_it(corpora, monkeypatch):
    """From every second pair, where only so many are read."""
    monkeypatch.setattr(corpus_module, "LARGE", 20)
    expected = [side for pair in PAIRS[::2] for side in pair]
    for corpus, _ in corpora:
        assert [*corpus.text_of_subwords()] == expected


def test_a_text_that_changes_after_it_was_summed_is_refused(corpora, tmp_path):
    """Whichever side it is, though it has as many lines and bytes."""
    train = corpora[1][0].train
    for path in tmp_path.glob("t.*"):
        text = path.read_text()
        path.write_text(text.replace("12", "21"))
        with pytest.raises(UserError, match="changed while it was read"):
            list(train)
        path.write_text(text)
        assert [*train] == PAIRS


def test_what_is_wrong_with_a_large_text_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(large_text, "LARGE", 20)
    valid = write(tmp_path, FEW, "v")
    train = write(tmp_path, PAIRS, "t")
    text = train[1].read_text()
    for wrong, told in (
        (text + "one more\n", r"t\.en has 30 lines but .*t\.de has 31"),
        (text.replace("b 25", " "), r"t\.de, line 26: empty \(1 in all\)"),
        (text.replace("b 25", "\0"), r"t\.de, line 26: byte 1"),
    ):
        train[1].write_text(wrong)
        with pytest.raises(UserError, match=told):
            Corpus.from_files(train, valid, "en", "de")


def test_a_text_is_counted_once(corpora, tmp_path, monkeypatch):
    """While its files are the same: which pairs they have is in the cache."""
    stream, read = large_text.stream_parallel, []

    def counting(*given):
        for pair in stream(*given):
            read.append(pair)
            yield pair

    def reads(**options):
        read.clear()
        found = Corpus.from_files(texts[0], texts[1], "en", "de", **options)
        return [x[1:] for x in found.train.parts], len(read)

    texts = [
        [tmp_path / f"{name}.{side}" for side in ("en", "de")] for name in "tv"
    ]
    monkeypatch.setattr(large_text, "stream_parallel", counting)
    known = [x[1:] for x in corpora[1][0].train.parts]
    assert reads() == (known, large_text.LARGE)
    assert reads(cache=False) == (known, len(PAIRS))
    for path in texts[0]:
        path.write_text(path.read_text() + "31\n")
    assert reads()[1] == len(PAIRS) + 1


def test_a_text_that_changes_while_it_is_counted_is_refused(
    corpora, tmp_path, monkeypatch
):
    """So what is kept of it is that of the files it is known by."""
    train, valid = write(tmp_path, PAIRS[:25], "u"), write(tmp_path, FEW, "v")
    count = large_text.summed

    def changing(*given):
        yield from count(*given)
        train[0].write_text("something else\n")

    monkeypatch.setattr(large_text, "summed", changing)
    with pytest.raises(UserError, match="changed while it was read"):
        Corpus.from_files(train, valid, "en", "de")
