"""Translation: text in, the best texts out, and scores (6.1).

Written in book/11_translation.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Any, overload

import torch
from jaxtyping import Float, Int
from sacrebleu.metrics import BLEU, CHRF
from torch import Tensor

from annotated_transformer.attention import Mask, causal_mask, padding_mask
from annotated_transformer.data import Tokenizer, bucket, pad
from annotated_transformer.decoding import Hypothesis, Rule, beam_decode
from annotated_transformer.embedding import BOS, PAD
from annotated_transformer.errors import (
    COUNT,
    UserError,
    check_kind,
    check_texts,
)
from annotated_transformer.model import EncoderDecoder, Transformer
from annotated_transformer.storage.history import Search
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.text.checks import Known, doubts
from annotated_transformer.text.emphasis import emphasised
from annotated_transformer.text.languages import WORDS, bleu_tokenizer
from annotated_transformer.text.reading import Part, Reader, Reading
from annotated_transformer.training import evaluating

__all__ = [
    "Translation",
    "combined",
    "distinct",
    "AttentionMaps",
    "weights_used",
    "transformer_maps",
    "attention_maps",
    "TextModel",
    "search_parts",
    "Translator",
    "MosesWords",
    "Scores",
    "corpus_scores",
]


@dataclass(frozen=True)
class Translation:
    """One translation of a text."""

    text: str
    score: float  # log-probability / length penalty
    log_probability: float  # in nats
    length: int  # in tokens, EOS included; 0 if no search was made
    # the sentences of the text with their translations, if it has several
    parts: tuple[tuple[str, "Translation"], ...] = ()
    tokens: tuple[int, ...] = ()  # that the search chose, without EOS
    finished: bool = True  # with EOS; False if the limit cut it
    warnings: tuple[str, ...] = ()  # what may be wrong with it, or its text

    @property
    def confidence(self) -> float:
        """Log-probability per token, in nats; 0 is certain."""
        return self.log_probability / max(1, self.length)

    @property
    def cut(self) -> int:
        """After how many tokens the limit cut it; 0 if it ended itself."""
        return 0 if self.finished else self.length


def combined(
    reading: Reading, lists: Iterable[list[Translation]], number: int
) -> list[Translation]:
    """The best translations of a text, combined from those of its parts.

    Sentences are joined as their language asks; scores, log-probabilities
    and lengths are summed. Of those with equal texts the best one stays.
    """
    best, *others = map(distinct, lists)
    start, *rest = (part.text for part in reading.parts)
    for text, each in zip(rest, others, strict=True):
        both = [
            Translation(
                f"{x.text}{reading.between}{y.text}".strip(),
                x.score + y.score,
                x.log_probability + y.log_probability,
                x.length + y.length,
                (*(x.parts or [(start, x)]), (text, y)),
                finished=x.finished and y.finished,
            )
            for x, y in product(best, each)
        ]
        best = distinct(sorted(both, key=lambda found: -found.score))[:number]
    return best


def distinct(translations: Iterable[Translation]) -> list[Translation]:
    """The first translation with each text."""
    found: dict[str, Translation] = {}
    for one in translations:
        found.setdefault(one.text, one)
    return [*found.values()]


@dataclass(frozen=True)
class AttentionMaps:
    """The weights of every layer, each [batch heads queries keys]."""

    encoder: list[Tensor]
    decoder: list[Tensor]
    cross: list[Tensor]


def weights_used(
    attention: Any, x: Tensor, memory: Tensor, mask: Mask
) -> Float[Tensor, "batch heads queries keys"]:
    """An attention's weights; UserError if they do not give its output."""
    if hasattr(attention, "weights"):
        weights: Tensor = attention.weights(x, memory, mask)
        _, values = attention.keys_values(memory)
        values = values.repeat_interleave(weights.size(1) // values.size(1), 1)
        heads = (weights @ values).transpose(1, 2).flatten(2)
        expected, found = attention.output(heads), attention(x, memory, mask)
        if (found - expected).abs().max() <= 0.01 * expected.abs().max():
            return weights
    raise UserError(
        f"{type(attention).__name__} has no maps: give it a method weights() "
        "whose result, times the values, gives its output"
    )


def transformer_maps(
    model: Transformer,
    source: Int[Tensor, "batch source_length"],
    target: Int[Tensor, "batch target_length"],
) -> AttentionMaps:
    """The maps of every attention, layer by layer."""
    maps = AttentionMaps([], [], [])
    mask = padding_mask(source, PAD)
    x = model.source(source)
    for layer in model.encoder.layers:
        y = layer.around_attention.before(x)
        maps.encoder.append(weights_used(layer.self_attention, y, y, mask))
        x = layer(x, mask)
    encoded = model.encoder.norm(x)
    sources, _ = model.decoder.read(encoded, mask)
    causal = causal_mask(target.size(1), target.device)
    x = model.target(target)
    for layer, keys_values in zip(model.decoder.layers, sources, strict=True):
        y = layer.around_self.before(x)
        maps.decoder.append(weights_used(layer.self_attention, y, y, causal))
        y = layer.around_self.after(x, layer.self_attention(y, y, causal))
        y = layer.around_cross.before(y)
        maps.cross.append(
            weights_used(layer.cross_attention, y, encoded, mask)
        )
        x, _ = layer(x, keys_values, mask, causal)
    return maps


@torch.no_grad()
def attention_maps(
    model: EncoderDecoder,
    source: Int[Tensor, "batch source_length"],
    target: Int[Tensor, "batch target_length"],
) -> AttentionMaps:
    """Where each head looks, computed without dropout.

    A recurrent decoder has one map. UserError for a model that is neither
    recurrent nor a Transformer, and for an attention without weights.
    """
    with evaluating(model):
        if hasattr(model.decoder, "weights"):  # looks once
            x, memory = model.target(target), model.read(source)
            weights = model.decoder.weights(x, memory)
            return AttentionMaps([], [], [weights])
        if isinstance(model, Transformer):
            return transformer_maps(model, source, target)
    raise UserError(
        "this model has no attention maps: only a Transformer or a "
        "recurrent translator has them"
    )


class TextModel:
    """A trained model with its tokenizer."""

    def __init__(self, model: EncoderDecoder, tokenizer: Tokenizer):
        self.model, self.tokenizer = model.eval(), tokenizer
        self.device = next(model.parameters()).device

    @property
    def reader(self) -> Reader:
        """How it reads a text."""
        return Reader(self.tokenizer, positions=self.model.max_positions or 0)

    def translation(self, hypothesis: Hypothesis) -> Translation:
        """A hypothesis as text."""
        return Translation(
            self.tokenizer.decode(hypothesis.tokens),
            hypothesis.score,
            hypothesis.log_probability,
            len(hypothesis.tokens) + hypothesis.finished,
            tokens=tuple(hypothesis.tokens),
            finished=hypothesis.finished,
        )

    def attention(
        self, source: str, target: str
    ) -> tuple[AttentionMaps, list[str], list[str]]:
        """Every layer's weights while the model reads a given target.

        The subwords of source and target are returned as labels, with </s>
        for EOS: row i of a cross map shows where the layer looked to predict
        target subword i. UserError unless the model is a Transformer.
        """
        labels = self.tokenizer.encode(target)
        maps = attention_maps(
            self.model,
            torch.tensor([self.tokenizer.encode(source)], device=self.device),
            torch.tensor([[BOS, *labels[:-1]]], device=self.device),
        )
        split = self.tokenizer.split
        return maps, [*split(source), "</s>"], [*split(target), "</s>"]


def search_parts(
    translator: "Translator",
    parts: list[Part],
    number: int,
    beam: int,
    alpha: float,
    no_repeat: int,
    batch_tokens: int,
    rule: Rule | None,
) -> list[list[Translation]]:
    """The best translations of each part, decoded in batches."""
    found = [[Translation(x.before.strip(), 0.0, 0.0, 0)] for x in parts]
    places = [i for i, part in enumerate(parts) if not part.blank]
    sources = [parts[i].ids for i in places]
    lengths = [(len(ids), len(ids)) for ids in sources]
    budget = max([batch_tokens // beam, *map(len, sources)])
    options = alpha, number, no_repeat, translator.known.stretch, rule
    for batch in bucket(lengths, budget):
        ids = pad(sources[i] for i in batch).to(translator.device)
        with evaluating(translator.model):
            results = beam_decode(translator.model, ids, beam, *options)
        for i, hypotheses in zip(batch, results, strict=True):
            part, look = parts[places[i]], translator.attention
            found[places[i]] = [
                replace(one, text=part.whole(emphasised(part, one.text, look)))
                for one in map(translator.translation, hypotheses)
            ]
    return found


class Translator(TextModel):
    """A trained model that translates text.

    beam, alpha (6.1) and no_repeat are the defaults of its searches. If split
    names the language of the texts, each of their sentences is translated on
    its own; "" leaves texts whole. into is the language of the translations.
    """

    known = Known()  # of the pairs that the model has learned from

    def __init__(
        self,
        model: EncoderDecoder,
        tokenizer: Tokenizer,
        beam: int = 5,
        alpha: float = 0.6,
        no_repeat: int = 0,
        split: str = "",
        into: str = "",
    ):
        super().__init__(model, tokenizer)
        self.beam, self.alpha, self.no_repeat = beam, alpha, no_repeat
        self.split, self.into = split, into

    @property
    def reader(self) -> Reader:
        """How it reads a text."""
        return replace(
            super().reader,
            split=self.split,
            into=self.into,
            words=self.known.words,
        )

    @classmethod
    def load(
        cls,
        folder: Path | str,
        device: torch.device | str = "cpu",
        model: EncoderDecoder | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> "Translator":
        """Load a translator from a model folder, or a shipped one by name.

        A packed model searches as it did when it was scored, and one trained
        on single sentences splits texts into sentences. If the model or the
        tokenizer has code of your own, pass them: a model built as the saved
        one was, and the tokenizer. UserError if there is no such model, or
        if it is incomplete.
        """
        model, tokenizer, history = load_model(
            folder, device, model, tokenizer
        )
        if model.source is None:
            raise UserError(
                f"{folder}: a language model, which has no source to "
                "translate; generate text with it, or name a translator"
            )
        found = cls(model, tokenizer)
        if history:
            found.split, found.into = history.data.split, history.data.target
            found.known = Known.of(history)
            for name, value in asdict(history.search or Search()).items():
                setattr(found, name, value)
        return found

    @overload
    def __call__(self, text: str, **options) -> str: ...
    @overload
    def __call__(self, text: list[str], **options) -> list[str]: ...
    def __call__(self, text, **options):
        """Translate one text, or a list of texts in their order."""
        if isinstance(text, str):
            return self([text], **options)[0]
        return [best[0].text for best in self.n_best(text, 1, **options)]

    def n_best(
        self,
        texts: Iterable[str],
        number: int,
        beam: int | None = None,
        alpha: float | None = None,
        no_repeat: int | None = None,
        split: str | None = None,
        batch_tokens: int = 4096,
        where: str = "text",
        first: int = 0,
        rule: Rule | None = None,
    ) -> list[list[Translation]]:
        """The best translations of each text, best first.

        A blank text has one translation, itself blank. A sentence in capitals
        or title case is translated like any other, and its translation gets
        the same case. For several sentences the best combinations are found.
        Sentences are decoded in batches of similar length, and translations
        are returned in the order of the texts. A batch has at most
        batch_tokens source tokens, padding included and counted once for each
        place of the beam, or as many as the longest text. A rule holds for
        every sentence (see decoding.forbidden). UserError for anything but
        text, for one that is too long, which is named by where and a number
        that counts from first, and where the rule allows no output;
        ValueError for an impossible search or batch.
        """
        check_kind("batch_tokens", batch_tokens, int, COUNT)
        reader = self.reader
        if split is not None:
            reader = replace(reader, split=split)
        readings = [*reader.lines(check_texts(texts), where, first)]
        beam = self.beam if beam is None else beam
        alpha = self.alpha if alpha is None else alpha
        no_repeat = self.no_repeat if no_repeat is None else no_repeat
        Search(beam, alpha, no_repeat)  # ValueError for an impossible one
        parts = [part for reading in readings for part in reading.parts]
        search = beam, alpha, no_repeat, batch_tokens, rule
        each = iter(search_parts(self, parts, number, *search))
        lists = [
            combined(reading, islice(each, len(reading.parts)), number)
            for reading in readings
        ]
        return [
            [
                replace(
                    one,
                    warnings=doubts(
                        reading, one.text, one.confidence, one.cut, self.known
                    ),
                )
                for one in found
            ]
            for reading, found in zip(readings, lists, strict=True)
        ]


class MosesWords:
    """Turns text into lower-cased words, as in Multi30k's published files."""

    def __init__(self, language: str):
        # imported here, because that takes a quarter of a second, and
        # translating does not need it
        from sacremoses import MosesPunctNormalizer, MosesTokenizer

        self.normalizer = MosesPunctNormalizer(language)
        self.tokenizer = MosesTokenizer(language)

    def __call__(self, text: str) -> str:
        """The words of the text, with a space between them."""
        text = self.normalizer.normalize(text.lower())
        return self.tokenizer.tokenize(text, return_str=True)


@dataclass(frozen=True)
class Scores:
    """Corpus scores by sacrebleu, with the signatures that define them."""

    bleu: float
    bleu_lowercase: float
    bleu_moses: float  # of lower-cased words, as in older papers
    chrf: float
    signatures: dict[str, str]


def corpus_scores(
    outputs: Iterable[str], references: Iterable[str], language: str = "en"
) -> Scores:
    """Three kinds of BLEU, and chrF, of detokenised text of a language.

    What is written without blanks is cut as its language asks, and not by
    Moses, which would find no words. UserError unless there are as many
    references as outputs, at least one.
    """
    texts = [check_texts(side) for side in (outputs, references)]
    if not texts[0] or len(texts[0]) != len(texts[1]):
        raise UserError(
            f"{len(texts[0])} outputs and {len(texts[1])} references: there "
            "must be the same number of both, and at least one"
        )
    tokens = bleu_tokenizer(language)
    lower = BLEU(lowercase=True, tokenize=tokens)
    moses, words = lower, texts
    if tokens == WORDS:
        moses = BLEU(lowercase=True, tokenize="none", force=True)
        cut = MosesWords(language)
        words = [[cut(line) for line in side] for side in texts]
    scores, signatures = {}, {}
    for name, metric, (ours, theirs) in [
        ("bleu", BLEU(tokenize=tokens), texts),
        ("bleu_lowercase", lower, texts),
        ("bleu_moses", moses, words),
        ("chrf", CHRF(), texts),
    ]:
        # rounding leaves the best a little above 100
        scores[name] = min(100.0, metric.corpus_score(ours, [theirs]).score)
        signatures[name] = str(metric.get_signature())
    signatures["bleu_moses"] = signatures["bleu_moses"].replace(
        "tok:none", f"tok:moses-{language}"
    )
    return Scores(**scores, signatures=signatures)
