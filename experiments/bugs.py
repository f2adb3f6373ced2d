"""Classic bugs of Transformer programs, each put alone into a right one.

A bug is a function that spoils one thing in a program: its model, its
batches, its optimizer or its decoding. All else is equal: recipe, first
weights and order of the batches are the same for all runs of a seed. The
curves are what the program itself would print, of its own batches; BLEU is
of what it decodes, sentences of any length together or only of equal
length. The control is the program as it is; another, "softmax over keys", has
the kernel of one bug without the bug.

The page book/16_bugs.ipynb shows the same functions; a test compares them.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

import torch
from torch.nn import functional as F

from annotated_transformer.attention import masked_softmax
from annotated_transformer.data import (
    Batch,
    Pair,
    encode_pairs,
    make_batch,
    training_batches,
)
from annotated_transformer.embedding import PAD
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.model import (
    ModelConfig,
    Transformer,
    greedy_decode,
    transformer,
)
from annotated_transformer.optimizer import adam
from annotated_transformer.runs.batches import fixed_batches
from annotated_transformer.training import TrainConfig, updates, validate
from annotated_transformer.translation import corpus_scores

from .shared import small_translator
from .shared.grid import Result, grid
from .shared.settings import Learning, Sizes
from .shared.small_translator import corpus, tokenizer

SIZES: Sizes = {**small_translator.SIZES}
del SIZES["max_length"]
LEARNING: Learning = {
    **small_translator.LEARNING,
    "batch_tokens": 512,
    "warmup": 50,
    "label_smoothing": 0.0,
    "max_length": 64,
}
EVERY = 50  # updates between two points of a curve
VALIDATED = 200  # sentences
TRANSLATED = 100  # test sentences
RECIPE = {
    "model": SIZES,
    "train": LEARNING,
    "vocab_size": 1000,
    "every": EVERY,
    "validated": VALIDATED,
    "translated": TRANSLATED,
}


def unchanged(batch: Batch) -> Batch:
    """The batch as it was made."""
    return batch


def translate(model: Transformer, batch: Batch) -> torch.Tensor:
    """Greedy outputs, from the source alone and without dropout."""
    return greedy_decode(model.eval(), batch.source)


@dataclass
class Program:
    """A model, and the other places where a bug can hide."""

    model: Transformer
    prepare: Callable = unchanged  # a batch, before the model reads it
    optimizer: Callable = adam
    rate: float = LEARNING["peak_lr"]
    decode: Callable = translate


def attentions(model: Transformer) -> Iterator[MultiHeadAttention]:
    """All attention blocks."""
    for layer in model.encoder.layers:
        yield layer.self_attention
    for layer in model.decoder.layers:
        yield from (layer.self_attention, layer.cross_attention)


def control(program: Program) -> None:
    """No bug."""


def no_mask(program: Program) -> None:
    """The decoder's self-attention forgets its mask."""

    def all_seen(query, key, value, attn_mask, dropout_p):
        return F.scaled_dot_product_attention(query, key, value)

    for layer in program.model.decoder.layers:
        layer.self_attention.attention_fn = all_seen


def not_shifted(program: Program) -> None:
    """The decoder reads what it has to predict."""
    program.prepare = lambda batch: replace(batch, inputs=batch.labels)


def wrong_axis(program: Program) -> None:
    """The softmax runs over the queries."""

    def columns(query, key, value, attn_mask, dropout_p):
        scores = query @ key.mT / math.sqrt(query.size(-1))
        mask = attn_mask.expand(*scores.shape)
        return masked_softmax(scores.mT, mask.mT).mT @ value

    for attention in attentions(program.model):
        attention.attention_fn = columns


def right_axis(program: Program) -> None:
    """The same kernel, with its softmax over the keys: no bug."""

    def rows(query, key, value, attn_mask, dropout_p):
        scores = query @ key.mT / math.sqrt(query.size(-1))
        mask = attn_mask.expand(*scores.shape)
        return masked_softmax(scores, mask) @ value

    for attention in attentions(program.model):
        attention.attention_fn = rows


def wrong_view(program: Program) -> None:
    """Heads are split in memory order, not along the last axis."""
    for attention in attentions(program.model):
        h = attention.heads
        attention.split = lambda x, h=h: x.reshape(len(x), h, x.size(1), -1)


def softmax_twice(program: Program) -> None:
    """Probabilities go to a loss that takes logits."""
    logits = program.model.logits
    program.model.logits = lambda x: logits(x).softmax(-1)


def rate_too_high(program: Program) -> None:
    """The peak learning rate is ten times too high."""
    program.rate *= 10


def no_zero_grad(program: Program) -> None:
    """Each gradient is added to all that came before."""

    def keeping(parameters):
        optimizer = adam(parameters)
        optimizer.zero_grad = lambda: None
        return optimizer

    program.optimizer = keeping


def upside_down(program: Program) -> None:
    """Cross-attention reads its mask the other way round."""

    def inverted(query, key, value, attn_mask, dropout_p):
        scores = query @ key.mT / math.sqrt(query.size(-1))
        return masked_softmax(scores, ~attn_mask) @ value

    for layer in program.model.decoder.layers:
        layer.cross_attention.attention_fn = inverted


def target_s_mask(program: Program) -> None:
    """Cross-attention is given the decoder's causal mask."""

    def causal(query, key, value, attn_mask, dropout_p):
        return F.scaled_dot_product_attention(
            query, key, value, is_causal=True
        )

    for layer in program.model.decoder.layers:
        layer.cross_attention.attention_fn = causal


def padding_seen(program: Program) -> None:
    """The source's padding can be looked at."""

    def all_seen(query, key, value, attn_mask, dropout_p):
        return F.scaled_dot_product_attention(query, key, value)

    for layer in program.model.encoder.layers:
        layer.self_attention.attention_fn = all_seen
    for layer in program.model.decoder.layers:
        layer.cross_attention.attention_fn = all_seen


def norm_kept(program: Program) -> None:
    """Attention is added to the normed x: x = norm(x); x = x + f(x)."""

    def kept(box):
        return lambda x, y: box.norm(x) + box.dropout(y)

    model = program.model
    boxes = [layer.around_attention for layer in model.encoder.layers]
    for layer in model.decoder.layers:
        boxes += [layer.around_self, layer.around_cross]
    for box in boxes:
        box.after = kept(box)


def dropout_on(program: Program) -> None:
    """eval() is never called."""

    def decode(model, batch):
        return greedy_decode(model.train(), batch.source)

    program.decode = decode


def other_start(program: Program) -> None:
    """Outputs begin with PAD; in training they began with BOS."""

    def decode(model, batch):
        def begun(source, target):
            return model(source, F.pad(target[:, 1:], (1, 0), value=PAD))

        begun.max_positions = model.eval().max_positions
        return greedy_decode(begun, batch.source)

    program.decode = decode


def teacher_forced(program: Program) -> None:
    """The scored tokens are predicted from the reference so far."""

    def decode(model, batch):
        return model.eval()(batch.source, batch.inputs).argmax(-1)

    program.decode = decode


def bleu(
    program: Program, tests: list[Pair], together: list[list[int]]
) -> float:
    """BLEU of the test sentences, decoded in these groups."""
    pieces = tokenizer()
    examples, _ = encode_pairs(tests, pieces, 1000)
    outputs = [""] * len(tests)
    for places in together:
        batch = make_batch([examples[place] for place in places])
        with torch.no_grad():
            rows = program.decode(program.model, program.prepare(batch))
        for place, row in zip(places, rows.tolist(), strict=True):
            outputs[place] = pieces.decode(row)
    return corpus_scores(outputs, [target for _, target in tests]).bleu


@cache
def trained(
    bug: Callable[[Program], None], seed: int
) -> tuple[Program, Result]:
    """A program with the bug after its training, and its two curves."""
    text, pieces = corpus(), tokenizer()
    torch.manual_seed(seed)
    program = Program(transformer(ModelConfig(len(pieces), **SIZES)))
    bug(program)
    model = program.model
    learning: Learning = {**LEARNING, "peak_lr": program.rate}
    recipe = TrainConfig(**learning, seed=seed)
    examples, _ = encode_pairs(text.train, pieces, recipe.max_length)
    batches = training_batches(examples, recipe.batch_tokens, seed)
    batches = map(program.prepare, batches)
    valid, _ = encode_pairs(text.valid[:VALIDATED], pieces, 1000)
    held_out = list(map(program.prepare, fixed_batches(valid, 2048)))
    training, validation, losses = [], [], []
    optimizer = program.optimizer(model.parameters())
    for update in updates(
        model, batches, optimizer, recipe, model.config.d_model
    ):
        losses.append(update.loss.item())
        if update.step % EVERY == 0:
            training.append(round(fmean(losses[-EVERY:]), 4))
            validation.append(round(validate(model, held_out).loss, 4))
    return program, {"training": training, "validation": validation}


def run(bug: Callable[[Program], None], seed: int) -> Result:
    """The curves of a program with a bug, and the BLEU of its outputs."""
    if bug in (dropout_on, other_start, teacher_forced):
        program, curves = trained(control, seed)  # no other training
        bug(program := replace(program))
    else:
        program, curves = trained(bug, seed)
    tests = corpus().tests["test"][:TRANSLATED]
    alike = defaultdict(list)
    for place, (source, _) in enumerate(tests):
        alike[len(tokenizer().encode(source))].append(place)
    return {
        "loss": curves["validation"][-1],
        "bleu": bleu(program, tests, [list(range(TRANSLATED))]),
        "bleu unpadded": bleu(program, tests, list(alike.values())),
        **curves,
    }


BUGS: dict[str, Callable[[Program], None]] = {
    "control": control,
    "no mask": no_mask,
    "labels not shifted": not_shifted,
    "heads by a wrong view": wrong_view,
    "softmax over queries": wrong_axis,
    "softmax over keys": right_axis,
    "softmax twice": softmax_twice,
    "rate too high": rate_too_high,
    "no zero_grad": no_zero_grad,
    "mask upside down": upside_down,
    "target's mask": target_s_mask,
    "padding seen": padding_seen,
    "sum after the norm": norm_kept,
    "dropout left on": dropout_on,
    "another start": other_start,
    "teacher forcing": teacher_forced,
}
SEEDS = (0, 1, 2)

RUNS = grid(
    run,
    "{name} seed={seed}",
    seed=SEEDS,
    name={name: {"bug": bug} for name, bug in BUGS.items()},
)
