"""Models that come with the package: small, found by name, and good."""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from histories import HISTORY

from annotated_transformer.corpora.text_files import read_pairs
from annotated_transformer.data import train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.storage.shipped import find_model, shipped
from annotated_transformer.translation import Translator, score

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
    save_model(tmp_path / "model", transformer(sizes), tokenizer, HISTORY)
    return tmp_path / "model"


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
    text, dog = DOGS[load_model(find_model(name))[2].data.target]
    begin = time.process_time()
    translation = Translator.load(name)(text)
    assert time.process_time() - begin < 5  # a second, on a quiet machine
    assert dog in translation


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_model_has_the_scores_on_its_card(name, real_folder):
    _, _, history = load_model(find_model(name))
    pairs = read_pairs(
        real_folder / f"test_2016_flickr.{history.data.source}.gz",
        real_folder / f"test_2016_flickr.{history.data.target}.gz",
    )
    outputs = Translator.load(name)([source for source, _ in pairs])
    language = history.data.target
    found = asdict(score(outputs, [text for _, text in pairs], language))
    for metric in ("bleu", "bleu_lowercase", "bleu_moses", "chrf"):
        stated = float(history.result.scores[f"test_2016_flickr, {metric}"])
        assert found[metric] == pytest.approx(stated, abs=0.05)
