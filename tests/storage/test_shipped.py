"""Models that come with the package: small, found by name, and good."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections import defaultdict
from dataclasses import asdict
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
import torch
from histories import HISTORY
from safetensors.torch import load_file

from annotated_transformer.corpora.generated import pronoun_corpus
from annotated_transformer.corpora.parallel_text import read_pairs
from annotated_transformer.data import train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.storage.pretrained import find_model, pretrained
from annotated_transformer.teaching.records import read_run
from annotated_transformer.translation import Translator, corpus_scores

# Sums of the weights, and of the translations of sentences of our own, which
# are the same in float64 and with the instructions of older processors. Those
# of French come from the code of the first edition.
AS_IT_WAS = {
    "multi30k-de-en": (
        "c5e2fb287572a114d0026416fcc77e2587285aa45019fe4dba67d0dbc2c41430",
        "bcc9b1a2b50cbdad9d09f5264e2abdd379176bc28f3da4e3be9fae5743fbee29",
    ),
    "multi30k-en-de": (
        "c3bd7d9c6af2ddb709a5d8bc1ac3bcfa591872228565ba8a76ecaf24f6168cc6",
        "c0f56336a0455cf2b7119d1f59ca09ba8c41910026165e45deec8be1569f9387",
    ),
    "multi30k-en-fr": (
        "908ade318b729eb3d7deb5aa282fd3d4c053b7cab005f28abbbb3706259d9419",
        "72c829cd6f1a40749469f51aad1cd7cf517f8a4ce3b1b5825aa9cb263c76c6c4",
    ),
}
DOGS = {  # by target language
    "de": ("A dog runs on the beach.", "Hund"),
    "en": ("Ein Hund läuft am Strand.", "dog"),
    "fr": ("A dog runs on the beach.", "chien"),
}


CAPTIONS = [name for name in pretrained() if name.startswith("multi30k")]
# The sentence that the book follows, and what else may be it.
FOLLOWED = {
    "The dog ate the soup because it was hungry.": "er hungrig",
    "The dog ate the soup because it was sweet.": "sie süß",
    "The dog ate the bread because it was sweet.": "es süß",
    "The cat ate the bread because it was hungry.": "sie hungrig",
}


@pytest.fixture
def folder(tmp_path):
    """A model of random weights, in float32."""
    tokenizer = train_tokenizer(["a small dog", "ein kleiner Hund"], 24)
    sizes = ModelConfig(len(tokenizer), 1, 8, 16, 2)
    torch.manual_seed(0)
    save_model(tmp_path / "model", transformer(sizes), tokenizer, HISTORY)
    return tmp_path / "model"


def test_a_folder_comes_before_a_shipped_model(folder, monkeypatch):
    name = CAPTIONS[0]
    with pytest.raises(UserError, match="nor a model that comes with"):
        find_model("multi30k-en-xx")
    assert find_model(name).parent.name == "pretrained"
    assert load_model(name)[2] == load_model(find_model(name))[2]
    monkeypatch.chdir(folder.parent)
    folder.rename(folder.parent / name)
    assert str(find_model(name)) == name


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what a wheel of this package installs, and no more."""
    root, place = Path(__file__).parents[2], tmp_path_factory.mktemp("wheel")
    source, site = place / "source", place / "site"
    trash = shutil.ignore_patterns("__pycache__")
    package = "annotated_transformer"
    shutil.copytree(root / package, source / package, ignore=trash)
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-book"):
        shutil.copy(root / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index"]
    build += ["--no-build-isolation", "-w", place, source]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    return site


def test_a_wheel_has_every_file_of_the_package(installed):
    def files(root):
        found = (root / "annotated_transformer").rglob("*")
        return {
            path.relative_to(root)
            for path in found
            if path.is_file() and "__pycache__" not in path.parts
        }

    assert files(installed) == files(Path(__file__).parents[2])
    (about,) = installed.glob("*.dist-info")
    commands = (about / "entry_points.txt").read_text()
    assert (
        "annotated-transformer = annotated_transformer.__main__:main"
        in commands
    )
    assert "LicenseRef-Multi30k" in (about / "METADATA").read_text()


def test_only_notebooks_need_plots_yaml_and_statistics(installed):
    (about,) = map(PathDistribution, installed.glob("*.dist-info"))
    needs = defaultdict(set)
    for line in about.requires:
        needs[line.partition("extra == ")[2]].add(re.match(r"[\w-]+", line)[0])
    assert needs['"notebooks"'] == {"matplotlib", "pyyaml", "scipy"}
    assert "annotated-transformer" in needs['"book"']
    assert {"torch", "pooch"} < needs[""]
    assert not needs[""] & needs['"notebooks"']


def test_a_wheel_translates(installed):
    name = CAPTIONS[0]
    sentence, word = DOGS[name[-2:]]
    ended = subprocess.run(
        [sys.executable, "-m", "annotated_transformer", "translate", name],
        input=sentence.encode(),
        cwd=installed,  # `python -m` takes the package from here
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
    )
    assert word in ended.stdout.decode(), ended.stderr.decode()


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_shipped_model_is_small_and_ready(name):
    files = list(find_model(name).iterdir())
    assert sum(file.stat().st_size for file in files) < 6_000_000
    card = (find_model(name) / "README.md").read_text("utf-8")
    assert "research" in card and "bleu" in card and "## Limits" in card
    text, dog = DOGS[load_model(find_model(name))[2].data.target]
    begin = time.process_time()
    translation = Translator.load(name)(text)
    assert time.process_time() - begin < 5  # a second, on a quiet machine
    assert dog in translation


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


def test_the_pronoun_model_is_small_and_right():
    files = list(find_model("pronouns").iterdir())
    assert sum(file.stat().st_size for file in files) < 550_000
    card = (find_model("pronouns") / "README.md").read_text("utf-8")
    assert "## Limits" in card and "made by this package" in card
    texts, endings = list(FOLLOWED), list(FOLLOWED.values())
    outputs = Translator.load("pronouns")(texts)
    for output, ending in zip(outputs, endings, strict=True):
        assert output.endswith(f"{ending} war.")
    read = {source for source, _ in pronoun_corpus().train}
    followed = re.compile(r"The \w+ ate the \w+ because it was \w+\.")
    assert not any(followed.fullmatch(source) for source in read)


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
    lines = Path(__file__).with_name("own_sentences.tsv").read_text("utf-8")
    pairs = [line.split("\t") for line in lines.splitlines()]
    side = ["en", "de"].index(load_model(find_model(name))[2].data.source)
    found = Translator.load(name)([pair[side] for pair in pairs])
    assert total(f"{line}\n" for line in found) == translations


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_shipped_model_has_the_scores_on_its_card(name, real_folder):
    _, _, history = load_model(find_model(name))
    pairs = read_pairs(
        real_folder / f"test_2016_flickr.{history.data.source}.gz",
        real_folder / f"test_2016_flickr.{history.data.target}.gz",
    )
    outputs = Translator.load(name)([source for source, _ in pairs])
    language = history.data.target
    found = asdict(
        corpus_scores(outputs, [text for _, text in pairs], language)
    )
    for metric in ("bleu", "bleu_lowercase", "bleu_moses", "chrf"):
        stated = float(history.result.scores[f"test_2016_flickr, {metric}"])
        assert found[metric] == pytest.approx(stated, abs=0.05)
