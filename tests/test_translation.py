"""Translation, against sacrebleu and the layers themselves."""

import hashlib
import math
from inspect import unwrap

import pytest
import sacrebleu
import torch
from tiny_models import make_translator
from torch.nn import functional as F
from without_blanks import ONE_OF_EACH

from annotated_transformer.data import make_batch, pad, train_tokenizer
from annotated_transformer.errors import UserError, check_texts
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.system.text_lines import read_lines
from annotated_transformer.translation import (
    MosesWords,
    Translator,
    attention_maps,
    corpus_scores,
)
from annotated_transformer.writing import Writer

LINES = [
    "a dog runs on the beach",
    "two dogs run",
    "ein Hund rennt am Strand",
    "zwei Hunde rennen",
]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(LINES * 4, 40, "bpe")


@pytest.fixture(scope="module")
def translator(tokenizer):
    """With as many positions as its longest text, so that outputs end."""
    return make_translator(tokenizer, positions="learned", max_length=34)


def test_batches_change_no_translation(translator):
    texts = [LINES[0], "", LINES[1], "   ", LINES[0] + " " + LINES[0], "語"]
    alone = [translator.n_best([text], 3)[0] for text in texts]
    for best in alone:
        scores = [one.score for one in best]
        assert scores == sorted(scores, reverse=True)
    for batch_tokens in (60, 10_000):
        found = translator.n_best(iter(texts), 3, batch_tokens=batch_tokens)
        for best, same in zip(found, alone, strict=True):
            assert [one.text for one in best] == [one.text for one in same]
            scores = [one.score for one in same]
            assert [x.score for x in best] == pytest.approx(scores, abs=1e-5)
        together = translator(texts, batch_tokens=batch_tokens)
        assert together == [best[0].text for best in found]
        assert together[1] == together[3] == ""
    assert translator([]) == []


def test_a_rule_holds_for_every_sentence(tokenizer, translator):
    """Of a text, of a batch, and for all of the best."""
    start = tokenizer.encode("zwei")[:-1]

    def rule(tokens, scores):
        place, ids = tokens.size(2) - 1, torch.arange(scores.size(2))
        return ids == start[place] if place < len(start) else ids >= 0

    texts = [LINES[0], f"{LINES[0]}. {LINES[1]}.", "", LINES[1]]
    options = {"split": "en", "rule": rule}
    found = translator.n_best(texts, 3, batch_tokens=60, **options)
    for text, best in zip(texts, found, strict=True):
        (alone,) = translator.n_best([text], 3, **options)
        assert [one.text for one in best] == [one.text for one in alone]
        for one in best if text else []:
            sentences = [part for _, part in one.parts] or [one]
            assert len(sentences) == (2 if "." in text else 1)
            for each in sentences:
                assert list(each.tokens[: len(start)]) == start
    nothing = torch.zeros(len(tokenizer), dtype=torch.bool)
    with pytest.raises(UserError, match="every continuation is forbidden"):
        translator(LINES[0], rule=lambda *_: nothing)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ("a dog", "a list of texts"),
        (5, "5, where a list of texts"),
        (["a", None], "text 1 is None"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts, told):
    with pytest.raises(UserError, match=told):
        unwrap(check_texts)(texts)  # without the checks of these tests


@pytest.mark.parametrize(
    "wrong",
    [
        *({"beam": 0}, {"no_repeat": -1}, {"batch_tokens": 0}),
        *({"alpha": math.nan}, {"alpha": -1.0}),
    ],
)
def test_a_search_that_cannot_be_is_refused(translator, wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"`{name}={value}`: "):
        translator(LINES, **wrong)


@pytest.mark.parametrize("training", [True, False])
def test_maps_that_fail_change_no_mode(tokenizer, training):
    model = make_translator(tokenizer).model.train(training)
    model.decoder.layers[-1].cross_attention.weights = torch.zeros_like
    ids = pad([tokenizer.encode(LINES[0])])
    with pytest.raises(TypeError):
        attention_maps(model, ids, ids)
    assert {part.training for part in model.modules()} == {training}


def sharper(query, keys, values, **options):
    """An attention of one's own, whose weights are not those of PyTorch's."""
    return F.scaled_dot_product_attention(3 * query, keys, values, **options)


@pytest.mark.parametrize("kernel", [None, sharper])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_maps_are_what_the_layers_use(
    tokenizer, pre_norm, kernel, monkeypatch
):
    """Weights times values, projected, is what each attention returned."""
    model = make_translator(tokenizer, pre_norm=pre_norm).model
    readers, writers = model.encoder.layers, model.decoder.layers
    parts = [x.self_attention for x in (*readers, *writers)]
    parts += [x.cross_attention for x in writers]
    for part in parts:
        part.attention_fn = kernel or part.attention_fn
    pairs = [(LINES[0], LINES[2]), (LINES[1], LINES[3])]
    batch = make_batch([tuple(map(tokenizer.encode, x)) for x in pairs])
    maps = attention_maps(model, batch.source, batch.inputs)
    weights = [*maps.encoder, *maps.decoder, *maps.cross]
    plain, seen = MultiHeadAttention.attend, []

    def attend(self, x, keys, values, mask=None):
        output = plain(self, x, keys, values, mask)
        heads = weights[parts.index(self)] @ values
        found = self.output(heads.transpose(1, 2).flatten(2))
        seen.append(torch.allclose(found, output, atol=1e-8))
        return output

    monkeypatch.setattr(MultiHeadAttention, "attend", attend)
    with torch.no_grad():
        model(batch.source, batch.inputs)
    assert len(seen) == len(parts) and all(seen)


def test_a_line_over_learned_positions_is_refused(tokenizer):
    translator = make_translator(tokenizer, positions="learned", max_length=12)
    with pytest.raises(
        ValueError, match=r"text 0: 45 tokens.*only 12 positions"
    ):
        translator(" ".join(LINES))


@pytest.mark.parametrize("language", ["", "de", "en", "fr"])
def test_scores_are_sacrebleus_with_signatures(language):
    outputs = ["Ein Hund rennt schnell am Strand.", "zwei Hunde rennen heute"]
    references = ["Ein Hund rennt am Strand.", "Zwei Hunde rennen heute ."]
    scores = corpus_scores(outputs, references, language)
    plain = sacrebleu.BLEU()
    assert scores.bleu == plain.corpus_score(outputs, [references]).score
    assert scores.bleu_lowercase == (
        sacrebleu.corpus_bleu(outputs, [references], lowercase=True).score
    )
    assert scores.bleu_lowercase > scores.bleu
    assert scores.chrf == sacrebleu.corpus_chrf(outputs, [references]).score
    assert scores.signatures["bleu"] == str(plain.get_signature())
    assert "case:lc" in scores.signatures["bleu_lowercase"]
    assert f"tok:moses-{language}|" in scores.signatures["bleu_moses"]


@pytest.mark.parametrize(("language", "cut", "right"), ONE_OF_EACH)
def test_scores_find_words_without_blanks(language, cut, right):
    """In all kinds of BLEU, what is right is 100, and what is wrong less."""
    best, worse = (
        corpus_scores(outputs, right, language)
        for outputs in (right, right[1:] + right[:1])
    )
    wrong = sacrebleu.corpus_bleu(
        right[1:] + right[:1], [right], tokenize=cut
    ).score
    assert 0 < wrong < 50
    for kind in ("bleu", "bleu_lowercase", "bleu_moses"):
        assert getattr(best, kind) == 100
        assert getattr(worse, kind) == wrong
        assert f"tok:{cut}" in best.signatures[kind]


@pytest.mark.parametrize("references", [[], ["a", "b"]])
def test_scores_need_a_reference_for_each_output(references):
    with pytest.raises(UserError, match=rf"1 outputs and {len(references)}"):
        corpus_scores(["a"], references)


# The first digits of the SHA-256 of Multi30k's own files of words,
# data/task1/tok/NAME.lc.norm.tok.LANGUAGE. Left out is test_2016_flickr.fr,
# where one full stop of 1,000 lines falls on the other side of a quotation.
PUBLISHED = {
    "test_2016_flickr.de": "c6a33d39d48f9f51",
    "test_2016_flickr.en": "5b7f32627cf99ece",
    "test_2017_flickr.de": "02067e4a9402786a",
    "test_2017_flickr.en": "c9d1dfd7a26add98",
    "test_2017_flickr.fr": "c0583117a47b31e8",
    "test_2017_mscoco.de": "e2825990b8a4e528",
    "test_2017_mscoco.en": "fe69ae004d71c42e",
    "test_2017_mscoco.fr": "0b6a4620f02b6b9a",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_words_are_those_of_the_published_files(name, real_folder):
    cut = MosesWords(name.rpartition(".")[2])
    lines = read_lines(real_folder / f"{name}.gz")
    words = "".join(f"{cut(line)}\n" for line in lines)
    found = hashlib.sha256(words.encode()).hexdigest()
    assert found.startswith(PUBLISHED[name])


def test_bleu_by_moses_is_that_of_its_words():
    outputs = ["Ein Hund rennt am Strand.", "Zwei Männer, ein Ball und Schnee"]
    references = ["Ein Hund läuft am Strand!", "zwei Männer, ein Ball und Eis"]
    words = [
        ["ein hund rennt am strand .", "zwei männer , ein ball und schnee"],
        ["ein hund läuft am strand !", "zwei männer , ein ball und eis"],
    ]
    scores = corpus_scores(outputs, references, "de")
    plain = sacrebleu.corpus_bleu(
        words[0], [words[1]], tokenize="none", force=True
    )
    assert scores.bleu_moses == plain.score
    assert "tok:moses-de" in scores.signatures["bleu_moses"]


def test_a_model_in_training_mode_translates_without_dropout():
    translator, writer = (
        Translator.load("multi30k-en-de"),
        Writer.load("plays"),
    )
    lines, pair = ["A dog runs.", "Two men sing."], ("A dog.", "Ein Hund.")

    def asked():
        one = score_pairs(translator, [pair])[0].log_probability
        return (
            translator(lines),
            one,
            writer("KING:", max_new_tokens=20, seed=1),
            translator.attention(*pair)[0].cross[-1].tolist(),
        )

    expected = asked()
    for model in (translator.model, writer.model):
        dropouts = [x for x in model.train().modules() if hasattr(x, "p")]
        assert dropouts
        for each in dropouts:
            each.p = 0.5
    assert asked() == expected
    assert translator.model.training and writer.model.training
