"""Live figures: ```{widget} softmax``` with what stands there without them.

The directive's body is what a reader sees on paper, without scripts, or in a
notebook. With scripts, book/_static/widgets/NAME.js draws the figure from
what the package computes here while the book is built.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache
from math import inf
from typing import Any

import torch
from docutils import nodes
from each_page import Page, each_page
from edition import say
from notebooks import cells, output
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.corpora.builtin import words
from annotated_transformer.corpora.builtin.lexicon import KINDS
from annotated_transformer.data import pad
from annotated_transformer.decoding import (
    Beam,
    best_continuations,
    collect,
    first_state,
    model_step,
)
from annotated_transformer.embedding import BOS, EOS
from annotated_transformer.model import PRESETS, length_limit
from annotated_transformer.teaching.pronoun_sentences import (
    PRONOUNS,
    gender,
    variations,
)
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator, attention_maps
from ledger import BOOK
from ledger.records import read_run

Data = dict[str, Any]  # of a figure, for JSON
WIDTHS = [2**i for i in range(1, 11)]  # d_k of the softmax figure
POWERS = [0, 0.5, 1]  # of d_k, by which its scores are divided
QUERIES = 6  # that it shows one by one
BEAMS = [1, 2, 4]
MODEL = "multi30k-en-de"
PRONOUN_MODEL = "pronouns"
DECIDES = 2, 1  # layer and head of cross-attention; a test asks the record
# Greedy search falls short of a beam of 4 here: by the time that it needs the
# separable verb's "an", it has taken another way. The penalty decides, too.
CAPTION = "Three girls are talking on the phone by the lake."


def softmax() -> Data:
    """Dot products of random queries with 16 random keys, by width.

    And the largest weight at each width, the mean of many such draws, if
    the scores are divided by nothing, by the root of the width, by it.
    """
    generator = torch.Generator().manual_seed(1)
    q = torch.randn(500, 1, WIDTHS[-1], generator=generator)
    k = torch.randn(500, 16, WIDTHS[-1], generator=generator)
    scores = [(q[..., :d] * k[..., :d]).sum(-1) for d in WIDTHS]
    shown = torch.stack(scores, dim=1)[:QUERIES].double().round(decimals=2)
    largest = [
        [(s / d**power).softmax(-1).amax(-1).mean().item() for power in POWERS]
        for s, d in zip(scores, WIDTHS, strict=True)
    ]
    return {"widths": WIDTHS, "scores": shown.tolist(), "largest": largest}


def positions() -> Data:
    """Eight pairs of sines and cosines."""
    return {"d_model": 16}


def schedule() -> Data:
    """The settings of the paper's base model."""
    return {
        "d_model": PRESETS["base"].d_model,
        "warmup": TrainConfig().warmup,
    }


@torch.inference_mode()
def search_tree(translator: Translator, caption: str, width: int) -> Data:
    """A whole beam search, every step of it, until all places have ended.

    A node is a token after its parent, with its own probability, the
    log-probability up to it, and its place in the beam, none if dropped.
    Each hypothesis shows its likeliest three next tokens and what was kept.
    """
    model, tokenizer = translator.model, translator.tokenizer
    source = torch.tensor([tokenizer.encode(caption)])
    limit = length_limit(source, model.max_positions)
    step, state = model_step(model), first_state(model, source)
    beam = Beam(width, 0.0, int(limit))
    found = [{"step": 0, "piece": "", "total": 0.0, "place": 0}]
    tokens = torch.full((1, width, 1), BOS)
    live = torch.full((1, width), -inf)
    live[0, 0] = 0.0
    at = [0] * width  # the node of each place
    while not beam.done(live.max().item(), width):
        log_p, state = step(tokens[0, :, -1], state)
        before, free = live[0].tolist(), width - len(beam.ended)
        live, parents, token = best_continuations(live, log_p, width)
        tokens = tokens.take_along_dim(parents[:, :, None], dim=1)
        tokens = torch.cat([tokens, token[:, :, None]], dim=2)
        live = torch.tensor(collect([beam], tokens, live))
        state = state.select(parents[0], torch.tensor([0]))
        chosen = [*zip(parents[0].tolist(), token[0].tolist(), strict=True)]
        places = {pair: i for i, pair in enumerate(chosen[:free])}
        new = [0] * width
        for row in (i for i, total in enumerate(before) if total > -inf):
            likely = log_p[row].topk(3).indices.tolist()
            kept = [t for i, t in places if i == row]
            for t in sorted({*likely, *kept}, key=lambda t: -log_p[row, t]):
                place = places.get((row, t))
                if place is not None:
                    new[place] = len(found)
                node = {
                    "parent": at[row],
                    "step": tokens.size(2) - 1,
                    "piece": tokenizer.pieces.id_to_piece(t),
                    "p": round(log_p[row, t].exp().item(), 4),
                    "total": round(before[row] + log_p[row, t].item(), 4),
                    "place": place,
                }
                found.append(node | ({"end": True} if t == EOS else {}))
        at = new
    return {"width": width, "limit": beam.limit, "nodes": found}


@cache
def beam() -> Data:
    """Three searches for the translation of a caption."""
    translator = Translator.load(MODEL)
    trees = [search_tree(translator, CAPTION, width) for width in BEAMS]
    return {"caption": CAPTION, "trees": trees}


def lookup() -> Data:
    """The words of chapter 1, in numbers that were chosen by hand."""
    text = "the dog ate the soup because it was hungry"
    words = text.split()
    keys = {"dog": [2, 0, 0], "soup": [0, 2, 0], "hungry": [2, 0, 2]}
    values = {"dog": [1, 0, 0], "soup": [0, 1, 0]}
    return {
        "words": words,
        "keys": [keys.get(word, [0, 0, 0]) for word in words],
        "values": [values.get(word, [0, 0, 0]) for word in words],
        "parts": [say("animal"), say("food"), say("quality")],
        "pronouns": PRONOUNS,
        "start": [2, 0, -2],
    }


def by_word(weights: list[float], pieces: list[str]) -> list[float]:
    """The weights of a sentence's pieces, added up by word and full stop."""
    sums: list[float] = []
    for piece, weight in zip(pieces, weights, strict=True):
        if piece.startswith("▁") or piece in (".", "</s>"):
            sums.append(0.0)
        sums[-1] += weight
    return [round(weight, 3) for weight in sums]


@cache
@torch.inference_mode()
def pronoun() -> Data:
    """What the pronoun model makes of the sentence with other words."""
    translator = Translator.load(PRONOUN_MODEL)
    model, tokenizer = translator.model, translator.tokenizer
    ids = [tokenizer.encode(f"weil {word}")[1] for word in PRONOUNS]
    every = list(variations(contested=False))
    outputs = translator([case.source for case in every], beam=1)
    sources = [tokenizer.encode(case.source) for case in every]
    targets = [[BOS, *tokenizer.encode(german)] for german in outputs]
    at = [next(i for i, x in enumerate(row) if x in ids) for row in targets]
    before = [row[:i] for row, i in zip(targets, at, strict=True)]
    given = pad(sources), pad(before)
    rows, last = torch.arange(len(every)), torch.tensor(at) - 1
    chances = model(*given)[rows, last].softmax(-1)[:, ids]
    layer, head = DECIDES
    maps = attention_maps(model, *given).cross[layer - 1]
    weights = maps[rows, head - 1, last].tolist()
    cases = {}
    for i, case in enumerate(every):
        pieces = [*tokenizer.split(case.source), "</s>"]
        cases[" ".join(case[:3])] = {
            "german": outputs[i],
            "chances": [round(p, 4) for p in chances[i].tolist()],
            "weights": by_word(weights[i][: len(pieces)], pieces)[:-1],
        }
    animals, foods, qualities = (
        list(dict.fromkeys(case[i] for case in every)) for i in range(3)
    )
    nouns = [*KINDS["animal"], *KINDS["food"]]
    return {
        "animals": animals,
        "foods": foods,
        "qualities": qualities,
        "pronouns": PRONOUNS,
        "meant": {noun.english: gender(noun) for noun in nouns},
        "cases": cases,
    }


def sampling() -> Data:
    """What chapter 18's writer, as it was trained, expects after words."""
    (path,) = BOOK.glob("*_writing.ipynb")
    mark = "# For the live figure"
    (cell,) = (x for x in cells(path) if mark in "".join(x["source"]))
    likely, logits = (line.split() for line in output(cell).splitlines())
    return {
        "beginning": "The dog ate the soup",
        "words": likely,
        "logits": [float(x) for x in logits],
    }


def learning() -> Data:
    """A training, as its record shows it at every look."""
    record = read_run("pronouns_while_learning")
    recipe, found = record["recipe"], record["results"]["trained seed=0"]
    sentences = []
    for english, german in recipe["sentences"].items():
        source, target = words(english), words(german)
        (at,) = (i for i, word in enumerate(target) if word in PRONOUNS)
        sentence = {"english": english, "german": german, "at": at}
        sentence |= {"source": source, "target": target}
        name = f"{source[1]}, {source[-2]}"
        sentences.append(sentence | {"name": name, "pronoun": target[at]})
    return {
        "looks": recipe["looks"],
        "head": recipe["head"],
        "sentences": sentences,
        "pronouns": PRONOUNS,
        "loss": [round(loss, 2) for loss in found["loss"]],
        "right": [round(share, 3) for share in found["pronouns"]],
        "written": found["written"],
        "chances": found["chances"],
        "maps": found["maps in percent"],
    }


def train() -> Data:
    """What is trained in the page, as the package has trained it."""
    recipe = read_run("masks_while_copying")["recipe"]
    learned = recipe["train"]
    return {
        "model": recipe["model"],
        "steps": learned["steps"],
        "rate": learned["peak_lr"],
        "warmup": learned["warmup"],
        **{x: recipe[x] for x in ("letters", "lengths", "batch", "tested")},
        "every": recipe["every"],
        "asked": 40,  # strings, as long as some of them are wrong
        "shown": 4,
    }


DATA: dict[str, Callable[[], Data]] = {
    "lookup": lookup,
    "pronoun": pronoun,
    "softmax": softmax,
    "positions": positions,
    "schedule": schedule,
    "beam": beam,
    "sampling": sampling,
    "learning": learning,
    "train": train,
}


class Widget(SphinxDirective):
    """A live figure; its body is shown where nothing can move."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        name = self.arguments[0]
        if name not in DATA:
            known = ", ".join(DATA)
            raise self.error(f"no widget {name!r}: there are {known}")
        still = nodes.container(classes=["widget-still"])
        self.state.nested_parse(self.content, self.content_offset, still)
        data = json.dumps(DATA[name](), ensure_ascii=False)
        script = (
            f'<script type="application/json" data-widget="{name}">'
            f"{data.replace('<', chr(92) + 'u003c')}</script>"
        )
        box = nodes.container(classes=["widget"], widget=name)
        box += [still, nodes.raw("", script, format="html")]
        return [box]


def load_figures(app: Sphinx, names: Iterable[str]) -> None:
    """Give the page that is being written what these figures need."""
    for script in (f"widgets/{name}" for name in names):
        app.add_css_file("widgets.css")
        for part in ("widgets", script):
            app.add_js_file(f"{part}.js", loading_method="defer")


def load_where_needed(page: Page) -> None:
    """Give style and scripts to the pages with live figures."""
    boxes = page.find(nodes.container)
    load_figures(page.app, [x["widget"] for x in boxes if "widget" in x])


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    app.add_directive("widget", Widget)
    each_page(app, load_where_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
