"""Which noun "it" means: translators that must choose er, sie or es.

A small translator learns the built-in corpus, without the sentence that the
book follows and all like it ("The dog ate the soup because it was hungry.").
Then it translates sentences that it has not read, greedily, and the pronoun
that it writes is judged. A pronoun is contested where the nouns before it
differ in gender. The rule "it means the nearest noun" is the baseline.

Which head does it? One is found by where "it" looks, on half of the contested
sentences, and judged on the other half. Another is found by its effect: take
two sentences that differ in their last word alone, translate the first, but
with one head's output from the second, and see whether the pronoun turns. The
control puts in the output from a sentence whose last word asks for the same
noun.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle, permutations, product
from statistics import fmean

import torch
from torch import Tensor

from annotated_transformer.corpora.builtin import (
    GrammarExample,
    sentence_pairs,
    words,
)
from annotated_transformer.corpora.builtin.lexicon import (
    KINDS,
    QUALITIES,
)
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.generated import FOLLOWED, pronoun_corpus
from annotated_transformer.data import Tokenizer, pad
from annotated_transformer.embedding import BOS
from annotated_transformer.model import (
    EncoderDecoder,
)
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.teaching.pronoun_sentences import (
    PRONOUNS,
    Variation,
    gender,
    variations,
)
from annotated_transformer.translation import Translator

from .shared.grid import Result, grid
from .shared.pronoun_attention import Pronoun, hits
from .shared.removed_heads import Head, attentions, every_head
from .shared.training_loops import begun

BASE = RECIPES["pronouns"]
RECIPE = BASE.as_json()
DRAWN, DRAWN_SEED = 30_000, 1000  # sentences, for enough of "it" among them
TESTED = 1000  # pronouns of each kind
SEEDS = (0, 1, 2)
FORMS = {*PRONOUNS, "ihn", "ihm", "ihr"}
PEOPLE = ("person", "child", "expert")
THINGS = {
    noun.english: noun
    for kind, nouns in KINDS.items()
    if kind not in PEOPLE
    for noun in nouns
}


@cache
def corpus() -> Corpus:
    """The built-in corpus, but for the sentence that the book follows."""
    return pronoun_corpus()


@cache
def tokenizer() -> Tokenizer:
    """The one vocabulary of all seeds."""
    return learn_tokenizer(corpus(), BASE)


@dataclass(frozen=True)
class Case:
    """An "it", and the genders of what it may mean, the nearest noun last."""

    example: GrammarExample
    pronoun: Pronoun
    genders: list[int | None]

    @property
    def meant(self) -> int | None:
        """The gender of the noun that "it" means."""
        return self.genders[self.pronoun.nouns.index(self.pronoun.meant)]

    @property
    def contested(self) -> bool:
        """Whether another pronoun could stand there."""
        return len(set(self.genders)) > 1


def cases(examples: Iterable[GrammarExample]) -> Iterator[Case]:
    """Each "it" that means a thing or an animal of a known gender."""
    for example in examples:
        text = words(example.source)
        for it, noun in example.cues:
            nouns = [i for i in range(it) if text[i] in THINGS]
            genders = [gender(THINGS[text[i]]) for i in nouns]
            if text[it] == "it" and noun in nouns and None not in genders:
                pronoun = Pronoun(example, it, nouns, noun)
                yield Case(example, pronoun, genders)


@cache
def unread() -> list[GrammarExample]:
    """Sentences that no model has read, each of them once."""
    read = {source for source, _ in corpus().train}
    drawn = {x.source: x for x in sentence_pairs(DRAWN, DRAWN_SEED)}
    return [
        example
        for source, example in drawn.items()
        if source not in read and not FOLLOWED.fullmatch(source)
    ]


def pronouns_in(german: str) -> list[str]:
    """The personal pronouns of a German sentence, in order."""
    return [word for word in words(german.lower()) if word in FORMS]


def right(translator: Translator, found: list[Case]) -> float:
    """The share of sentences whose pronouns are all as they should be."""
    outputs = translator([case.example.source for case in found], beam=1)
    return fmean(
        pronouns_in(output) == pronouns_in(case.example.target)
        for output, case in zip(outputs, found, strict=True)
    )


# --- Which head does it ----------------------------------------------------


def reading(model: EncoderDecoder) -> list[Head]:
    """All heads that read the source."""
    return [head for head in every_head(model) if head[0] != "decoder"]


def chances(
    model: EncoderDecoder, source: Tensor, target: Tensor, written: Tensor
) -> Tensor:
    """The probability of every token after the words written."""
    logits = model(source, target)
    return logits[torch.arange(len(source)), written - 1].softmax(-1)


def with_head_from(
    model: EncoderDecoder,
    head: Head,
    donor: Callable[[], Tensor],
    host: Callable[[], Tensor],
) -> Tensor:
    """What host() gives if one head's output is what it was in donor()."""
    stack, layer, number = head
    attention = attentions(model)[stack][layer]
    kernel = attention.attention_fn
    kept: list[Tensor] = []

    def keep(*inputs: Tensor, **options: object) -> Tensor:
        kept.append(kernel(*inputs, **options))
        return kept[-1]

    def put(*inputs: Tensor, **options: object) -> Tensor:
        output = kernel(*inputs, **options).clone()
        output[:, number] = kept[-1][:, number]
        return output

    try:
        attention.attention_fn = keep
        donor()
        attention.attention_fn = put
        return host()
    finally:
        attention.attention_fn = kernel


@torch.no_grad()
def turned(
    model: EncoderDecoder, pieces: Tokenizer, translator: Translator
) -> dict[str, float]:
    """By head, how often the other sentence's output turns the pronoun."""
    by_words = {v[:3]: v for v in variations()}
    nouns = list(dict.fromkeys(words[:2] for words in by_words))
    mood, taste = QUALITIES["mood"], QUALITIES["taste"]
    pairs = {
        "turned": [*product(mood, taste), *product(taste, mood)],
        "control": [*permutations(mood, 2), *permutations(taste, 2)],
    }
    found: dict[str, float] = {}
    for name, qualities in pairs.items():
        asked = [
            (by_words[*noun, host], by_words[*noun, donor])
            for noun, (host, donor) in zip(
                nouns, cycle(qualities), strict=False
            )
        ]
        shares = effects(model, pieces, translator, asked)
        found |= {f"{name} {head}": share for head, share in shares.items()}
    return found


def effects(
    model: EncoderDecoder,
    pieces: Tokenizer,
    translator: Translator,
    asked: list[tuple[Variation, Variation]],
) -> dict[str, float]:
    """By head, how often the pronoun is no longer the one that was right.

    Only of sentences whose pronoun is right to begin with, and in as many
    subwords as the other has.
    """
    ids = [pieces.encode(f"weil {pronoun}")[1] for pronoun in PRONOUNS]
    outputs = translator([host.source for host, _ in asked], beam=1)
    rows = []
    for (host, donor), output in zip(asked, outputs, strict=True):
        sources = pieces.encode(host.source), pieces.encode(donor.source)
        target = pieces.encode(output)
        at = [i for i, token in enumerate(target) if token in ids]
        if [target[i] for i in at] == [ids[host.right]] and (
            len(sources[0]) == len(sources[1])
        ):
            rows.append((*sources, [BOS, *target[: at[0]]], host.right))
    hosts, donors, written, expected = zip(*rows, strict=True)
    length = torch.tensor([len(tokens) for tokens in written])
    prefix = pad(written)
    of_host, of_donor = (
        partial(chances, model, pad(side), prefix, length)
        for side in (hosts, donors)
    )
    result = {}
    for stack, layer, number in reading(model):
        p = with_head_from(model, (stack, layer, number), of_donor, of_host)
        turn = p[:, ids].argmax(-1) != torch.tensor(expected)
        key = f"{stack} {layer + 1}.{number + 1}"
        result[key] = turn.float().mean().item()
    return result


def looking(
    model: EncoderDecoder, pieces: Tokenizer, found: list[Case]
) -> Result:
    """By head, how often "it" looks more at its noun than at any other."""
    each = [hits(model, pieces, case.pronoun) for case in found]
    result: Result = {}
    for stack in ("encoder", "cross"):
        shares = torch.stack([hit[stack] for hit in each]).float()
        first, second = shares[::2].mean(0), shares[1::2].mean(0)
        best = int(first.argmax())
        heads = model.config.heads
        result[f"looks {stack} best"] = second[best].item()
        result[f"looks {stack} which"] = [best // heads + 1, best % heads + 1]
    return result


def train(seed: int) -> Result:
    """Train; pronouns right by kind, and what single heads do."""
    model, turns = begun(BASE, seed, corpus().train, tokenizer())
    losses = [update.loss.item() for update in turns]
    return measured(model.eval(), tokenizer()) | {
        "parameters": sum(p.numel() for p in model.parameters()),
        "curve": [round(loss, 4) for loss in losses[99::100]],
    }


def measured(model: EncoderDecoder, pieces: Tokenizer) -> Result:
    """Pronouns right by kind, and what single heads do."""
    translator = Translator(model, pieces)
    every = list(cases(unread()))
    contested = [case for case in every if case.contested]
    asked = list(variations())
    outputs = translator([variation.source for variation in asked], beam=1)
    return {
        "all": right(translator, every[:TESTED]),
        "contested": right(translator, contested[:TESTED]),
        "swaps": fmean(
            pronouns_in(output) == [PRONOUNS[variation.right]]
            for output, variation in zip(outputs, asked, strict=True)
        ),
        "nearest all": fmean(c.genders[-1] == c.meant for c in every),
        "nearest contested": fmean(
            c.genders[-1] == c.meant for c in contested
        ),
        "heads": turned(model, pieces, translator),
    } | looking(model, pieces, contested[:TESTED])


def shipped(seed: int) -> Result:
    """The same of the model that comes with the package, trained before."""
    del seed
    translator = Translator.load(find_model("pronouns"))
    return measured(translator.model, translator.tokenizer)


RUNS = grid(train, "trained seed={seed}", seed=SEEDS)
RUNS |= grid(shipped, "shipped seed={seed}", seed=[0])
