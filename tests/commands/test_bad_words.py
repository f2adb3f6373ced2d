"""Words that no command can use: one line that says what, and a status."""

import re
import shlex
import shutil

import pytest
from refusal import refused

from annotated_transformer.commands import app

FILES = {
    "good": b"a b\n",
    "two": b"a\nb\n",
    "latin": b"a\nb\xff\n",
    "blank": b"a\n\n",
    "empty": b"",
    "long": b"a b a b a b\n" * 9,
    "words": b"hello world\nhello there\n",
    "odd": "a \u2585 b\n".encode() * 3,
    "t.csv": b"de,en\nein,a\n,b\n",
    "p.jsonl": b'{"source": "a", "target": "' + b"b" * 9_999 + b'cd"}\n',
    "a.srt": b"1\n00:01:02,000 --> 00:01:03,000\n" + b"b " * 9_999,
    "b.srt": b"A dog.\n",
}
GOOD = "--train good good --valid good good "
# Of train, after "train out": its plan refuses the same, unless it writes.
TRAIN = {
    # text
    "": "--task, or --train and --valid",
    GOOD + "--task=copy": "--task, or --train and --valid",
    "--pairs=good " + GOOD: "3 files given",
    "--train good --valid good": "--train good: one file, .* by --pairs",
    "--train good good --valid good": "--valid good: one .* by --valid-pairs",
    "--pairs t.csv --valid-pairs good": "t.csv .de., line 3: empty",
    "--pairs t.csv --valid-pairs t.csv --target=fr": (
        "t.csv, line 1: no columns 'en' and 'fr', .*, only 'de', 'en'; rename"
    ),
    "--train good gone --valid good good": "gone.*No such file",
    "--train two good --valid good good": "two has 2 lines but good has 1",
    "--train two latin --valid good good": "latin, line 2: .*0xff",
    "--train two blank --valid good good": "blank, line 2: empty",
    "--train good good --valid empty good": "empty is empty",
    "--train long long --valid long long --tokenizer=char --max-length=4": (
        "none of its 9 sentence pairs"
    ),
    "--train odd odd --valid odd odd": r"U\+2585",
    "--task=copy --extra good": "good, line 1: columns: 1, not 2",
    "--task=copy --extra good=half": "good=half: .*'half' is no share",
    "--task=multi30k --target=xx": "'xx'.*en, de, fr",
    "--task=copy --source=de --target=en": "copy has no other languages",
    # settings: the words are the library's, and name the options
    "--task=copy --max-steps=0": "--max-steps 0: must be from 1 to",
    "--task=copy --seed=20261122103000": "--seed 20261122103000: must be",
    "--task=copy --tokenizer=letters": "--tokenizer letters: must be bpe or",
    "--task=copy --risk=1": "--risk 1: must be 0, or at least 2",
    "--task=copy --risk=4 --r-drop=5": "without --r-drop",
    "--task=copy --risk=4": "add --from MODEL",
    "--task=copy --new-subwords": "add --from MODEL",
    "--task=copy --adapters=2": "--adapters change a trained model",
    "--task=copy --adapters=2 --from=model --new-subwords": (
        "--adapters change a trained model"
    ),
    "--task=copy --plan-minutes=1 --max-steps=4": (
        "finds --max-steps: leave one out"
    ),
    "--task=copy --set train.clip=-1": "`clip=-1.0`: must be from 1e-09",
    "--task=copy --set model.heads=5": "`heads=5`: must divide `d_model=",
    "--task=copy --set model.positions=rotary --set model.d_k=5": (
        "`positions='rotary'`: turns pairs of numbers"
    ),
    "--task=copy --set processes=4": "no field 'processes'",
    "--task=copy --tokenizer=char --bpe-dropout=0.1": "merges",
    "--task=copy --from=model --vocab-size=30": "--vocab-size: the model that",
    "--task=copy --from=model --post-norm": "--pre-norm: the model that",
    "--task=copy --from=model --set model.layers=6": "`layers`: the model",
    GOOD + "--tokenizer=char --batch-tokens=2": "at most 2 tokens a side",
    "--train words words --valid words words --vocab-size=8000": (
        "--vocab-size: .* 8000 .* the largest possible is "
    ),
    GOOD + "--vocab-size=6": "--vocab-size: .*too small",
    # running text
    "latin --task=text": "latin, line 2: byte 2 .* not UTF-8",
    "empty --task=text": "empty is empty; leave it out",
    "--task=text": "name at least one file",
    "gone --task=text": "gone cannot be read .*No such file",
    "good --task=text '--mark= * '": "--mark.*blanks at its ends",
    "good --task=text": "the training text has .*, or lower --max-length",
    "good --task=text --held-out=1": "from 0.001 to",
    "good --task=text --noise=1": "--noise is for",
    "good --task=builtin": "only --task text reads",
    "good --task=plays": "only --task text reads",
}
# What lies in OUTPUT, or how it is called
OUTPUTS = {
    "train out --resume": "no run to resume",
    "train model --resume": "begun: give annotated-.* --resume",
    "train out --task=copy --resume": "no run to resume.* without --resume",
    "train model --task=copy": "model: .*continue it with --resume",
    "train . --task=copy": "not empty",
    "train good --task=copy": "a file",
    "train good/new --task=copy": "Not a directory.; .* choose a folder that",
    "train link --task=copy": "File exists.; .* choose a folder that",
}
OTHERS = {
    "train out --task=copy --plan-minutes=1 --dry-run": "leave one out",
    "translate gone": "gone: no such folder",
    "translate good": "good: no trained model",
    "translate model 'a dog'": "'a dog': no such file; .* echo SENTENCE",
    "translate model a-dog": "a-dog cannot be read",
    "translate cut": "cut/model.safetensors.*copy the whole folder",
    "translate model latin": "latin, line 2: .*0xff",
    "translate model good --beam=1001": "--beam 1001: must be from 1",
    "translate model good --n-best=9": "--n-best 9 needs --beam 9",
    "translate model good --device=mps": "device 'mps' is not available",
    "score model good two": "good has 1 lines but two has 2",
    "score model good good --alpha=51": "alpha 51",
    "evaluate model two blank": "blank, line 2: empty",
    "evaluate model two": "two files of text, .* or one .* by --pairs",
    "evaluate model two two --pairs two": "or one file of pairs by --pairs",
    "evaluate model --pairs good": "good, line 1: columns: 1, not 2; .*.csv",
    "score model --pairs p.jsonl": "p.jsonl, pair 1: 10001 characters",
    "translate model a.srt": "a.srt, line 3: 19997 characters",
    "translate model a.srt --confidence": "no columns; leave out --n-best",
    "translate model b.srt": "b.srt: no subtitles",
    "curve good --output a.svg": "good: no metrics.jsonl with a line",
    "curve model --output a.txt": "a.txt: .* choose .svg, .png or .pdf",
    "backtranslate model good --output good": "exists already",
    "generate pronouns --temperature=-1": "pronouns: a translator, which writ",
    "perplexity multi30k-en-de good": "multi30k-en-de: a translator",
    "translate plays good": "plays: a language model, which has no source",
    "generate plays --temperature=-1": "--temperature -1.0, .* at least 0",
}
USAGE = {
    "nonsense": "No such command 'nonsense'",
    "train out --preset=huge": "'--preset'",
    "train out --max-steps=three": "'--max-steps'",
    "translate model --n-best=0": "'--n-best'",
    "evaluate": "Missing argument",
}


@pytest.fixture(scope="module")
def folder(trained, tmp_path_factory):
    """A folder with the files of FILES, and models whole and broken."""
    folder = tmp_path_factory.mktemp("words")
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    for name in ("model", "cut"):
        shutil.copytree(trained, folder / name)
    weights = folder / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])
    (folder / "cut" / "metrics.jsonl").write_text('{"step": 1')
    (folder / "link").symlink_to(folder / "nowhere")
    return folder


ROWS = [
    *((f"train out {words}", told, 1) for words, told in TRAIN.items()),
    *(
        (f"train out {words} --dry-run", told, 1)
        for words, told in TRAIN.items()
    ),
    *((words, told, 1) for words, told in {**OUTPUTS, **OTHERS}.items()),
    *((words, told, 2) for words, told in USAGE.items()),
]


@pytest.mark.parametrize(("words", "told", "status"), ROWS)
def test_one_line_says_what_is_wrong(
    command, folder, monkeypatch, words, told, status
):
    monkeypatch.chdir(folder)
    before = {*folder.rglob("*"), folder / "out", folder / "out/.lock"}
    ended = command(*shlex.split(words))
    assert (ended.status, ended.out) == (status, "")
    assert "Traceback" not in ended.err
    if status == 1:
        assert ended.err.splitlines()[-1].startswith("error: ")
    assert re.search(told, " ".join(ended.err.split())), ended.err
    assert before >= {*folder.rglob("*")}


def test_memory_that_a_library_lacks(monkeypatch, command):
    def fails():
        raise RuntimeError("can't allocate memory: you tried")

    monkeypatch.setattr(app, "app", fails)
    refused(command("train"), "error: out of memory")
