"""Two sentences of one, and what a pronoun is predicted from."""

import re

import pytest
import torch

from annotated_transformer.corpora.builtin import sentence_pairs
from annotated_transformer.data import train_tokenizer
from annotated_transformer.embedding import BOS
from annotated_transformer.model import ModelConfig, transformer
from experiments import noun_in_the_sentence_before as experiment
from experiments.noun_in_the_sentence_before import cut, given, shares

VERBS = {"is": "ist", "was": "war", "are": "sind", "were": "waren"}
CONJUNCTIONS = "weil|da|obwohl|obgleich|und|aber|doch"


@pytest.fixture(scope="module")
def some():
    found = filter(None, map(cut, sentence_pairs(4000, 7)))
    return [*found]


def test_a_sentence_is_cut_before_its_last_clause(some):
    """Put together again, both languages give the old sentence."""
    assert len(some) > 400
    for text in some:
        first, (who, verb, quality) = text.source[0], text.source[1].split()
        whole = text.example.source
        assert whole.endswith(f" {who.lower()} {verb} {quality}")
        assert re.fullmatch(
            re.escape(first[:-1]) + r",? (because|although|and|but) .*", whole
        )
        german, (pronoun, finite, adjective) = (
            text.target[0],
            text.target[1].split(),
        )
        assert finite == VERBS[verb]
        in_order = f"{pronoun.lower()} {finite} {adjective}"
        at_end = f"{pronoun.lower()} {adjective[:-1]} {finite}."
        joined = re.escape(german[:-1]) + rf", ({CONJUNCTIONS}) "
        rest = re.sub(joined, "", text.example.target, count=1)
        assert rest in (in_order, at_end)
        assert text.pair[1].count(".") == 2


def test_no_variation_of_the_books_sentence_is_read():
    (example, *_) = sentence_pairs(1, 0)
    source = "The dog ate the soup because it was hungry."
    target = "Der Hund fraß die Suppe, weil er hungrig war."
    followed = example._replace(source=source, target=target)
    assert cut(followed) is None
    other = followed._replace(source=source.replace("ate", "found"))
    assert cut(other).source == ("The dog found the soup.", "It was hungry.")
    assert cut(other).target[1] == "Er war hungrig."


def test_shares_are_counted_by_the_second_sentence(some, monkeypatch):
    monkeypatch.setattr(experiment, "texts", lambda: {"train": some})
    shares.cache_clear()
    second = some[0].source[1]
    same = [x.target[1].split()[0] for x in some if x.source[1] == second]
    share = experiment.share(second, "er")
    assert share == same.count("Er") / len(same)
    assert shares()[second].total() == len(same)
    shares.cache_clear()


@pytest.mark.parametrize("way", experiment.WAYS)
def test_chances_are_those_before_the_pronoun(some, way, monkeypatch):
    """Against the whole text, read at once."""
    lines = [line for text in some for line in text.pair]
    pieces = train_tokenizer(lines, 900)
    monkeypatch.setattr(experiment, "tokenizer", lambda: pieces)
    torch.manual_seed(0)
    sizes = ModelConfig(len(pieces), 1, 16, 32, 2, dropout=0.0)
    model = transformer(sizes).eval()
    text = some[3]
    source, target = text.pair
    if way == "one at a time":
        source, target = text.source[1], text.target[1]
    tokens = pieces.encode(target)
    said = pieces.encode(text.target[1].split()[0])[0]
    place = max(i for i, token in enumerate(tokens) if token == said)
    with torch.no_grad():
        read = torch.tensor([pieces.encode(source)])
        logits = model(read, torch.tensor([[BOS, *tokens]]))[0, place]
    (found,) = experiment.chances(model, [given(way, text)])
    ids = [pieces.encode(x)[0] for x in ("Er", "Sie", "Es")]
    torch.testing.assert_close(found, logits.softmax(-1)[ids])
