"""What makes an answer cheaper: each remedy against its absence, in turns.

A decoder alone with random weights goes on with a text of 64 random tokens by
64 more, greedily; other runs say what they vary. For batches of like length
the translator of pronouns translates sentences, since a text that is only
continued has no length of its own. All times are of one thread.
"""

import time
from collections.abc import Callable

import torch

from annotated_transformer.corpora.builtin import example_splits
from annotated_transformer.data import pad
from annotated_transformer.decoding import beam_decode
from annotated_transformer.embedding import EOS
from annotated_transformer.model import ModelConfig
from annotated_transformer.modern import MODERN
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.writing import LanguageModel, sample

from .shared.grid import Result, grid
from .shared.settings import Sizes
from .shared.small_translator import corpus as corpus

VOCABULARY = 1000
SIZES: Sizes = {
    "layers": 4,
    "d_model": 256,
    "d_ff": 1024,
    "heads": 8,
    "dropout": 0.0,
    "max_length": 1024,
}
TOKENS = 64  # of what is begun, and again of what is written
TEXTS = 16  # at once
LONG = 512  # tokens of what is begun, where groups share
GROUPS, SENTENCES = 2, 64
ROUNDS, WARM_UP = 9, 2  # those before them; a compiler needs both
RECIPE = {
    "model": {"vocab_size": VOCABULARY, **SIZES},
    "tokens": TOKENS,
    "texts": TEXTS,
    "long": LONG,
    "groups": GROUPS,
    "sentences": SENTENCES,
    "rounds": ROUNDS,
    "warm_up": WARM_UP,
}
Way = Callable[[], object]


def writer(kv_heads: int | None = None) -> LanguageModel:
    """A model of random weights."""
    sizes: Sizes = {**SIZES, "kv_heads": kv_heads}
    config = ModelConfig(VOCABULARY, **sizes, **MODERN)
    return LanguageModel(config).eval()


def begun(texts: int = 1, tokens: int = TOKENS) -> torch.Tensor:
    """Random texts to go on with."""
    return torch.randint(4, VOCABULARY, (texts, tokens))


def writes(model: LanguageModel, tokens: torch.Tensor) -> Way:
    """What goes on with texts, and keeps keys and values."""
    return lambda: sample(model, tokens, TOKENS, top_k=1)


def cache() -> tuple[Way, Way]:
    """Everything read again at each step; keys and values kept."""
    model, tokens = writer(), begun()

    @torch.inference_mode()
    def again() -> None:
        text = tokens
        for _ in range(TOKENS):
            new = model.next_logits(text)[:, -1].argmax(-1)
            text = torch.cat([text, new[:, None]], 1)

    return again, writes(model, tokens)


def batch() -> tuple[Way, Way]:
    """Texts one by one; all of them at once."""
    model, tokens = writer(), begun(TEXTS)
    alone = [writes(model, text[None]) for text in tokens]
    return lambda: [write() for write in alone], writes(model, tokens)


def sorting() -> tuple[Way, Way]:
    """Batches of sentences as they come; of like length."""
    model, tokenizer, _ = load_model("pronouns")
    some = example_splits(0, SENTENCES, 0)[1]
    rows = [tokenizer.encode(one.source) for one in some]

    def translates(rows: list[list[int]]) -> Way:
        parts = range(0, len(rows), TEXTS)
        batches = [pad(rows[i : i + TEXTS]) for i in parts]
        return lambda: [beam_decode(model, one, width=1) for one in batches]

    return translates(rows), translates(sorted(rows, key=len))


def groups() -> tuple[Way, Way]:
    """Long texts, keys and values for each head; for groups of heads."""
    tokens = begun(TEXTS, LONG)
    plain, grouped = writer(), writer(kv_heads=GROUPS)
    return steps(plain, tokens), steps(grouped, tokens)


def steps(model: LanguageModel, tokens: torch.Tensor) -> Way:
    """Sixteen steps after what is begun, which has been read before."""
    memory, new = model.read(), torch.full_like(tokens[:, :1], EOS)
    with torch.inference_mode():
        _, first = model.decode(tokens, memory)

    @torch.inference_mode()
    def write() -> None:
        state = first
        for _ in range(16):
            x, state = model.decode(new, memory, state)
            model.logits(x)

    return write


def bfloat16() -> tuple[Way, Way]:
    """Weights and vectors in four bytes; in two."""
    tokens = begun()
    return writes(writer(), tokens), writes(writer().bfloat16(), tokens)


def compiled() -> tuple[Way, Way]:
    """The decoder operation by operation; compiled, for any length."""
    tokens, plain, fused = begun(), writer(), writer()
    fused.decoder.forward = torch.compile(fused.decoder.forward, dynamic=True)
    return writes(plain, tokens), writes(fused, tokens)


def measure(seed: int, ways: Callable[[], tuple[Way, Way]]) -> Result:
    """The seconds of either way, round by round."""
    torch.manual_seed(seed)
    pair = ways()
    turns = range(WARM_UP + ROUNDS)
    rounds = [[timed(way) for way in pair] for _ in turns]
    warm_up, rounds = rounds[:WARM_UP], rounds[WARM_UP:]
    without, found = zip(*rounds, strict=True)
    return {
        "warm-up seconds": sum(map(sum, warm_up)),
        "without seconds": without,
        "seconds": found,
    }


def timed(way: Way) -> float:
    """The seconds of the processor that a way takes."""
    began = time.process_time()
    way()
    return time.process_time() - began


WAYS = (cache, batch, sorting, groups, bfloat16, compiled)
RUNS = grid(
    measure,
    "{way} seed={seed}",
    seed=(0,),
    way={way.__name__: {"ways": way} for way in WAYS},
)
