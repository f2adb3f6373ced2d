"""Models that come with the package: small, found by name, and good."""

import copy
import hashlib
import math
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import asdict
from pathlib import Path

import pytest
from models_in_page import rounded
from own_sentences import OWN
from safetensors.torch import load_file
from writer_in_page import BITS

from annotated_transformer.corpora.parallel_text import read_parallel
from annotated_transformer.corpora.running_text import plays
from annotated_transformer.errors import UserError
from annotated_transformer.runs.windows import TextWindows, token_ids
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.storage.pretrained import find_model, pretrained
from annotated_transformer.training import validate
from annotated_transformer.translation import Translator, corpus_scores
from annotated_transformer.writing import Writer
from ledger.records import read_run

# Sums of the weights, and of the translations of sentences of our own, which
# are the same in float64 and with the instructions of older processors.
AS_IT_WAS = {
    "multi30k-de-en": (
        "e3ecd9dcc5ba0ac53d87a9be66701c461ac22e56d72a8d3179e5aa4fe29593f6",
        "be8a1d3f4c61909b0aaa49a3aa89aaf3a4960eebdf2ce5578ca2533c3c3d3804",
    ),
    "multi30k-en-de": (
        "619d055106096ff8b53fb3535b5b4ad544b62a54352fae6beb910ed91abeb33c",
        "2099abef9bbf28a51d852befd01b0d026e2e9b00093bea081a0d8ff686612b2e",
    ),
    "multi30k-en-fr": (
        "9078b7061042a39b3abe4549ec060b9061c5b744503f59e414615202fbb6c31e",
        "6a340c347ffa0ef07ed5b1166ab85187268d93dcf2db5d14cfb7de077b114f9b",
    ),
}
DOGS = {  # by target language
    "de": ("A dog runs on the beach.", "Hund"),
    "en": ("Ein Hund läuft am Strand.", "dog"),
    "fr": ("A dog runs on the beach.", "chien"),
}


CAPTIONS = [name for name in pretrained() if name.startswith("multi30k")]


def test_a_folder_comes_before_a_shipped_model(tmp_path, monkeypatch):
    name = CAPTIONS[0]
    with pytest.raises(UserError, match="nor a model that comes with"):
        find_model("multi30k-en-xx")
    assert find_model(name).parent.name == "pretrained"
    assert load_model(name)[2] == load_model(find_model(name))[2]
    monkeypatch.chdir(tmp_path)
    Path(name).mkdir()
    assert str(find_model(name)) == name


def files(root):
    """The files of the package, as far as no program has made them."""
    found = (root / "annotated_transformer").rglob("*")
    paths = [x for x in found if x.is_file() and "__pycache__" not in x.parts]
    return {path.relative_to(root) for path in paths}


def test_a_wheel_has_every_file_and_translates(tmp_path):
    """Alone in a folder, with the package and nothing from beside it."""
    root = Path(__file__).parents[2]
    source, site = tmp_path / "source", tmp_path / "site"
    for path in files(root):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, source / path)
    shutil.copytree(root / "book" / "ledger", source / "book" / "ledger")
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-book"):
        shutil.copy(root / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index"]
    build += ["--no-build-isolation", "-w", tmp_path, source]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    assert files(site) == files(root)
    (about,) = site.glob("*.dist-info")
    assert {*site.iterdir()} == {about, site / "annotated_transformer"}
    commands = (about / "entry_points.txt").read_text()
    assert "annotated-transformer = annotated_transformer.__ma" in commands
    assert "LicenseRef-Multi30k" in (about / "METADATA").read_text()
    name = CAPTIONS[0]
    sentence, word = DOGS[name[-2:]]
    ended = subprocess.run(
        [sys.executable, "-m", "annotated_transformer", "translate", name],
        input=sentence.encode(),
        cwd=site,  # `python -m` takes the package from here
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
    )
    assert word in ended.stdout.decode(), ended.stderr.decode()


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_shipped_model_is_small_and_ready(name):
    files = list(find_model(name).iterdir())
    assert sum(file.stat().st_size for file in files) < 6_100_000
    card = (find_model(name) / "README.md").read_text("utf-8")
    assert "research" in card and "bleu" in card and "## Limits" in card
    text, dog = DOGS[load_model(name)[2].data.target]
    begin = time.process_time()
    translation = Translator.load(name)(text)
    assert time.process_time() - begin < 5  # a second, on a quiet machine
    assert dog in translation


def test_the_writer_of_plays_is_small_and_as_good_as_card_and_page_say():
    """Beside counts of four characters, and with the page's eight bits."""
    files = [*find_model("plays").iterdir()]
    assert sum(file.stat().st_size for file in files) < 1_500_000
    model, tokenizer, _ = load_model("plays")
    ids = token_ids(plays(), tokenizer, held_out=True)
    windows = TextWindows(ids, model.config.max_length, 16)
    in_page = copy.deepcopy(model)
    bits, in_eight = (
        validate(one, windows).loss / math.log(2)
        for one in (model, rounded(in_page).float())
    )
    assert (bits, in_eight) == pytest.approx(BITS["plays"], abs=6e-5)
    card = (find_model("plays") / "README.md").read_text("utf-8")
    assert f"it needs {bits:.2f} bits a character" in " ".join(card.split())
    assert "counts of what follows each four characters need 2.42" in card
    text = Writer.load("plays")("ROMEO:\n", seed=0, temperature=0.8)
    words = re.findall("[a-z]+", text.partition("\n")[2].lower())
    known = "".join(plays().lines(held_out=False)).lower()
    seen = {*re.findall("[a-z]+", known)}
    assert sum(word in seen for word in words) > 0.8 * len(words) > 40


def test_readme_and_card_tell_the_bar_and_what_passes_it():
    measured = read_run("probability_as_a_warning")["results"]
    measured = measured["threshold seed=0"]
    bar, passing = measured["threshold"], 1 - measured["below, lines"]
    readme, card = (
        " ".join(path.read_text("utf-8").split())
        for path in (
            Path(__file__).parents[2] / "README.md",
            find_model("multi30k-en-de") / "README.md",
        )
    )
    for told in (readme, card):
        assert f"reach {bar:.2f}" in told
        assert f"{100 * passing:.0f} of 100" in told
    translator = Translator.load("multi30k-en-de")
    for text, told in (
        ("A dog runs on the beach.", readme),
        ("The minister resigned because of the budget.", readme),
        ("The minister resigned because of the budget.", card),
        ("A dachshund sniffs at a croissant.", card),
    ):
        (found,) = translator.n_best([text], 1)[0]
        assert f"{found.confidence:.2f}" in told, text
        assert told is readme or found.text in card


@pytest.mark.parametrize("name", [*CAPTIONS, "pronouns"])
def test_a_shipped_model_takes_single_sentences(name):
    history = load_model(name)[2]
    assert Translator.load(name).split == history.data.source
    if name == "multi30k-en-de":  # as the record of the chapter has it
        measured = read_run("probability_as_a_warning")["results"]
        bar = measured["threshold seed=0"]["threshold"]
        assert history.result.usual_confidence == pytest.approx(bar, abs=0.01)


def test_the_pronoun_model_is_small():
    files = list(find_model("pronouns").iterdir())
    assert sum(file.stat().st_size for file in files) < 550_000
    card = (find_model("pronouns") / "README.md").read_text("utf-8")
    assert "## Limits" in card and "made by this package" in card


def total(texts):
    """The SHA-256 of texts, one after the other."""
    return hashlib.sha256("".join(texts).encode()).hexdigest()


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_shipped_model_is_the_one_it_was(name):
    """Whatever its files are called or its parameters are named."""
    weights, translations = AS_IT_WAS[name]
    tensors = load_file(find_model(name) / "model.safetensors").values()
    sums = [
        hashlib.sha256(f"{[*x.shape]}".encode() + x.numpy().tobytes())
        for x in tensors
    ]
    assert total(sorted(x.hexdigest() for x in sums)) == weights
    side = ["en", "de"].index(load_model(name)[2].data.source)
    found = Translator.load(name)([pair[side] for pair in OWN])
    assert total(f"{line}\n" for line in found) == translations


@pytest.mark.skipif("SOAK" not in os.environ, reason="make soak scores them")
@pytest.mark.parametrize("name", CAPTIONS)
def test_a_shipped_model_has_the_scores_on_its_card(name, real_folder):
    _, _, history = load_model(name)
    sides = history.data.source, history.data.target
    pairs = read_parallel(
        [real_folder / f"test_2016_flickr.{side}.gz" for side in sides]
    )
    outputs = Translator.load(name)([source for source, _ in pairs])
    language = history.data.target
    found = asdict(
        corpus_scores(outputs, [text for _, text in pairs], language)
    )
    for metric in ("bleu", "bleu_lowercase", "bleu_moses", "chrf"):
        stated = float(history.result.scores[f"test_2016_flickr, {metric}"])
        assert found[metric] == pytest.approx(stated, abs=0.05)
