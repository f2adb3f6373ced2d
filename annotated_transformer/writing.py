"""A decoder-only model: a language model, and how its words are drawn.

Written in book/18_writing.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import overload

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.attention import Mask
from annotated_transformer.data import Tokenizer
from annotated_transformer.decoding import Rule, forbidden
from annotated_transformer.embedding import EOS, TokenEmbedding
from annotated_transformer.errors import UserError, check_texts
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import (
    AddNorm,
    KeysValues,
    Vectors,
    append_kv,
)
from annotated_transformer.model import (
    Decoder,
    EncoderDecoder,
    InputEmbedding,
    ModelConfig,
    Nested,
    Tokens,
    parts_of,
    scale_residual_init,
)
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.text.documents import DocumentReader
from annotated_transformer.training import evaluating

__all__ = [
    "DecoderOnlyLayer",
    "LanguageModelConfig",
    "LanguageModel",
    "next_token_probs",
    "sample",
    "continue_rows",
    "Writer",
]


class DecoderOnlyLayer(nn.Module):
    """Masked self-attention, then feed-forward, each in Add & Norm."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        add_norm: Callable[[], AddNorm],
    ):
        super().__init__()
        self.self_attention = attention
        self.feed_forward = feed_forward
        self.around_attention = add_norm()
        self.around_feed_forward = add_norm()

    def forward(
        self,
        x: Vectors,
        source: None = None,
        source_mask: None = None,
        target_mask: Mask | None = None,
        past: KeysValues | None = None,
    ) -> tuple[Vectors, KeysValues]:
        """The new x, and this layer's keys and values including x's own."""
        y = self.around_attention.before(x)
        keys_values = append_kv(past, self.self_attention.keys_values(y))
        y = self.self_attention.attend(y, *keys_values, target_mask)
        x = self.around_attention.after(x, y)
        return self.around_feed_forward(x, self.feed_forward), keys_values


@dataclass(frozen=True)
class LanguageModelConfig(ModelConfig):
    """Sizes and parts of a decoder-only model; max_length is its context."""


class LanguageModel(EncoderDecoder):
    """A decoder without a source: it scores the next token of a text."""

    def __init__(self, config: ModelConfig):
        make = parts_of(config)
        tokens = TokenEmbedding(config.vocab_size, config.d_model)
        output = tokens
        if not config.tied:
            output = TokenEmbedding(config.vocab_size, config.d_model)
        layers = [
            DecoderOnlyLayer(
                make.self_attention(), make.feed_forward(), make.add_norm
            )
            for _ in range(config.layers)
        ]
        target = InputEmbedding(tokens, make.positions(), config.dropout)
        decoder = Decoder(layers, make.last_norm())
        super().__init__(None, None, target, decoder, output)
        self.config = LanguageModelConfig(**asdict(config))
        if config.pre_norm:
            scale_residual_init(self.decoder.layers)

    @property
    def max_positions(self) -> int:
        """The context: as much text as it learns to look back on."""
        return self.config.max_length

    def read(self, source: Tokens | None = None) -> Nested:
        """The memory of a source that is empty: nothing for any layer."""
        return [None] * self.config.layers, None

    def next_logits(
        self, tokens: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab_size"]:
        """Logits of the token after each token of a text."""
        return self(tokens[:, :0], tokens)


def next_token_probs(
    logits: Float[Tensor, "*batch vocab_size"],
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
) -> Float[Tensor, "*batch vocab_size"]:
    """The softmax of logits / temperature, its tail cut off.

    What stays is among the top_k likeliest, unless top_k is 0, and among the
    fewest whose probabilities add up to top_p or more, in float32 at least.
    The likeliest always stays, and a temperature of 0 leaves nothing else.
    UserError for an option that cannot be, ValueError for logits that are
    not numbers.
    """
    if not temperature >= 0 or top_k < 0 or not 0 < top_p <= 1:
        raise UserError(
            f"`temperature={temperature}`, `top_k={top_k}`, `top_p={top_p}`: "
            "the first two must be at least 0, and the last above 0 and at "
            "most 1"
        )
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    tiny = torch.finfo(logits.dtype).tiny  # what is smaller may be zero
    below = logits - logits.amax(-1, keepdim=True)
    p = (below / max(temperature, tiny)).softmax(-1)
    if p.isnan().any():
        raise ValueError("logits are not numbers, or none of them is finite")
    if top_k == 0 and top_p == 1:
        return p
    vocab = p.size(-1)
    ranked, order = p.topk(min(top_k or vocab, vocab))
    before = ranked.cumsum(-1) - ranked  # of those that are likelier
    cut = (before >= max(top_p, tiny)) & (top_p < 1)
    p = torch.zeros_like(p).scatter(-1, order, ranked.masked_fill(cut, 0))
    return p / p.sum(-1, keepdim=True)


@torch.inference_mode()
def sample(
    model: EncoderDecoder,
    tokens: Int[Tensor, "rows length"],
    max_new_tokens: int,
    stop: int = -1,
    rule: Rule | None = None,
    **options,
) -> Int[Tensor, "rows longer"]:
    """Draw max_new_tokens for each row; see next_token_probs for options.

    Where the text outgrows the context, its last half is read again. Drawing
    ends early once every row has the token `stop`. A rule is that of a search
    (see decoding.forbidden); the scores it is given are logits.
    """
    memory, state, new = model.read(tokens[:, :0]), None, tokens
    context = model.max_positions
    ended = torch.zeros_like(tokens[:, :1], dtype=torch.bool)
    for _ in range(max_new_tokens):
        before = state[0] if state else 0
        if context and before + new.size(1) > context:
            state, new = None, tokens[:, -(context // 2 or 1) :]
        x, state = model.decode(new, memory, state)
        logits = model.logits(x[:, -1])
        if rule:
            barred = forbidden(rule, tokens[:, None], logits[:, None])
            logits = logits.masked_fill(barred.squeeze(1), -inf)
        p = next_token_probs(logits, **options)
        new = p.multinomial(1)
        tokens = torch.cat([tokens, new], dim=1)
        ended |= new == stop
        if ended.all():
            break
    return tokens


def continue_rows(
    model: EncoderDecoder,
    rows: list[list[int]],
    max_new_tokens: int,
    stop: int = -1,
    **options,
) -> list[list[int]]:
    """What `sample` draws after each row; rows may differ in length."""
    device = next(model.parameters()).device
    new: list[list[int]] = [[] for _ in rows]
    for length in sorted({*map(len, rows)}):  # no row is padded
        places = [i for i, row in enumerate(rows) if len(row) == length]
        begun = torch.tensor([rows[i] for i in places], device=device)
        found = sample(model, begun, max_new_tokens, stop, **options)
        for i, ids in zip(places, found[:, length:].tolist(), strict=True):
            new[i] = ids
    return new


class Writer:
    """A language model that takes the beginning of a text and goes on.

    Where a document ends it writes the line of the mark, and then the next.
    """

    def __init__(
        self, model: EncoderDecoder, tokenizer: Tokenizer, mark: str = ""
    ):
        self.model, self.tokenizer, self.mark = model.eval(), tokenizer, mark
        self.reader = DocumentReader(tokenizer, mark)

    @classmethod
    def load(
        cls,
        folder: Path | str,
        device: torch.device | str = "cpu",
        model: EncoderDecoder | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> "Writer":
        """The writer of a model folder, or of a model shipped by name.

        Code of your own is passed, as to Translator.load. UserError if there
        is no such model, or if it is no language model.
        """
        model, tokenizer, history = load_model(
            folder, device, model, tokenizer
        )
        if model.source is not None:
            raise UserError(
                f"{folder}: a translator, which writes nothing of its own; "
                "translate with it, or name a language model"
            )
        mark = history.data.mark if history else None
        return cls(model, tokenizer, mark or "")

    @overload
    def __call__(self, prompt: str = "", **options) -> str: ...
    @overload
    def __call__(self, prompt: list[str], **options) -> list[str]: ...
    def __call__(self, prompt="", **options):
        """Go on with one text, or with each of a list; see `write`."""
        if isinstance(prompt, str):
            return self.write([prompt], **options)[0]
        return self.write(prompt, **options)

    def write(
        self,
        prompts: Iterable[str],
        max_new_tokens: int = 500,
        seed: int | None = None,
        stop: bool = False,
        **options,
    ) -> list[str]:
        """Each prompt with what is written after it, token by token.

        A prompt is read as the text was from which the model has learned.
        Options are those of next_token_probs. A seed always draws the same,
        and None goes on with PyTorch's random numbers. With stop a text ends
        where its document does.
        """
        texts = check_texts(prompts)
        rows = [self.reader.ids(text) for text in texts]
        end = EOS if stop else -1
        drawn = torch.random.fork_rng(enabled=seed is not None)
        with evaluating(self.model), drawn:
            if seed is not None:
                torch.manual_seed(seed)
            new = continue_rows(
                self.model, rows, max_new_tokens, end, **options
            )
        pairs = zip(texts, new, strict=True)
        return [text + self.text(ids, stop, text) for text, ids in pairs]

    def text(self, ids: list[int], stop: bool, before: str = "") -> str:
        """The text of ids, up to the end of the document or beyond it."""
        if stop and EOS in ids:
            ids = ids[: ids.index(EOS)]
        return self.reader.text(ids, before)
