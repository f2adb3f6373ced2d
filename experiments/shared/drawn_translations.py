"""Translations drawn token by token, as often as a model finds them probable.

The random numbers belong to a text's place among the texts, so what is drawn
for it depends on no other text and, but for rounding, no batch.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.data import bucket, pad
from annotated_transformer.decoding import (
    Hypothesis,
    SearchState,
    Step,
    beam_search,
    first_state,
    model_step,
)
from annotated_transformer.model import EncoderDecoder, length_limit
from annotated_transformer.text.languages import between_sentences
from annotated_transformer.text.sentences import sentences
from annotated_transformer.translation import Translator
from annotated_transformer.writing import next_token_probs


def drawn(
    probs: Float[Tensor, "rows vocab_size"], numbers: Float[Tensor, "rows 1"]
) -> Int[Tensor, "rows 1"]:
    """The token of each row in whose part of [0, 1) its number falls.

    The parts are as long as the tokens are probable; one without a
    probability is never drawn.
    """
    ends = probs.cumsum(-1)
    last = ends[:, -1:]  # 1, but for rounding
    below = torch.nextafter(last, torch.zeros_like(last))
    where = torch.minimum(numbers * last, below)
    return torch.searchsorted(ends, where, right=True)


def drawing_step(model: EncoderDecoder, top_k: int = 0) -> Step:
    """The step of a model that leaves no choice but the token drawn.

    Beside what is written, the state has the numbers that each row has left.
    Tokens are drawn from the top_k likeliest, or from all if it is 0.
    """
    step = model_step(model)

    def draw(tokens: Tensor, state: SearchState) -> tuple[Tensor, SearchState]:
        written, numbers = state.written
        log_p, after = step(tokens, replace(state, written=written))
        token = drawn(next_token_probs(log_p, top_k=top_k), numbers[:, :1])
        only = torch.full_like(log_p, -torch.inf)
        only.scatter_(1, token, log_p.gather(1, token))
        left = after.written, numbers[:, 1:]
        return only, replace(after, written=left)

    return draw


@torch.inference_mode()
def draw_each(
    model: EncoderDecoder,
    source: Int[Tensor, "batch source_length"],
    places: Sequence[int],
    top_k: int = 0,
) -> list[Hypothesis]:
    """One output for each source, drawn with the numbers of its place."""
    limits = length_limit(source, model.max_positions)
    numbers = []
    for place in places:
        rng = random.Random(f"0 {place}")
        numbers.append([rng.random() for _ in range(int(limits.max()))])
    state = first_state(model, source)
    rows = torch.tensor(numbers, device=source.device)
    state = replace(state, written=(state.written, rows))
    step = drawing_step(model, top_k)
    found = beam_search(step, state, limits, width=1, alpha=0.0)
    return [best[0] for best in found]


def draw_translations(
    translator: Translator, texts: list[str], batch_tokens: int, top_k: int = 0
) -> list[str]:
    """What the model draws for each text, sentence by sentence."""
    parts = [sentences(text, translator.split) for text in texts]
    of_text = [i for i, some in enumerate(parts) for _ in some]
    sources = [translator.tokenizer.encode(x) for some in parts for x in some]
    written = [""] * len(sources)
    for places in bucket([(len(ids),) for ids in sources], batch_tokens):
        ids = pad(sources[i] for i in places).to(translator.device)
        numbers = [of_text[i] for i in places]
        found = draw_each(translator.model, ids, numbers, top_k)
        for i, hypothesis in zip(places, found, strict=True):
            written[i] = translator.tokenizer.decode(hypothesis.tokens)
    each = iter(written)
    between = between_sentences(translator.into)
    return [between.join(islice(each, len(some))) for some in parts]
