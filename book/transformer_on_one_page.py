"""The Transformer on one page. It learns what "it" is, and needs only PyTorch.

The dog ate the soup because it was hungry. In German, is it er, the dog, or
sie, the soup? After half a minute of training the model can tell, though it
never met dog and soup in one sentence. "The Annotated Transformer, rebuilt"
explains it, and tests that both compute the same. Shapes of results follow #.
"""

import math
import random
from functools import partial
from itertools import product

import torch
from torch import nn
from torch.nn import functional as F

PAD, BOS, EOS = range(3)  # signs that fill up, begin and end a sentence

def padding_mask(tokens, pad=PAD):  # batch 1 1 length
    """True where a key is a token, False where it is padding."""
    return (tokens != pad)[:, None, None, :]

def causal_mask(length):  # length length
    """True where key j is not later than query i: a lower triangle."""
    return torch.ones(length, length, dtype=torch.bool).tril()

def attention_weights(query, key, mask):  # *batch queries keys
    """softmax(Q K^T / sqrt(d_k)): each query's weights, summing to one."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill(~mask, -math.inf).softmax(-1)

class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O (3.2.2)."""
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)
        self.output = nn.Linear(d_model, d_model)
    def split(self, x):  # batch heads length d_head
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
    def forward(self, x, memory, mask):  # batch queries d_model
        keys, values = self.key_value(memory).chunk(2, -1)
        query, keys, values = map(self.split, (self.query(x), keys, values))
        heads = attention_weights(query, keys, mask) @ values
        return self.output(heads.transpose(1, 2).flatten(2))

class TokenEmbedding(nn.Module):
    """One matrix for tokens in and logits out, scaled by sqrt(d_model)."""
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = math.sqrt(d_model)
        nn.init.normal_(self.weight, std=d_model ** (-0.5))
    def forward(self, tokens):  # batch length d_model
        x = F.embedding(tokens, self.weight) * self.scale
        return x + sinusoids(*x.shape[1:])
    def logits(self, x):  # *batch vocab_size
        return F.linear(x, self.weight)

def sinusoids(length, d_model):  # length d_model
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos (3.5)."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000 ** (even / d_model)
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return waves[:, :d_model].float()

class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at each position (eq. 2)."""
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
    def forward(self, x):  # *batch d_model
        return self.outer(F.relu(self.inner(x)))

class AddNorm(nn.Module):
    """The box Add & Norm around a sub-layer, the norm first (3.1)."""
    def __init__(self, d_model):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
    def forward(self, x, sublayer):
        return x + sublayer(self.norm(x))

class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each in Add & Norm (3.1)."""
    def __init__(self, attention, feed_forward, add_norm):
        super().__init__()
        self.self_attention = attention
        self.feed_forward = feed_forward
        self.around_attention = add_norm()
        self.around_feed_forward = add_norm()
    def forward(self, x, mask):
        x = self.around_attention(x, lambda y: self.self_attention(y, y, mask))
        return self.around_feed_forward(x, self.feed_forward)

class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward (3.1)."""
    def __init__(self, attention, cross_attention, feed_forward, add_norm):
        super().__init__()
        self.self_attention = attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.around_self = add_norm()
        self.around_cross = add_norm()
        self.around_feed_forward = add_norm()
    def forward(self, x, memory, pad, causal):
        x = self.around_self(x, lambda y: self.self_attention(y, y, causal))
        x = self.around_cross(
            x, lambda y: self.cross_attention(y, memory, pad)
        )
        return self.around_feed_forward(x, self.feed_forward)

class Transformer(nn.Module):
    """Figure 1: from source and target words to scores of the next word."""
    def __init__(self, vocab_size, layers=2, d_model=64, d_ff=128, heads=4):
        super().__init__()
        look = partial(MultiHeadAttention, d_model, heads)
        think = partial(FeedForward, d_model, d_ff)
        box = partial(AddNorm, d_model)
        read = [EncoderLayer(look(), think(), box) for _ in range(layers)]
        write = [DecoderLayer(look(), look(), think(), box) for _ in read]
        self.tokens = TokenEmbedding(vocab_size, d_model)
        self.encoder, self.decoder = map(nn.ModuleList, (read, write))
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)
    def forward(self, source, target):  # batch length vocab_size
        x, mask = self.tokens(source), padding_mask(source)
        for layer in self.encoder:
            x = layer(x, mask)
        memory, x = self.encoder_norm(x), self.tokens(target)
        for layer in self.decoder:
            x = layer(x, memory, mask, causal_mask(target.size(1)))
        return self.tokens.logits(self.decoder_norm(x))

# With der a noun is masculine, and it is er; with die, sie; with das, es.
ANIMALS = "dog: der Hund, fox: der Fuchs, cat: die Katze, horse: das Pferd"
FOODS = "cake: der Kuchen, cheese: der Käse, soup: die Suppe, bread: das Brot"
VERBS = "ate: fraß, found: fand, looked for: suchte"
MOODS = "hungry: hungrig, tired: müde, curious: neugierig"  # of an animal
TASTES = "sweet: süß, fresh: frisch, delicious: lecker"  # of food

def pairs():
    """Every sentence that these words make, and its translation."""
    lists = ANIMALS, FOODS, VERBS, f"{MOODS}, {TASTES}"
    words = ([w.split(": ") for w in text.split(", ")] for text in lists)
    for (a, who), (f, what), (v, did), (q, how) in product(*words):
        english = f"The {a} {v} the {f} because it was {q} ."
        meant = who if q in MOODS else what
        it = {"der": "er", "die": "sie", "das": "es"}[meant[:3]]
        what = what.replace("der", "den")  # masculine objects have den
        yield english, f"D{who[1:]} {did} {what} , weil {it} {how} war ."

USED = {word for pair in pairs() for text in pair for word in text.split()}
WORDS = ["PAD", "BOS", "EOS", *sorted(USED)]

def numbers(texts):  # batch length
    """Sentences as rows of numbers, filled up with PAD."""
    rows = [[BOS, *map(WORDS.index, text.split()), EOS] for text in texts]
    return nn.utils.rnn.pad_sequence([*map(torch.tensor, rows)], True, PAD)

def linear_rate(step, peak, warmup, steps):
    """Up to the peak in warmup steps, then straight down to zero."""
    if step <= warmup:
        return peak * step / warmup
    return peak * max(0.0, (steps - step) / (steps - warmup))

def train(model, batches, peak=4e-3, warmup=100):
    """One update a batch; yields its loss, in nats a word."""
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, (source, target) in enumerate(batches, 1):
        logits = model(source, target[:, :-1]).transpose(1, 2)
        loss = F.cross_entropy(logits, target[:, 1:], ignore_index=PAD)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rate = linear_rate(step, peak, warmup, len(batches))
        adam.param_groups[0]["lr"] = rate
        adam.step()
        adam.zero_grad()
        yield loss.item()

def translate(model, text):
    """Write the likeliest word, read it, write the next, up to EOS."""
    target = numbers([""])[:, :1]
    while target[0, -1] != EOS and target.size(1) < 20:
        likeliest = model(numbers([text]), target)[:, -1:].argmax(-1)
        target = torch.cat([target, likeliest], dim=1)
    return " ".join(WORDS[i] for i in target[0, 1:-1])

if __name__ == "__main__":
    seen = [p for p in pairs() if not ("dog" in p[0] and "soup" in p[0])]
    batches = [map(numbers, zip(*random.sample(seen, 64))) for _ in range(300)]
    model = Transformer(vocab_size=len(WORDS))
    for step, loss in enumerate(train(model, batches), 1):
        if step % 50 == 0:
            print(f"update {step}: loss {loss:.4f}")
    for text, _ in sorted({*pairs()} - {*seen}):
        print(text, translate(model, text), sep="\n    ")
