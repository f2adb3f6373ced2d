"""Trees as strings, their brackets and their sentences, by other means."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import chapters
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unchecked import unchecked

from annotated_transformer import Translator, parsing
from annotated_transformer.corpora.generated import parsing_corpus
from annotated_transformer.errors import UserError
from annotated_transformer.model import parameter_count
from annotated_transformer.parsing import (
    NOUNS,
    VERBS,
    WITH,
    WORD,
    Tree,
    bracket_score,
    brackets,
    delinearise,
    edge,
    leaves,
    linearise,
    sentence,
    treebank,
)
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import RECIPES

RUNS = Path(__file__).parents[1] / "book" / "runs"
RECORD = RUNS / "parsing_as_translation.json"
labels = st.sampled_from(["S", "NP", "VP", "A-1", "(", ")", ""])
some_words = st.sampled_from(["the", "XX", "(S", ")S", "a b", ""])


def phrase(parts):
    return st.builds(
        Tree, labels, st.lists(parts, min_size=1, max_size=4).map(tuple)
    )


random_trees = st.recursive(
    phrase(some_words), lambda smaller: phrase(smaller | some_words)
)


def drawn(count=300):
    rng = random.Random(5)
    return [sentence(rng) for _ in range(count)]


@given(random_trees)
def test_a_tree_comes_back_from_its_string(tree):
    """Whatever its words are: they do not stand in the string."""
    text = linearise(tree)
    assert delinearise(text, leaves(tree)) == tree
    assert text.split().count(WORD) >= len(leaves(tree))


@given(random_trees, st.data())
def test_a_string_that_lost_or_doubled_a_token_is_no_tree(tree, data):
    tokens, words = linearise(tree).split(), leaves(tree)
    place = data.draw(st.integers(0, len(tokens) - 1))
    for changed in (
        tokens[:place] + tokens[place + 1 :],
        tokens[: place + 1] + tokens[place:],
    ):
        assert delinearise(" ".join(changed), words) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(S (NP )NP XX XX )S",
        "(S XX XX )S XX",
        ") (S XX XX )S",
        "(S XX the )S",
        ")S XX XX (S",
    ],
)
def test_what_is_no_tree_is_none(text):
    assert delinearise(text, ["a", "b"]) is None


def plain_brackets(tree):
    """Brackets read off the string, with a stack of places."""
    found, stack, word = [], [], 0
    for token in linearise(tree).split():
        if token == WORD:
            word += 1
        elif token.startswith("("):
            stack.append((token[1:], word))
        else:
            found.append((*stack.pop(), word))
    return found


def plain_counts(tree, reference):
    """Brackets of both, of one, of the other: struck off one by one."""
    ours, theirs = plain_brackets(tree), plain_brackets(reference)
    sizes = len(ours), len(theirs)
    for bracket in ours:
        if bracket in theirs:
            theirs.remove(bracket)
    return sizes[1] - len(theirs), *sizes


PLAIN = st.recursive(
    st.builds(
        Tree,
        st.sampled_from("AB"),
        st.lists(st.just("w"), min_size=1, max_size=2).map(tuple),
    ),
    lambda smaller: st.builds(
        Tree,
        st.sampled_from("AB"),
        st.lists(smaller, min_size=1, max_size=3).map(tuple),
    ),
)


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=4))
def test_score_is_that_of_a_plain_count(pairs):
    found, gold = zip(*pairs, strict=True)
    counts = [plain_counts(*pair) for pair in pairs]
    right, written, wanted = map(sum, zip(*counts, strict=True))
    score = bracket_score(found, gold)
    assert score.precision == pytest.approx(right / written)
    assert score.recall == pytest.approx(right / wanted)
    total = score.precision + score.recall
    harmonic = 2 * score.precision * score.recall / total if right else 0
    assert score.f1 == pytest.approx(harmonic)
    other = bracket_score(gold, found)
    assert (other.recall, other.precision, other.f1) == pytest.approx(score)
    assert bracket_score(gold, gold) == (1, 1, 1)


def test_a_malformed_output_costs_recall_alone():
    one, other = drawn(2)
    score = bracket_score([one, None], [one, other])
    both = [brackets(tree).total() for tree in (one, other)]
    assert score.precision == 1
    assert score.recall == pytest.approx(both[0] / sum(both))
    assert bracket_score([None], [one]) == (0, 0, 0)


def modifiers(tree, outer=()):
    """Each modifier, its head, and what else it could belong to."""
    open_ = [*outer]
    for place, child in enumerate(tree.children):
        if isinstance(child, Tree):
            if child.label in ("PP", "SBAR") and leaves(child)[0] != "of":
                yield child, open_[0], open_[1:]
            yield from modifiers(child, open_)
        if tree.label == "VP":
            open_ = [*edge(Tree("VP", tree.children[: place + 1])), *outer]
        elif tree.label == "NP" and isinstance(child, Tree):
            open_ = [*edge(child), *outer]


def test_each_modifier_goes_with_its_head_and_nothing_else():
    seen = 0
    for tree in drawn():
        for child, head, others in modifiers(tree):
            if child.label == "PP":
                heads = WITH[leaves(child)[-1]]
            else:
                clause = child.children[1].children
                verb = leaves(clause[-1])[0]
                heads = VERBS[verb][len(clause) - 1]
            assert head in heads and not {*others} & {*heads}
            seen += 1
    assert seen > 200


def test_no_sentence_has_two_trees():
    seen = {}
    with unchecked():
        trees = drawn(5000)
    for tree in trees:
        assert seen.setdefault(" ".join(leaves(tree)), tree) == tree
    assert not {*NOUNS} & {*VERBS} | {*WITH} & {*NOUNS}


def test_a_treebank_is_as_asked_for():
    trees = treebank(50, seed=3, fewest=2, most=2)
    texts = [" ".join(leaves(tree)) for tree in trees]
    assert len({*texts}) == 50 and trees == treebank(50, 3, 2, 2)
    for text in texts:
        assert len(re.findall(r"\b(?:with|of|that)\b", text)) == 2


@pytest.mark.parametrize("fewest, most", [(4, 3), (0, -1), (-1, 3)])
def test_a_treebank_without_sentences_is_refused(fewest, most, monkeypatch):
    monkeypatch.setattr(parsing, "sentence", None)  # none is drawn
    for count in (0, 5):
        with pytest.raises(UserError, match=rf"fewest={fewest}.* to {most}"):
            treebank(count, 0, fewest, most)


def test_a_treebank_ends_where_no_more_sentences_are_found(monkeypatch):
    """Of the two that are ever drawn, one has no modifier."""
    rng = random.Random(0)
    plain = Tree("S", ("the", "dog", "howled"))
    both = [plain, Tree("S", ("the", "dog", "of", "the", "man", "howled"))]
    drawn = (rng.choice(both) for _ in range(150_000))
    monkeypatch.setattr(parsing, "sentence", lambda _: next(drawn))
    assert treebank(1, 0, 0, 0) == [plain]
    assert sorted(treebank(2, 0, 0, 1)) == sorted(both)
    with pytest.raises(UserError, match=r"count=2`: only 1 .* 0 to 0 mod"):
        treebank(2, 0, 0, 0)


@pytest.mark.parametrize("name", ["transformer", "recurrent", "unattended"])
def test_a_recorded_parser_learned_at_the_best_rate_tried(name):
    results = json.loads(RECORD.read_text("utf-8"))["results"]
    tried = {
        result["perplexity"]: result["rate"]
        for key, result in results.items()
        if key.startswith("rate=") and name in key
    }
    assert len(tried) == 4
    rates = {
        result["rate"]
        for key, result in results.items()
        if key.startswith(f"{name} seed=")
    }
    assert rates == {tried[min(tried)]}


def test_the_task_trains_what_the_lab_recorded():
    """The same sentences, words, sizes and updates, at the best rate."""
    record = json.loads(RECORD.read_text("utf-8"))
    recipe, corpus = RECIPES["parsing"], parsing_corpus()
    for text, known in corpus.checksums.items():
        assert record["data"]["sha256"][text] == known
    result, asked = record["results"]["transformer seed=0"], record["recipe"]
    ours = recipe.as_json()["train"] | {"vocab_size": recipe.vocab_size}
    shared = ours.keys() & asked.keys()
    shared -= {"checkpoint_every", "average", "peak_lr"}
    assert {x: ours[x] for x in shared} == {x: asked[x] for x in shared}
    assert recipe.train.peak_lr == result["rate"]
    tokenizer = learn_tokenizer(corpus, recipe)
    sizes = replace(recipe.model, vocab_size=len(tokenizer))
    assert parameter_count(sizes) == result["parameters"]
    for source, target in corpus.train[:50]:
        for side in (source, target):
            assert len(tokenizer.encode(side)) == len(side.split()) + 1
            assert tokenizer.decode(tokenizer.encode(side)) == side
        assert linearise(delinearise(target, source.split())) == target


def test_a_trained_parser_parses(command, tmp_path, monkeypatch, capsys):
    """Brackets come out as they were written, whatever it has learned.

    Of a sentence with another word the program of the page says so.
    """
    words = ["train", tmp_path / "parser", "--task=parsing", "--max-steps=30"]
    assert command(*words).status == 0
    parser = Translator.load(tmp_path / "parser")
    (output,) = parser(["the king saw the man with the telescope"])
    assert output and {*output.split()} <= {
        *(x for _, y in parsing_corpus().train for x in y.split())
    }
    page = (chapters.BOOK / "parsing.ipynb").read_text("utf-8")
    cells = ["".join(cell["source"]) for cell in json.loads(page)["cells"]]
    (program,) = re.findall(
        r"^```python\n(.*?\bshow\(.*?)^```$", "\n".join(cells), re.M | re.S
    )
    monkeypatch.chdir(tmp_path)
    exec(program.replace("the telescope", "the zebra"), {})
    words = {x for tree in treebank(300, seed=1) for x in leaves(tree)}
    assert {*capsys.readouterr().out.split()} == words
