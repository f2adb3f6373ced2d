"""The ids of a large text, on disk: those of a small one, once, and shared."""

import os
import signal
import tracemalloc
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from builtin_text import LINES
from odd_text import odd_strings
from pair_files import write
from small_runs import PAIRS, SMALL, learning, same_weights

from annotated_transformer.corpora import large_text
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.data import Tokenizer, train_tokenizer
from annotated_transformer.embedding import UNK
from annotated_transformer.errors import UserError
from annotated_transformer.runs import (
    batches,
    encoding,
    encoding_process,
    prepare,
    windows,
)
from annotated_transformer.runs.description import describe
from annotated_transformer.runs.encoding import dtype, encoded, own_cores
from annotated_transformer.runs.recipes import recipe_of
from annotated_transformer.runs.train import encode_corpus, train
from annotated_transformer.runs.windows import token_ids
from annotated_transformer.system.cache import CACHE, VARIABLE, Cache
from benchmarks import made_pairs
from benchmarks.made_pairs import FORMS, made_words, write_pairs

TEXT = [(line, line[::-1]) for line in LINES[:200]]
TEXT += [*zip(odd_strings(300), odd_strings(600)[300:], strict=True)]
KINDS = {"bpe": 300, "char": 100, "unigram": 300, "word": 900}


def learned(kind="bpe", normalize=True):
    """Subwords of some lines, which know few of the odd characters."""
    return train_tokenizer(
        LINES[:200], KINDS[kind], kind, normalize, exact=False
    )


BPE = learned()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Every text is large, and this is where its ids are kept."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    for module in (large_text, encoding, prepare):
        monkeypatch.setattr(module, "LARGE", 20)
    monkeypatch.setattr(windows, "LARGE", 0)
    monkeypatch.setattr(encoding, "BLOCK", 64)
    return tmp_path / "cache"


@pytest.fixture
def started(monkeypatch):
    """The tokenizers for which processes were started."""
    found, start = [], encoding.started

    def counted(model, *given):
        found.append(model)
        return start(model, *given)

    monkeypatch.setattr(encoding, "started", counted)
    return found


def rows(pairs, tokenizer):
    """The pairs as ids, one by one."""
    return [tuple(tokenizer.encode(x) for x in pair) for pair in pairs]


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_the_tokenizer(folder, kind, normalize):
    """Of odd text, too, with signs that it has never seen."""
    tokenizer = learned(kind, normalize)
    found = encoded(TEXT, tokenizer, kind, CACHE)
    expected = rows(TEXT, tokenizer)
    assert [*found] == expected
    assert any(UNK in side for row in expected for side in row)


def test_words_that_are_too_many_to_keep_are_encoded_too(monkeypatch):
    monkeypatch.setattr(encoding_process, "MOST", 5)
    words = encoding_process.Words(BPE.pieces, "H")
    line = "the man the dog runs on a wide beach"
    for word in (line + " " + line).split():
        ids = np.frombuffer(words[word], np.uint16).tolist()
        assert ids == BPE.encode(word)[:-1]
    assert [*words] == ["the", "man", "dog", "runs", "on"]


def test_a_text_is_encoded_once_for_each_tokenizer(folder, started):
    other = learned("char")
    for tokenizer in (BPE, other, BPE, other):
        found = encoded(TEXT, tokenizer, "bpe", CACHE)
        assert [*found] == rows(TEXT, tokenizer)
    assert {*started} == {BPE.model, other.model}
    before = len(started)
    shorter = encoded(TEXT[1:], BPE, "bpe", CACHE)
    assert [*shorter] == rows(TEXT[1:], BPE)
    assert len(started) > before
    assert len([x for x in folder.iterdir() if x.is_dir()]) == 3


def test_without_a_cache_nothing_is_kept(folder):
    for _ in range(2):
        found = encoded(TEXT, BPE, "bpe", Cache(kept=False))
        assert [*found] == rows(TEXT, BPE)
    assert not folder.exists()


class Shouting(Tokenizer):
    """Subwords of one's own: no sum of a file says what it does."""

    def encode(self, text):
        return super().encode(text.upper())


def test_a_tokenizer_of_ones_own_is_used_and_nothing_is_kept(folder, started):
    own = Shouting(BPE.model)
    assert [*encoded(TEXT, own, "bpe", CACHE)] == rows(TEXT, own)
    assert not started and not folder.exists()


def test_what_such_a_tokenizer_makes_of_a_text_is_its_own(folder):
    """Not what one with the same model, but another class, made of it."""
    files = write(folder.parent, TEXT[:100], "t")
    corpus = Corpus.from_files(files, files, "xx", "xx")

    def lines(tokenizer, store=CACHE):
        ready = prepare.Prepared(SMALL, tokenizer, None)
        return describe("", ready, corpus, "cpu", cache=store).data.lines

    plain, own = lines(BPE), lines(Shouting(BPE.model))
    assert plain != own == lines(Shouting(BPE.model), Cache(kept=False))


def test_ids_fit_in_their_numbers():
    for size, bits in ((2**16, 16), (2**16 + 1, 32), (100, 16)):
        kind = dtype(range(size))
        assert kind.itemsize * 8 == bits and np.iinfo(kind).max >= size - 1


def test_cores_that_a_process_may_not_use_do_not_count(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 7}, False)
    assert own_cores() == 2


def test_a_process_that_ends_early_is_told(folder, monkeypatch):
    """As one does that the system kills for want of memory."""
    ended = folder.parent / "ended.py"
    ended.write_text(f"import os\nos.kill(os.getpid(), {signal.SIGKILL:d})\n")
    with monkeypatch.context() as patch:
        patch.setattr(encoding_process, "__file__", str(ended))
        with pytest.raises(UserError, match="too little memory"):
            encoded(TEXT, BPE, "bpe", CACHE)
    assert not [x for x in folder.iterdir() if x.is_dir()]
    assert [*encoded(TEXT, BPE, "bpe", CACHE)] == rows(TEXT, BPE)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="no Linux")
def test_processes_share_the_pages_of_ids_and_offsets(folder):
    """They are mapped from the file, for reading, and shared."""
    found = encoded(TEXT, BPE, "bpe", CACHE)
    maps = Path("/proc/self/maps").read_text().splitlines()
    own = {x.split("/")[-1]: x.split()[1] for x in maps if str(folder) in x}
    assert own == {"ids": "r--s", "offsets": "r--s"}
    assert not found.rows.ids.flags.writeable


def resident(path):
    """The kilobytes of a mapped file that this process has in memory."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    (at,) = (i for i, line in enumerate(lines) if line.endswith(f" {path}"))
    rss = next(x for x in lines[at:] if x.startswith("Rss:"))
    return int(rss.split()[1])


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="no Linux")
def test_pages_that_were_read_are_let_go_of(tmp_path):
    numbers = np.arange(500_000, dtype=np.uint16)
    (tmp_path / "ids").write_bytes(numbers.tobytes())
    (tmp_path / "offsets").write_bytes(np.arange(9).tobytes())
    rows = encoding.read_ids(BPE, tmp_path)
    assert np.array_equal(rows.ids, numbers)
    assert resident(tmp_path / "ids") > 900
    encoding.let_go(rows)
    assert resident(tmp_path / "ids") == 0
    assert np.array_equal(rows.ids, numbers)


def test_a_run_lets_go_of_pages_again_and_again(folder, monkeypatch):
    calls = []
    monkeypatch.setattr(batches, "let_go", calls.append)
    monkeypatch.setattr(batches, "SOME", 3)
    corpus = Corpus(TEXT, TEXT[:20], {}, "odd", "x", "y", {})
    text = encode_corpus(corpus, BPE, SMALL, CACHE).learned
    assert len([*islice(text.batches(), 10)]) == 10
    assert calls == [text.text.rows] * 3


def test_a_text_that_changes_while_it_is_encoded_is_refused(folder):
    paths = write(folder.parent, PAIRS, "t")
    valid = write(folder.parent, PAIRS[:9], "v")
    corpus = Corpus.from_files(paths, valid, "en", "de")
    letters = train_tokenizer(["abcdefghij"], 20, "char")
    text = paths[0].read_text()
    paths[0].write_text(text.replace("a", "b"))
    with pytest.raises(UserError, match="changed while it was read"):
        encoded(corpus.train, letters, "char", CACHE)
    assert not [*folder.rglob("ids")]
    changed = Corpus.from_files(paths, valid, "en", "de")
    found = encoded(changed.train, letters, "char", CACHE)
    assert [*found] == rows(changed.train, letters)


@pytest.mark.parametrize("mark", ["", "* * *"])
def test_running_text_is_read_the_same_way(folder, monkeypatch, started, mark):
    """As the reader of documents does, line by line; and only once."""
    path = folder.parent / "text"
    lines = [*LINES[:200], "  ", "* * *", *odd_strings(200), "", ""]
    lines = [x.replace("\n", " ").replace("\0", "") for x in lines]
    path.write_text("\n".join(lines).replace("\r", ""), "utf-8")
    text = RunningText.from_files([path], mark)
    tokenizer = train_tokenizer(LINES[:200], 300, "bpe", False, running=True)
    found = {x: token_ids(text, tokenizer, x) for x in (None, False, True)}
    before = len(started)
    for part, ids in found.items():
        assert token_ids(text, tokenizer, part).tolist() == ids.tolist()
    assert len(started) == before > 0
    half = replace(text, held_out=0.5)
    halves = token_ids(half, tokenizer, True)
    monkeypatch.setattr(windows, "LARGE", 1 << 30)
    for part, ids in found.items():
        assert token_ids(text, tokenizer, part).tolist() == ids.tolist()
    assert token_ids(half, tokenizer, True).tolist() == halves.tolist()


def test_a_run_has_the_weights_that_it_had(folder, monkeypatch, started):
    """With extra pairs, noise and BPE-dropout; and so has a second one."""
    train_files = write(folder.parent, PAIRS[10:], "t")
    valid = write(folder.parent, PAIRS[:10], "v")
    write(folder.parent, PAIRS[:30], "x")
    extra = folder.parent / "x.tsv"
    extra.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS[:30]))
    recipe = learning(
        replace(SMALL, tokenizer="bpe", vocab_size=30), noise=1.0
    )
    recipe = learning(recipe, bpe_dropout=0.1)

    def run(name, **options):
        corpus = Corpus.from_files(train_files, valid, "xx", "xx")
        corpus = corpus.with_extra(extra, 0.3)
        return train(
            folder.parent / name, corpus, recipe, device="cpu", **options
        )

    runs = [run("large"), run("again")]
    assert len({*started}) == 1 and len(started) <= encoding.MOST
    runs.append(run("no-cache", cache=False))
    for module in (large_text, encoding, prepare):
        monkeypatch.setattr(module, "LARGE", 1000)
    small = run("small")
    tokenizers = [(x / "tokenizer.model").read_bytes() for x in (small, *runs)]
    assert len({*tokenizers}) == 1
    assert all(same_weights(small, x) for x in runs)


def test_a_run_whose_cache_cannot_be_written_can_be_begun_again(
    folder, monkeypatch
):
    """The folder is what is wrong, and not an option of the run."""
    files = write(folder.parent, PAIRS, "t")
    corpus = Corpus.from_files(files, files, "xx", "xx")
    monkeypatch.setenv(VARIABLE, str(files[0] / "cache"))
    output = folder.parent / "run"
    with pytest.raises(UserError, match=rf"^{files[0]}.*{VARIABLE}"):
        train(output, corpus, SMALL, device="cpu")
    train(output, corpus, SMALL, device="cpu", cache=False)


def test_fifty_thousand_pairs_take_forty_bytes_each(folder, monkeypatch):
    """With the ids in the cache: lengths, an epoch and its batches."""
    size, place = 50_000, folder.parent
    # each draws a quarter of a million of them
    monkeypatch.setattr(made_pairs, "made_words", cache(made_words))
    assert len({*made_pairs.made_words(0)}) == FORMS >= size
    paths = write_pairs(size, place)
    (place / "v").mkdir()
    valid = write_pairs(10, place / "v", seed=1)
    assert valid[0].read_text() != "".join(islice(paths[0].open(), 10))
    corpus = Corpus.from_files(paths, valid, "en", "de")
    words = train_tokenizer(islice(corpus.text_of_subwords(), 2000), 1000)
    recipe = recipe_of(None, "tiny")

    def read():
        text = encode_corpus(corpus, words, recipe, CACHE).learned
        text.amount(recipe)
        return [*islice(text.batches(), 10)]

    read()
    tracemalloc.start()
    read()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40 * size
