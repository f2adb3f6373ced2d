"""Models that come with the package: packed small, found by name, and good."""

import json
import math
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

from annotated_transformer.corpora.text_files import read_pairs
from annotated_transformer.data import train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.storage.shipped import find_model, pack, shipped
from annotated_transformer.translation import Translator, corpus_scores

ABOUT = {
    "command": "annotated-transformer train here",
    "recipe": {"train": {"seed": 1}, "tokenizer": "char"},
    "data": {"name": "x", "source": "en", "target": "de", "pairs": 3},
    "machine": {"processor": "abacus"},
    "result": {"updates": 7},
}
DOGS = {  # by target language
    "de": ("A dog runs on the beach.", "Hund"),
    "en": ("Ein Hund läuft am Strand.", "dog"),
    "fr": ("A dog runs on the beach.", "chien"),
}


@pytest.fixture
def folder(tmp_path):
    """A model of random weights, in float32."""
    tokenizer = train_tokenizer(["a small dog", "ein kleiner Hund"], 24)
    sizes = ModelConfig(len(tokenizer), 1, 8, 16, 2)
    torch.manual_seed(0)
    save_model(tmp_path / "model", transformer(sizes), tokenizer, ABOUT)
    return tmp_path / "model"


def test_packed_weights_are_the_nearest_half_precision_numbers(folder):
    packed = folder.parent / "packed"
    pack(packed, folder)
    before, tokenizer, _ = load_model(folder)
    after, same, about = load_model(packed)
    assert about == ABOUT and same.model == tokenizer.model
    for x, y in zip(before.parameters(), after.parameters(), strict=True):
        assert y.dtype == torch.float32
        assert torch.equal(x.detach().half().float(), y.detach())
    sizes = [
        (f / "model.safetensors").stat().st_size for f in (folder, packed)
    ]
    assert sizes[1] < 0.7 * sizes[0]


def test_the_card_shows_the_scores_of_the_record(folder):
    record = folder.parent / "record.json"
    scores = {"bleu": 38.126, "bleu_lowercase": 39.0}
    search = {"beam": 3, "alpha": 1.5, "no_repeat": 2}
    scores |= {"bleu_moses": 39.1, "chrf": 60.0} | search
    curve = [{"step": 9, "note": "x" * 2000}] * 1000  # of a long training
    whole = {**ABOUT, "scores": {"test": scores}, "curve": curve}
    record.write_text(json.dumps(whole))
    pack(folder.parent / "packed", folder, record)
    translator = Translator.load(folder.parent / "packed")
    assert {name: getattr(translator, name) for name in search} == search
    plain = Translator.load(folder)
    assert (plain.beam, plain.alpha, plain.no_repeat) == (5, 0.6, 0)
    texts = ["a small dog", "a dog"]
    as_scored = translator.n_best(texts, 3)
    assert as_scored == translator.n_best(texts, 3, **search)
    assert as_scored != translator.n_best(texts, 3, alpha=0.6)
    assert as_scored != translator.n_best(texts, 3, no_repeat=0)
    card = (folder.parent / "packed/README.md").read_text("utf-8")
    assert "| test, bleu | 38.13 |" in card and "| updates | 7 |" in card
    other = {"test": scores, "another": {**scores, "alpha": 0.6}}
    for fault in ({"command": "x"}, {"scores": {}}, {"scores": other}):
        plain = {**ABOUT, "scores": {"test": scores}, **fault}
        record.write_text(json.dumps(plain))
        with pytest.raises(UserError, match="not a record of.*; name one"):
            pack(folder.parent / "other", folder, record)
    assert not (folder.parent / "other").exists()
    with pytest.raises(UserError, match="exists already"):
        pack(folder.parent / "packed", folder)


def test_what_could_not_be_loaded_is_not_packed(folder):
    place, record = folder.parent / "new", folder.parent / "record.json"
    place.mkdir()
    scores = {"bleu": 1.0, "bleu_lowercase": 1.0, "bleu_moses": 1.0, "chrf": 1}
    for search, told in (
        ({"beam": 5000, "alpha": 0.6, "no_repeat": 0}, "beam 5000"),
        ({"beam": 5, "alpha": math.nan, "no_repeat": 0}, "alpha nan"),
    ):
        scored = {**ABOUT, "scores": {"test": scores | search}}
        record.write_text(json.dumps(scored))
        with pytest.raises(UserError, match=f"not a record of.*{told}"):
            pack(place / "packed", folder, record)
    odd = json.dumps({**ABOUT, "scores": {"\ud800": scores | search}})
    record.write_text(odd.replace("NaN", "0.6"))
    with pytest.raises(UserError, match="not a record of"):
        pack(place / "packed", folder, record)
    with pytest.raises(UserError, match="not UTF-8; choose another name"):
        pack(place / "a\udcff", folder)
    model, tokenizer, about = load_model(folder)
    with torch.no_grad():
        next(model.parameters())[0] = 7e4
    save_model(folder, model, tokenizer, about)
    with pytest.raises(UserError, match="model: .* beyond 65,504"):
        pack(place / "packed", folder)
    assert not list(place.iterdir())


@pytest.mark.parametrize("name", shipped())
def test_a_folder_comes_before_a_shipped_model(name, folder, monkeypatch):
    assert find_model(folder) == folder
    with pytest.raises(UserError, match="nor a model that comes with"):
        find_model("multi30k-en-xx")
    assert find_model(name).parent.name == "shipped"
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


def test_only_notebooks_need_plots_and_yaml(installed):
    (about,) = map(PathDistribution, installed.glob("*.dist-info"))
    needs = defaultdict(set)
    for line in about.requires:
        needs[line.partition("extra == ")[2]].add(re.match(r"[\w-]+", line)[0])
    assert needs['"notebooks"'] == {"matplotlib", "pyyaml"}
    assert "annotated-transformer" in needs['"book"']
    assert {"torch", "platformdirs"} < needs[""]
    assert not needs[""] & needs['"notebooks"']


@pytest.mark.parametrize("name", shipped())
def test_a_wheel_translates(name, installed):
    sentence, word = DOGS[name[-2:]]
    ended = subprocess.run(
        [sys.executable, "-m", "annotated_transformer", "translate", name],
        input=sentence.encode(),
        cwd=installed,  # `python -m` takes the package from here
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
    )
    assert word in ended.stdout.decode(), ended.stderr.decode()


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_model_is_small_and_ready(name):
    files = list(find_model(name).iterdir())
    assert sum(file.stat().st_size for file in files) < 6_000_000
    card = (find_model(name) / "README.md").read_text("utf-8")
    assert "research" in card and "bleu" in card and "## Limits" in card
    text, dog = DOGS[load_model(find_model(name))[2]["data"]["target"]]
    begin = time.process_time()
    translation = Translator.load(name)(text)
    assert time.process_time() - begin < 5  # a second, on a quiet machine
    assert dog in translation


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_model_has_the_scores_on_its_card(name, real_folder):
    _, _, about = load_model(find_model(name))
    pairs = read_pairs(
        real_folder / f"test_2016_flickr.{about['data']['source']}.gz",
        real_folder / f"test_2016_flickr.{about['data']['target']}.gz",
    )
    outputs = Translator.load(name)([source for source, _ in pairs])
    language = about["data"]["target"]
    found = asdict(
        corpus_scores(outputs, [text for _, text in pairs], language)
    )
    for metric in ("bleu", "bleu_lowercase", "bleu_moses", "chrf"):
        stated = float(about["result"][f"test_2016_flickr, {metric}"])
        assert found[metric] == pytest.approx(stated, abs=0.05)
