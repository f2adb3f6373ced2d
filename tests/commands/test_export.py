"""The command export: a folder for another program, or one line."""

import json

import pytest
from refusal import refused
from tiny_models import TINY

from annotated_transformer.data import train_tokenizer
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.model_folder import save_model

FILES = {
    "huggingface": ["config.json", "generation_config.json", "tokenizer.json"],
    "ctranslate2": ["config.json", "model.bin", "shared_vocabulary.json"],
}


@pytest.mark.parametrize("to", FILES)
def test_a_model_goes_there_by_one_command(command, to, tmp_path):
    ended = command("export", "pronouns", tmp_path / "out", "--to", to)
    assert ended == (0, f"{tmp_path / 'out'}: see its README.md\n", "")
    card = (tmp_path / "out/README.md").read_text("utf-8")
    assert "# pronouns: en to de" in card and "language: [en, de]" in card
    assert "checksums of the text" not in card  # no history is there
    for name in [*FILES[to], "tokenizer.model"]:
        assert (tmp_path / "out" / name).stat().st_size > 100
    assert json.loads((tmp_path / "out/config.json").read_bytes())
    again = command("export", "pronouns", tmp_path / "out", "--to", to)
    refused(again, "out: exists already; choose another name")


def test_what_cannot_go_there_is_one_line(command, tmp_path):
    out = tmp_path / "out"
    tokenizer = train_tokenizer(["abcdefghijk"], 16, "char")
    sizes = TINY["recurrent_translator"]
    save_model(tmp_path / "old", build(sizes), tokenizer)
    ended = command("export", tmp_path / "old", out, "--to", "huggingface")
    refused(ended, "RecurrentConfig has no counterpart elsewhere")
    words = ["--to", "huggingface", "--quantization", "int8"]
    ended = command("export", "pronouns", out, *words)
    refused(ended, "--quantization is for --to ctranslate2")
    refused(command("export", "nobody", out, *words[:2]), "no such folder")
    assert command("export", "pronouns", out, "--to", "paper").status == 2
    assert not out.exists()
