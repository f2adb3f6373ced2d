"""A fault that is planted in a definition is found by what checks it.

Each fault is planted in a copy of the package, and in the exported cell where
the chapter that is run defines the thing itself. Only the chapters that check
it are run, with every error allowed, and exactly the checks that are named
must fail: a claim by its id, an assertion by what it says. Others are planted
for the tests: the one that is named must fail. All of it takes minutes:
`make soak`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import chapters
import pytest
from export import export_cells
from nbclient import NotebookClient
from nbformat import NotebookNode

TESTS = Path(__file__).parent
CLAIM = re.compile(r"(?m)^claim (\S+) ([a-z ]+): ")
WRONG_ANSWERS = {"by loop", "answers", "from the formula"}
# module, what stands there, what is planted, and what must go red where
FAULTS = {
    "no scale": (
        "attention",
        "key.transpose(-2, -1) / math.sqrt(query.size(-1))",
        "key.transpose(-2, -1)",
        {"01_attention": WRONG_ANSWERS},
    ),
    "softmax over the wrong axis": (
        "attention",
        ".softmax(-1)",
        ".softmax(-2)",
        {"01_attention": WRONG_ANSWERS},
    ),
    "leaking mask": (
        "attention",
        "device=device).tril()",
        "device=device).tril(1)",
        {"04_layers": {"P-3.1-d"}, "05_model": {"the future leaks"}},
    ),
    "no positions": (
        "embedding",
        "return waves[:, :d_model]",
        "return 0 * waves[:, :d_model]",
        {"03_embedding": {"squared length"}},
    ),
    "unshifted targets": (
        "data",
        "F.pad(labels, (1, -1), value=BOS)",
        "labels",
        {"09_training": {"untrained-tied"}},
    ),
    "dropout left on": (
        "layers",
        "nn.Dropout(dropout)",
        "lambda x: F.dropout(x, dropout)",
        {"10_decoding": {"cached"}},
    ),
    "candidates not shared out": (
        "risk",
        "log_p.softmax(-1)",
        "log_p.exp()",
        {"risk": {"by hand"}},
    ),
}
# module, what stands there, what is planted, and a test that must find it
BEHIND = {
    "mean square of each column": (
        "modern",
        "x.square().mean(-1",
        "x.square().mean(-2",
        "modern::test_rms_norm_is_torchs",
    ),
    "epsilon behind the root": (
        "modern",
        "(mean_square + self.eps).rsqrt()",
        "(1 / (mean_square.sqrt() + self.eps))",
        "modern::test_rms_norm_is_torchs",
    ),
    "the other half is the gate": (
        "modern",
        "F.silu(gate) * passes",
        "gate * F.silu(passes)",
        "modern::test_swiglu_is_a_loop",
    ),
    "both halves drawn as one matrix": (
        "modern",
        "(*self.inner.weight.chunk(2), self.outer.weight)",
        "(self.inner.weight, self.outer.weight)",
        "modern::test_each_matrix_of_a_swiglu_starts_as_xavier_has_it",
    ),
    "a SwiGLU as wide as the layer of 2017": (
        "modern",
        "2 * config.d_ff // 3",
        "config.d_ff",
        "modern::test_a_swiglu_has_the_parameters_of_a_feed_forward_layer",
    ),
    "turned the other way": (
        "modern",
        "[a * cos - b * sin, a * sin + b * cos]",
        "[a * cos + b * sin, b * cos - a * sin]",
        "modern::test_rotation_is_a_complex_product",
    ),
    "halves turned, not neighbours": (
        "modern",
        "a, b = x[..., 0::2], x[..., 1::2]",
        "a, b = x.chunk(2, -1)",
        "modern::test_rotation_is_a_complex_product",
    ),
    "with a cache, each query is at position 0": (
        "modern",
        "turn(query, angles[:, start:])",
        "turn(query, angles[:, : end - start])",
        "modern::test_cached_equals_uncached",
    ),
    "queries one position on": (
        "modern",
        "turn(query, angles[:, start:])",
        "turn(query, self.table(end + 1, query)[:, start + 1 : end + 1])",
        "modern::test_placed_attention_is_the_formula",
    ),
    "slopes from 1": (
        "modern",
        "torch.arange(1, heads + 1)",
        "torch.arange(heads)",
        "modern::test_linear_bias_is_a_loop",
    ),
    "slopes of eight heads for any number": (
        "modern",
        "2.0 ** (-8 / heads *",
        "2.0 ** (-1 *",
        "modern::test_linear_bias_is_a_loop",
    ),
    "far keys are favoured": (
        "modern",
        "[:, None, None] * -distance",
        "[:, None, None] * distance",
        "modern::test_linear_bias_is_a_loop",
    ),
    "mask upside down": (
        "modern",
        "additive(mask, query)",
        "additive(mask.logical_not(), query)",
        "modern::test_placed_attention_is_the_formula",
    ),
    "heads take turns at the groups": (
        "modern",
        "x.repeat_interleave(size, 1) for",
        "x.repeat(1, size, 1, 1) for",
        "modern::test_groups_are_torchs",
    ),
    "groups cut along the wrong axis": (
        "modern",
        "x.unflatten(-1, (self.groups, -1)).transpose(1, 2)",
        "x.unflatten(-1, (-1, self.groups)).permute(0, 3, 1, 2)",
        "modern::test_groups_are_torchs",
    ),
    "no dropout in grouped attention": (
        "modern",
        "attn_mask=mask, dropout_p=dropout_p",
        "attn_mask=mask",
        "modern::test_as_many_groups_as_heads_is_multi_head",
    ),
    "the option for it is lost": (
        "modern",
        "config.d_k, config.d_v, config.attention_dropout",
        "config.d_k, config.d_v",
        "modern::test_nothing_exchanged_is_the_model_of_2017",
    ),
    "biases drawn at random": (
        "modern",
        "        nn.init.zeros_(self.key_value.bias)\n",
        "",
        "modern::test_start_has_the_variance_of_2017",
    ),
    "sinusoids are added to what is turned": (
        "modern",
        'config.positions == "added"',
        'config.positions != "none"',
        "modern::test_parts_are_those_chosen",
    ),
    "a language model starts large": (
        "writing",
        "            scale_residual_init(self.decoder.layers)",
        "            pass",
        "writing::test_a_language_model_starts_small",
    ),
    "earlier tiles are not shrunk": (
        "modern",
        "answer = answer * shrink +",
        "answer = answer +",
        "modern::test_tiles_are_exact",
    ),
    "brackets end a word early": (
        "parsing",
        "found[tree.label, start, end] += 1",
        "found[tree.label, start, end - 1] += 1",
        "parsing::test_brackets_are_those_of_a_stack",
    ),
    "a bracket counts once": (
        "parsing",
        "found[tree.label, start, end] += 1",
        "found[tree.label, start, end] = 1",
        "parsing::test_brackets_are_those_of_a_stack",
    ),
    "precision of what is wanted": (
        "parsing",
        "right / max(1, written),",
        "right / max(1, wanted),",
        "parsing::test_score_is_that_of_a_plain_count",
    ),
    "outputs that are no tree are passed over": (
        "parsing",
        "theirs = brackets(reference)",
        "theirs = brackets(reference) if tree else Counter()",
        "parsing::test_a_malformed_output_costs_recall_alone",
    ),
    "words may be left over": (
        "parsing",
        "if waiting or len(phrases) > 1",
        "if len(phrases) > 1",
        "parsing::test_what_is_no_tree_is_none",
    ),
    "two trees for a sentence": (
        "parsing",
        "if head in heads and not {*others} & {*heads}",
        "if head in heads",
        "parsing::test_each_modifier_goes_with_its_head_and_nothing_else",
    ),
    "forget gates open the wrong gate": (
        "recurrence",
        "bias.data.chunk(4)[1]",
        "bias.data.chunk(4)[2]",
        "recurrence::test_gates_that_keep_start_open",
    ),
    "positions begin again with a cache": (
        "model",
        "self.target(target, start)",
        "self.target(target)",
        "recurrence::test_one_token_at_a_time_gives_the_same",
    ),
    "a window reaches back one place too far": (
        "recurrence",
        "presents.append(both[:, x.size(1) :])",
        "presents.append(both[:, x.size(1) - 1 : -1])",
        "recurrence::test_one_token_at_a_time_gives_the_same",
    ),
    "log-probability of the token that is read": (
        "pairs/likelihood",
        "log_probabilities(logits.float(), batch.labels)",
        "log_probabilities(logits.float(), batch.inputs)",
        "pairs/likelihood::test_scores_are_those_of_a_plain_loop",
    ),
    "the end symbol is not counted": (
        "pairs/likelihood",
        "length_penalty(len(ids), alpha)",
        "length_penalty(len(ids) - 1, alpha)",
        "pairs/likelihood::test_scores_are_those_of_a_plain_loop",
    ),
    "padding is counted": (
        "risk",
        "    where = labels != PAD\n    nats",
        "    where = labels >= PAD\n    nats",
        "pairs/likelihood::test_scores_are_those_of_a_plain_loop",
    ),
    "scores in the order of the batches": (
        "pairs/likelihood",
        "log_p[places[i]] = nats",
        "log_p[i] = nats",
        "pairs/likelihood::test_batches_change_nothing",
    ),
    "an alpha of 0 is none": (
        "pairs/likelihood",
        "translator.alpha if alpha is None else alpha",
        "alpha or translator.alpha",
        "pairs/likelihood::test_scores_are_those_of_a_plain_loop",
    ),
    "one alpha for all translators": (
        "pairs/likelihood",
        "translator.alpha if alpha is None else alpha",
        "0.6 if alpha is None else alpha",
        "pairs/likelihood::test_a_translator_scores_with_its_own_alpha",
    ),
    "links are transposed": (
        "pairs/alignment",
        "(int(row.argmax()), j)",
        "(j, int(row.argmax()))",
        "pairs/alignment::test_links_are_those_of_a_plain_loop",
    ),
    "the last layer aligns": (
        "pairs/alignment",
        "maps.cross[-2:][0]",
        "maps.cross[-1]",
        "pairs/alignment::test_links_are_those_of_a_plain_loop",
    ),
    "where it looked after the word": (
        "pairs/alignment",
        "batch.source, batch.inputs)",
        "batch.source, batch.labels)",
        "pairs/alignment::test_links_are_those_of_a_plain_loop",
    ),
    "mean of a word's pieces, not their sum": (
        "pairs/alignment",
        "weights @ columns.T",
        "weights @ (columns / columns.sum(1, keepdim=True)).T",
        "pairs/alignment::test_links_are_those_of_a_plain_loop",
    ),
    "the best has the smallest BLEU": (
        "runs/folder",
        '-line.get("valid_bleu", 0.0)',
        'line.get("valid_bleu", 0.0)',
        "runs/run::test_the_best_checkpoint_has_the_highest_bleu",
    ),
    "a loss that is no number is the best": (
        "runs/folder",
        ' and line["valid_loss"] >= 0',
        "",
        "runs/run::test_the_best_checkpoint_is_kept",
    ),
    "the best is deleted": (
        "runs/folder",
        "- {*self.kept(), self.best()}",
        "- {*self.kept()}",
        "runs/run::test_the_best_checkpoint_is_kept",
    ),
    "a row is one id longer": (
        "data",
        "cells < ends",
        "cells <= ends",
        "data::test_rows_of_flat_arrays_are_those_of_the_plain_loop",
    ),
    "both halves have the places of the first": (
        "data",
        "self.places + self.labels.numel()",
        "self.places",
        "data::test_twice_has_each_sentence_two_times",
    ),
    "a copy is waited for": (
        "runs/feeding",
        "non_blocking=True",
        "non_blocking=False",
        "runs/feeding::test_the_reader_of_a_gpu_s_batches_copies_nothing",
    ),
    "a batch is read before it is there": (
        "runs/feeding",
        "reader.wait_stream(stream)",
        "reader.device",
        "runs/feeding::test_the_reader_of_a_gpu_s_batches_copies_nothing",
    ),
    "the process hears Ctrl-C": (
        "runs/bpe_dropout",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "signal.signal(signal.SIGINT, signal.SIG_DFL)",
        "runs/bpe_dropout::test_it_is_deaf_to_what_stops_a_training",
    ),
    "the run sorts by the target": (
        "runs/loop",
        "                config.order,",
        "",
        "system/processes::test_a_run_sorts_its_pairs_as_the_recipe_says",
    ),
    "validation translates what is too long": (
        "runs/loop",
        "{*range(len(corpus.valid))} - {*left_out}",
        "range(len(corpus.valid))",
        "runs/run::test_sentences_that_are_left_out_are_not_translated",
    ),
    "validation searches with a beam": (
        "runs/loop",
        "translator([*sources], beam=1)",
        "translator([*sources], beam=5)",
        "runs/run::test_validation_is_scored_cased_and_greedy",
    ),
}
# one of each kind every time, all of them at length
SOAK = "SOAK" in os.environ
TRIED = FAULTS if SOAK else ["no positions"]
BEHIND_TRIED = BEHIND if SOAK else ["links are transposed"]


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_can_still_be_planted(name):
    module, old, _, owners = FAULTS[name]
    text = (chapters.PACKAGE / f"{module}.py").read_text("utf-8")
    assert old in text
    assert all((chapters.BOOK / f"{owner}.ipynb").exists() for owner in owners)


@pytest.mark.parametrize("name", BEHIND)
def test_it_can_still_be_planted_behind_its_test(name):
    module, old, _, test = BEHIND[name]
    text = (chapters.PACKAGE / f"{module}.py").read_text("utf-8")
    assert text.count(old) == 1
    file, _, function = test.partition("::")
    tests = file_of(file).read_text("utf-8")
    assert f"def {function}(" in tests


@pytest.mark.parametrize("name", TRIED)
def test_exactly_the_checks_of_it_go_red(name, tmp_path, monkeypatch):
    module, old, new, owners = FAULTS[name]
    planted(tmp_path, module, old, new)
    shutil.copytree(
        chapters.BOOK, tmp_path / "book", ignore=shutil.ignore_patterns("_*")
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = {
        owner: red(tmp_path / "book", owner, old, new) for owner in owners
    }
    assert found == owners


@pytest.mark.parametrize("name", BEHIND_TRIED)
def test_the_test_finds_it(name, tmp_path):
    module, old, new, test = BEHIND[name]
    planted(tmp_path, module, old, new)
    file, _, function = test.partition("::")
    words = ["pytest", "-q", "-x", "-o", "addopts=", "--basetemp=made"]
    ended = subprocess.run(
        [sys.executable, "-m", *words, f"{file_of(file)}::{function}"],
        cwd=tmp_path,  # so that its package is the one that is tested
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert ended.returncode == 1, ended.stdout
    assert " failed" in ended.stdout.splitlines()[-1]  # and no error


def file_of(name: str) -> Path:
    """The file of that name, in whichever wing."""
    folder, _, stem = name.rpartition("/")
    return TESTS / folder / f"test_{stem}.py"


def planted(folder: Path, module: str, old: str, new: str) -> None:
    """Put the package into a folder, with a fault in one module."""
    package = shutil.copytree(
        chapters.PACKAGE,
        folder / "annotated_transformer",
        ignore=shutil.ignore_patterns("__pycache__"),
        copy_function=os.symlink,
    )
    path = package / f"{module}.py"
    text = path.read_text("utf-8").replace(old, new)
    path.unlink()
    path.write_text(text, "utf-8")


def red(book: Path, owner: str, old: str, new: str) -> set[str]:
    """What fails when a chapter is run with the fault in it.

    The claims whose verdict is another or that stop with an error, and the
    assertions that fail, by their message.
    """
    notebook = chapters.read(book / f"{owner}.ipynb")
    before = dict(CLAIM.findall(printed(notebook)))
    for cell in export_cells(notebook):
        cell.source = cell.source.replace(old, new)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(book)}},
    )
    client.execute()
    after = dict(CLAIM.findall(printed(notebook)))
    found = {name for name in after if after[name] != before[name]}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                named = re.match(r"claim ([^ :]+)", output.evalue)
                if named or output.ename == "AssertionError":
                    found.add(named[1] if named else output.evalue)
    return found


def printed(notebook: NotebookNode) -> str:
    """All that its cells have printed but for the lines of controls."""
    text = "".join(
        output.get("text", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    return re.sub(r"(?m)^claim \S+ control: .*$", "", text)
