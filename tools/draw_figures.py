"""Draw the figures of the book: each run writes all SVGs anew."""

import re
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "book" / "figures"
PALETTE = ROOT / "annotated_transformer" / "teaching" / "plotting.py"
# Read, not imported, so that drawing needs nothing but Python.
COLOURS = dict(re.findall(r'"(\w+)": "(#\w{6})"', PALETTE.read_text("utf-8")))
FONT = "'Segoe UI','Helvetica Neue',Arial,'Liberation Sans',sans-serif"


class Picture:
    """A white card 700 units wide, filled shape by shape."""

    def __init__(self, title, desc, height):
        self.lines = [
            '<svg xmlns="http://www.w3.org/2000/svg" width="700" '
            f'height="{height}" viewBox="0 0 700 {height}" role="img" '
            f'aria-labelledby="t d" font-family="{FONT}" stroke-width="2">',
            f'<title id="t">{title}</title><desc id="d">{escape(desc)}</desc>',
            f'<rect width="700" height="{height}" rx="16" fill="#fff"/>',
        ]

    def label(self, x, y, text, at="middle", size=18, colour="text"):
        """Text whose middle line is y; ^ raises a letter, ** makes it bold."""
        bold = ' font-weight="600"' if text.startswith("**") else ""
        raised = r'<tspan dy="-.4em" font-size=".7em">\1</tspan>'
        text = re.sub(r"\^(\w)", raised, escape(text.lstrip("*")))
        self.lines.append(
            f'<text x="{x}" y="{y + size // 3}" font-size="{size}"{bold} '
            f'text-anchor="{at}" fill="{COLOURS[colour]}">{text}</text>'
        )

    def box(self, x, y, w, h, text="", colour="muted", tint=0.16, copies=1):
        """A rounded box; the first line names it, a second explains."""
        for shift in range(6 * copies - 6, -1, -6):
            size = f'x="{x + shift}" y="{y - shift}" width="{w}" height="{h}"'
            ink = COLOURS[colour]
            self.lines.append(
                f'<rect {size} rx="9" fill="#fff"/><rect {size} rx="9" '
                f'fill="{ink}" fill-opacity="{tint}" stroke="{ink}"/>'
            )
        name, *more = text.split("\n")
        middle = y + h // 2 - 12 * len(more)
        self.label(x + w // 2, middle, name, size=20)
        for i, line in enumerate(more, 1):
            self.label(
                x + w // 2, middle + 25 * i, line, size=16, colour="muted"
            )

    def arrow(self, *points, colour="muted"):
        """An arrow along points that lie level or upright to each other."""
        ink, path = COLOURS[colour], " ".join(f"{x},{y}" for x, y in points)
        (a, b), (x, y) = points[-2:]
        dx, dy = (x > a) - (x < a), (y > b) - (y < b)
        p, q = x - 9 * dx, y - 9 * dy
        tip = f"{x},{y} {p + 5 * dy},{q + 5 * dx} {p - 5 * dy},{q - 5 * dx}"
        self.lines.append(
            f'<polyline points="{path}" fill="none" stroke="{ink}"/>'
            f'<polygon points="{tip}" fill="{ink}"/>'
        )

    def arc(self, x, end, y, height, colour):
        """An arrow from x over the words back to another place."""
        ink, top = COLOURS[colour], y - height
        self.lines.append(
            f'<path d="M{x},{y} C{x},{top} {end},{top} {end},{y - 8}" '
            f'fill="none" stroke="{ink}" stroke-width="3"/><polygon '
            f'points="{end},{y} {end - 6},{y - 11} {end + 6},{y - 11}" '
            f'fill="{ink}"/>'
        )

    def save(self, name):
        """Write the picture into book/figures."""
        text = "\n".join([*self.lines, "</svg>\n"])
        (FIGURES / name).write_text(text, encoding="utf-8")


def stack(p, x, side, tokens, layer, colour, blocks):
    """Embedding and layers from the bottom up; returns where they end."""
    low, top = 620, 576 - 128 * len(blocks)
    p.label(x, low + 150, tokens, size=20)
    p.arrow((x, low + 136), (x, low + 118))
    shape = "[batch, length, d_model]"
    p.box(x - 113, low + 60, 226, 58, f"TokenEmbedding\n{shape}", "query")
    p.box(x - 54 - 90 * side, low + 18, 108, 32, "positions", "key")
    p.arrow((x - 36 * side, low + 34), (x - 14 * side, low + 34))
    p.arrow((x, low + 60), (x, low + 48))
    p.box(x - 14, low + 20, 28, 28, "+", "key")
    p.box(x - 140 + 9 * side, top, 280, low - top, "", colour, tint=0.07)
    for text, way in ("**" + layer, side), ("**× N", -side):
        at = "start" if way > 0 else "end"
        p.label(x + 11 * way, top + 20, text, at, size=16)
    p.arrow((x, low + 20), (x, low - 30))
    for i, text in enumerate(blocks):
        y, last = low - 30 - 128 * i, i == len(blocks) - 1
        p.box(x - 113, y - 58, 226, 58, text, colour)
        p.arrow((x, y - 58), (x, y - 70))
        p.box(x - 113, y - 102, 226, 32, "Add & Norm", tint=0.08)
        p.arrow((x, y - 102), (x, top - 22 if last else y - 128))
        way, edge = x + 131 * side, x + 113 * side
        p.arrow((x, y + 18), (way, y + 18), (way, y - 86), (edge, y - 86))
    return top - 22


def model():
    """The whole model, with the names of the package."""
    desc = "Encoder and decoder; memory gives keys and values; then a softmax."
    p = Picture("The Transformer, as in the paper", desc, 794)
    kinds = "self-attention", "masked self-attention", "cross-attention"
    own, masked, cross = (f"MultiHeadAttention\n{kind}" for kind in kinds)
    feed = "FeedForward\ninner width d_ff"
    left = 165, -1, "source tokens", "EncoderLayer", "encoder"
    right = 535, 1, "target tokens so far", "DecoderLayer", "decoder"
    y = stack(p, *left, [own, feed])
    top = stack(p, *right, [masked, cross, feed])
    for i, text in enumerate(("key", "value")):
        x, start, end = 378 - 28 * i, y - 42 + 26 * i, y + 125 + 21 * i
        p.label(286, start - 14 + 29 * i, text + "s", "start")
        p.arrow((278, start), (x, start), (x, end), (422, end), colour=text)
    p.arrow((535, y + 190), (535, y + 164), colour="query")
    p.label(526, y + 177, "queries", "end")
    shape = "[batch, length, vocab_size]"
    p.box(415, top - 58, 240, 58, f"logits\n{shape}", "query")
    p.box(52, y - 58, 226, 58, "memory\n[batch, length, d_model]", "memory")
    p.arrow((535, top - 58), (535, top - 80))
    p.box(475, top - 114, 120, 34, "softmax")
    p.arrow((535, top - 114), (535, top - 132))
    p.label(535, top - 146, "probabilities of the next token", size=20)
    p.save("model.svg")


PLACES = (40, 108, 172, 232, 300, 394, 486, 544, 626)  # of nine words


def words(p, y, quality, bold=()):
    """The sentence of the book in a row, with these words in bold."""
    text = f"the dog ate the soup because it was {quality}".split()
    for i, (x, word) in enumerate(zip(PLACES, text, strict=True)):
        p.label(x, y, "**" + word if i in bold else word, size=20)


def which_noun():
    """The sentence of the book, twice: what "it" looks back to."""
    desc = "From it an arrow leads to dog, in the second sentence to soup."
    p = Picture("Which noun is it?", desc, 350)
    for y, quality, noun, colour, german in (
        (110, "hungry", 1, "query", "er"),
        (280, "sweet", 4, "decoder", "sie"),
    ):
        words(p, y, quality, (noun, 6, 8))
        p.arc(486, PLACES[noun], y - 18, 90 if noun == 1 else 62, colour)
        p.label(108, y + 26, "der Hund: er", size=15, colour="muted")
        p.label(300, y + 26, "die Suppe: sie", size=15, colour="muted")
        p.label(486, y + 28, f"**{german}", size=20, colour=colour)
    p.save("which-noun.svg")


def two_looks():
    """Two heads of one sentence: the verb's look and the pronoun's."""
    desc = "From ate an arrow leads to dog, and from it another to dog."
    p = Picture("Two looks at one sentence", desc, 300)
    words(p, 160, "hungry")
    p.arc(486, 116, 140, 120, "query")
    p.arc(172, 100, 140, 50, "decoder")
    p.label(172, 196, "**fraß", size=20, colour="decoder")
    p.label(172, 222, "animals fressen,", size=16, colour="muted")
    p.label(172, 243, "people essen", size=16, colour="muted")
    p.label(486, 196, "**er", size=20, colour="query")
    p.label(486, 222, "der Hund, masculine", size=16, colour="muted")
    p.save("two-looks.svg")


def word_and_position():
    """A word's vector, a position's, and their sum, as coloured cells."""
    desc = "A row of cells for the word, one for its place, and their sum."
    p = Picture("A word and its place", desc, 300)
    rows = (
        ("dog", (2, -1, 0, 1, -2, 1, 0, -1), "key"),
        ("+ second place", (0.8, 0.5, 0.1, 1, 0, 1, 0, 1), "query"),
        ("= what the model reads", (2.8, -0.5, 0.1, 2, -2, 2, 0, 0), "value"),
    )
    for i, (name, numbers, colour) in enumerate(rows):
        y = 40 + 80 * i
        p.label(250, y + 26, name, "end", size=20)
        for j, number in enumerate(numbers):
            p.box(272 + 50 * j, y, 44, 52, "", colour, 0.08 + abs(number) / 5)
            text = str(number).replace("-", "−")
            p.label(294 + 50 * j, y + 26, text, size=18)
    p.save("word-and-position.svg")


def who_reads_whom():
    """Three layers, and the way from "dog" to "it" through each."""
    desc = "Recurrence: five hops. Convolutions: three. Self-attention: one."
    p = Picture("From dog to it", desc, 536)
    nine, top = range(9), 0
    passed = [((t, 1), (t + 1, 1)) for t in nine[:-1]]
    passed += [((t, 0), (t, 1)) for t in nine]
    windows = [
        ((t - j, level), (t, level + 1))
        for level in range(3)
        for t in nine
        for j in range(3)
        if t >= j
    ]
    everyone = [((s, 0), (t, 1)) for s in nine for t in nine]
    for title, height, edges, path in (
        ("Recurrence: 5 hops", 50, passed, [(t, 1) for t in range(1, 7)]),
        (
            "Convolutions of three words: 3 hops",
            44,
            windows,
            [(3, 1), (5, 2), (6, 3)],
        ),
        ("Self-attention: 1 hop", 76, everyone, [(6, 1)]),
    ):
        levels = max(level for _, (_, level) in edges)
        low = top + 58 + levels * height
        p.label(20, top + 26, "**" + title, "start", 17)

        def place(dot, low=low, height=height):
            return f"{PLACES[dot[0]]},{low - dot[1] * height}"

        grey, lit = "#C5CBD3", COLOURS["query"]
        for start, end in edges:
            p.lines.append(
                f'<polyline points="{place(start)} {place(end)}" '
                f'stroke="{grey}" stroke-width="1.5"/>'
            )
        for dot in sorted({dot for edge in edges for dot in edge}):
            x, y = place(dot).split(",")
            p.lines.append(
                f'<circle cx="{x}" cy="{y}" r="4" fill="{COLOURS["muted"]}"/>'
            )
        way = " ".join(map(place, [(1, 0), *path]))
        p.lines.append(
            f'<polyline points="{way}" fill="none" stroke="{lit}" '
            'stroke-width="4"/>'
        )
        for dot in [(1, 0), *path]:
            x, y = place(dot).split(",")
            p.lines.append(f'<circle cx="{x}" cy="{y}" r="6" fill="{lit}"/>')
        words(p, low + 24, "hungry", (1, 6))
        top = low + 34
    p.save("who-reads-whom.svg")


def three_translators():
    """LSTM, ConvS2S and Transformer, each with attention in the middle."""
    desc = "Three pairs of encoder and decoder, each joined by attention."
    p = Picture("Three translators", desc, 390)
    for x, title, year, name, reads, writes in (
        (
            123,
            "LSTM with attention",
            "2015",
            "LSTM",
            "both ways",
            "word by word",
        ),
        (
            350,
            "ConvS2S",
            "May 2017",
            "convolutions",
            "windows of 3",
            "windows of 3",
        ),
        (
            577,
            "Transformer",
            "June 2017",
            "self-attention",
            "all words",
            "all words so far",
        ),
    ):
        p.label(x, 24, "**" + title, size=18)
        p.label(x, 48, year, size=16, colour="muted")
        p.label(x, 80, "German", size=16, colour="muted")
        p.arrow((x, 110), (x, 94))
        p.box(x - 96, 110, 192, 70, f"{name}\n{writes}", "decoder")
        p.arrow((x, 264), (x, 182), colour="query")
        p.label(x + 12, 222, "attention", "start", 16, "query")
        p.box(x - 96, 264, 192, 70, f"{name}\n{reads}", "encoder")
        p.arrow((x, 356), (x, 336))
        p.label(x, 370, "English", size=16, colour="muted")
    p.save("three-translators.svg")


def one_layer():
    """An encoder layer from left to right, with its two residuals."""
    desc = "Attention, add and norm, feed-forward, add and norm."
    p = Picture("One layer", desc, 230)
    p.label(24, 116, "x", size=22)
    p.arrow((40, 116), (74, 116))
    for x, text, colour in (
        (74, "attention\nlook at others", "query"),
        (400, "feed-forward\nthink alone", "value"),
    ):
        p.box(x, 82, 168, 68, text, colour)
        p.arrow((x + 168, 116), (x + 196, 116))
        p.box(x + 196, 92, 64, 48, "add", "muted", 0.08)
        p.arrow((x - 18, 116), (x - 18, 44), (x + 228, 44), (x + 228, 92))
    p.arrow((334, 116), (400, 116))
    p.arrow((660, 116), (690, 116))
    p.label(196, 196, "what was there before is added again", size=18)
    p.save("one-layer.svg")


def residual_stream():
    """A line of vectors through a layer; two boxes read it and add to it."""
    desc = "Attention and feed-forward read the stream and add to it."
    p = Picture("The residual stream", desc, 372)
    p.lines.append(
        f'<path d="M30,200 H676" stroke="{COLOURS["decoder"]}" '
        'stroke-width="9" stroke-opacity=".55"/><polygon '
        f'points="694,200 674,188 674,212" fill="{COLOURS["decoder"]}"/>'
    )
    for left, text, inside, colour in (
        (92, "attention\nlooks at the others", "4 × [11, 11]", "query"),
        (388, "feed-forward\nthinks alone", "[11, 128]", "value"),
    ):
        p.label(left + 106, 26, f"inside: {inside}", size=16, colour="muted")
        p.box(left, 46, 212, 72, text, colour)
        p.arrow((left + 24, 196), (left + 24, 118), colour=colour)
        p.label(left + 34, 157, "[11, 64]", "start", 16, "muted")
        p.arrow((left + 188, 118), (left + 188, 184), colour=colour)
        p.label(left + 180, 157, "[11, 64]", "end", 16, "muted")
        p.box(left + 172, 184, 32, 32, "+", "decoder", 0.08)
    for x, *lines in (
        (26, "ate"),
        (234, "ate", "+ an animal", "did it"),
        (530, "ate", "+ an animal did it", "+ so it is fraß"),
    ):
        p.label(x, 250, "**" + lines[0], "start", 20, "text")
        for i, line in enumerate(lines[1:], 1):
            colour = "value" if "fraß" in line else "query"
            p.label(x, 250 + 27 * i, line, "start", 18, colour)
    text = "one vector for each of 11 tokens, 64 numbers long, all the way"
    p.label(350, 350, text, size=18, colour="muted")
    p.save("residual-stream.svg")


def weil_or_da():
    """What the pronoun model expects before "weil" and before "er"."""
    desc = "Before weil: weil 0.76, da 0.24. Before er: er 1.00, others 0.00."
    p = Picture("Two places of one sentence", desc, 290)
    for x, text, shares in (
        (20, "Der Hund fraß die Suppe, ...", (("weil", 76), ("da", 24))),
        (370, "... die Suppe, weil ...", (("er", 100), ("sie", 0))),
    ):
        p.label(x + 150, 40, text, size=20)
        for i, (word, share) in enumerate((*shares, ("all others", 0))):
            y = 82 + 62 * i
            p.label(x + 92, y + 18, word, "end", size=19)
            p.box(x + 106, y, max(3, 3 * share // 2), 36, "", "query", 0.5)
            text = f"{share / 100:.2f}"
            p.label(x + 118 + 3 * share // 2, y + 18, text, "start", size=18)
    p.save("weil-or-da.svg")


def one_update():
    """What follows the first comma, before and after one update."""
    desc = "Before: weil 0.76. A careful update: 0.75. A full one: 0.08."
    p = Picture("One update on one pair", desc, 270)
    for y, word in ((112, "weil"), (166, "da"), (220, "comma")):
        p.label(66, y + 18, word, "end", size=20)
    for x, title, text, shares in (
        (80, "**before", "as trained", (76, 24, 0)),
        (290, "**a careful update", "rate 0.000013", (75, 25, 0)),
        (500, "**a full update", "rate 0.004", (8, 34, 57)),
    ):
        p.label(x, 36, title, "start", size=19)
        p.label(x, 66, text, "start", size=17, colour="muted")
        for y, share, colour in zip(
            (112, 166, 220), shares, ("query", "query", "loss"), strict=True
        ):
            p.box(x, y, max(3, 3 * share // 2), 36, "", colour, 0.5)
            text = f"{share / 100:.2f}"
            p.label(x + 10 + 3 * share // 2, y + 18, text, "start", size=18)
    p.save("one-update.svg")


def teacher_forcing():
    """The same model in training and in use, and whose words it reads."""
    desc = "In training the true word is read next, in use the model's own."
    p = Picture("Teacher forcing and free running", desc, 430)
    says = ("weil", "sie", "hungrig", "war")
    for y, title, given, labels in (
        (20, "**Training: it reads the true words", "er", True),
        (252, "**Translating: it reads its own", "sie", False),
    ):
        p.label(24, y + 16, title, "start", size=20)
        top = y + 42 if labels else y - 16
        if labels:
            p.label(24, top + 18, "label", "start", size=18)
        p.label(24, top + 76, "model says", "start", size=18)
        p.label(24, top + 148, "input", "start", size=18)
        for i, read in enumerate((",", "weil", given, "hungrig")):
            x, wrong = 150 + 136 * i, says[i] == "sie"
            if labels:
                label = "er" if wrong else says[i]
                p.box(x, top, 104, 38, label, "value")
                p.label(x + 52, top + 48, "≠" if wrong else "=", size=18)
            own = "decoder" if wrong else "query"
            p.box(x, top + 58, 104, 38, says[i], own)
            p.arrow((x + 52, top + 130), (x + 52, top + 96))
            colour = "decoder" if read == "sie" else "key"
            p.box(x, top + 130, 104, 38, read, colour)
            if i and not labels:
                p.arrow(
                    (x - 32, top + 77),
                    (x - 16, top + 77),
                    (x - 16, top + 149),
                    (x, top + 149),
                )
    p.save("teacher-forcing.svg")


def learning_rate():
    """The learning rate of the paper: up, then down by the root."""
    desc = "A curve that rises in a line and falls like one over the root."
    p = Picture("The learning rate", desc, 300)
    p.arrow((60, 250), (670, 250))
    p.arrow((60, 250), (60, 30))
    peak = 120
    curve = [
        (60 + step, 250 - 190 * min(step / peak, (peak / max(step, 1)) ** 0.5))
        for step in range(0, 590, 5)
    ]
    path = " ".join(f"{x},{y:.1f}" for x, y in curve)
    p.lines.append(
        f'<polyline points="{path}" fill="none" stroke="{COLOURS["query"]}" '
        'stroke-width="4"/>'
    )
    p.label(210, 46, "warm-up ends", "start", size=18)
    p.label(620, 276, "updates", "end", size=18)
    p.label(76, 40, "rate", "start", size=18)
    p.save("learning-rate.svg")


def beam():
    """Two beginnings kept by a beam of two, a third dropped."""
    desc = "A tree: weil er, da er kept, weil sie dropped."
    p = Picture("A beam of two", desc, 300)
    p.box(30, 120, 150, 56, "... die Suppe,", "muted")
    tree = (
        (40, "weil", "0.76", (14, 80), ("er  0.76", "sie  0.00")),
        (200, "da", "0.24", (174, 240), ("er  0.24", "sie  0.00")),
    )
    for y, word, share, ends, words in tree:
        p.arrow((180, 148), (214, 148), (214, y + 24), (250, y + 24))
        p.box(250, y, 150, 50, f"{word}  {share}", "query")
        for end, text in zip(ends, words, strict=True):
            kept = text.startswith("er")
            p.arrow(
                (400, y + 24), (434, y + 24), (434, end + 22), (470, end + 22)
            )
            colour, tint = ("query", 0.16) if kept else ("muted", 0.04)
            p.box(470, end, 150, 46, text, colour, tint)
    p.save("beam.svg")


def score():
    """Which pairs of words of a translation its reference has, too."""
    desc = "Translation and reference; the pairs of words found are marked."
    p = Picture("A score", desc, 250)
    p.label(20, 40, "translation", "start", size=16, colour="muted")
    p.label(20, 140, "reference", "start", size=16, colour="muted")
    places = (44, 116, 196, 268, 352, 430, 498, 580, 656)
    written = [
        "Der",
        "Hund",
        "aß",
        "die",
        "Suppe",
        ",",
        "weil",
        "er",
        "hungrig",
    ]
    wanted = [
        "Der",
        "Hund",
        "fraß",
        "die",
        "Suppe",
        ",",
        "weil",
        "er",
        "hungrig",
    ]
    for y, words in ((76, written), (176, wanted)):
        for x, word in zip(places, words, strict=True):
            odd = word in ("aß", "fraß")
            p.label(x, y, word, size=20, colour="decoder" if odd else "text")
    for i in range(8):
        if 2 not in (i, i + 1):
            x, end = places[i], places[i + 1]
            p.lines.append(
                f'<path d="M{x},96 Q{(x + end) // 2},112 {end},96" fill="none"'
                f' stroke="{COLOURS["value"]}"/>'
            )
    p.label(350, 228, "6 of 8 pairs of words are found", size=18)
    p.save("score.svg")


def three_scores():
    """A reference and three translations, each one word away from it."""
    desc = (
        "A writes da for weil, B sie for er, and C puts nicht before hungrig."
    )
    p = Picture("Three translations of one sentence", desc, 330)
    plain = "Der Hund fraß die Suppe, {} {} hungrig war."
    rows = (
        ("reference", ("weil", "er"), "… because he was hungry", ()),
        ("A", ("*da", "er"), "… as he was hungry", "A"),
        ("B", ("weil", "*sie"), "… because she, the soup, was hungry", "B"),
        ("C", ("weil", "er *nicht"), "… because he was not hungry", "C"),
    )
    for i, (name, words, gloss, boxed) in enumerate(rows):
        y = 24 + 76 * i
        if boxed:
            p.box(24, y + 2, 44, 44, name, "query")
        else:
            p.label(24, y + 14, name, "start", size=16, colour="muted")
        odd = f'<tspan fill="{COLOURS["decoder"]}" font-weight="600">'
        text = escape(plain.format(*words))
        text = re.sub(r"\*(\w+)", rf"{odd}\1</tspan>", text)
        p.lines.append(
            f'<text x="130" y="{y + 20}" font-size="22" '
            f'fill="{COLOURS["text"]}">{text}</text>'
        )
        p.label(130, y + 42, gloss, "start", size=17, colour="muted")
    p.save("three-scores.svg")


def decoding_step():
    """What a decoder layer computes for one token, and what it keeps."""
    desc = "One query; past keys and values, a new pair, the source's."
    p = Picture("One step of a decoder layer", desc, 338)
    sides = (
        (20, "self-attention", ["BOS", "Der", "Hund"], "past", 2),
        (370, "cross-attention", ["The", "dog", "ate"], "source", 3),
    )
    for left, title, words, name, kept in sides:
        middle = left + 155
        p.label(middle, 28, "**" + title)
        p.box(middle - 62, 52, 124, 42, "query", "query")
        p.label(middle + 74, 73, "of Hund", "start")
        p.arrow((middle, 94), (middle, 128), colour="query")
        p.box(left, 128, 102 * kept + 6, 162, tint=0.07)
        p.label(left + 51 * kept + 3, 308, f"{name}: kept", colour="muted")
        if kept < len(words):
            p.label(left + 272, 308, "new", colour="muted")
        for i, word in enumerate(words):
            x = left + 9 + 102 * i + 14 * (i >= kept)
            p.label(x + 45, 150, word)
            p.box(x, 172, 90, 42, "key", "key")
            p.box(x, 230, 90, 42, "value", "value")
    p.save("decoding-step.svg")


def since_2017():
    """The model of 2017 beside those of today, as one diff."""
    desc = "Most lines stay; five parts and the encoder are exchanged."
    rows = (
        (" ", "a vector for each word", ""),
        ("−", "plus sinusoids, added once", ""),
        (" ", "N layers around a residual stream:", ""),
        ("−", "   LayerNorm, after the sum", ""),
        ("+", "   RMSNorm, before the sub-layer", "shorter"),
        (" ", "   attention: softmax of scores, mean of values", ""),
        ("+", "   queries and keys turned by position", "distance"),
        ("−", "   keys and values for each head", ""),
        ("+", "   keys and values for a group of heads", "less cache"),
        ("−", "   all scores at once", ""),
        ("+", "   one tile of scores at a time", "less memory"),
        (" ", "   feed-forward, for each word alone", ""),
        ("−", "   ReLU", ""),
        ("+", "   SwiGLU", "a gate"),
        (" ", "softmax over the vocabulary", ""),
        ("−", "an encoder, and a decoder that reads it", ""),
        ("+", "a decoder alone", "next chapter"),
    )
    p = Picture("2017 beside today", desc, 31 * len(rows) + 36)
    inks = {"−": "decoder", "+": "value", " ": "muted"}
    for i, (sign, text, why) in enumerate(rows):
        y = 18 + 31 * i
        if sign != " ":
            p.lines.append(
                f'<rect x="16" y="{y}" width="668" height="31" '
                f'fill="{COLOURS[inks[sign]]}" fill-opacity="0.14"/>'
            )
        p.label(34, y + 15, sign, size=20, colour=inks[sign])
        left = 56 + 26 * text.startswith(" ")
        ink = "muted" if sign == " " else "text"
        p.label(left, y + 15, text.strip(), "start", size=19, colour=ink)
        p.label(672, y + 15, why, "end", size=18, colour="muted")
    p.save("since-2017.svg")


def next_word():
    """What a small language model expects after a beginning."""
    desc = "Because 25, that 19, comma 13, with 8, full stop 8, and fewer."
    shares = (25, 19, 13, 8, 8, 7, 3, 3, 2, 2, 1, 1, 8)
    said = "because|that|comma|with|full stop|although|in|while|when"
    said += "|on|to|and|588 others"
    p = Picture("The next word", desc, 31 * len(shares) + 84)
    p.label(40, 34, "**The dog ate the soup …", "start", size=20)
    for i, (word, share) in enumerate(
        zip(said.split("|"), shares, strict=True)
    ):
        y, colour = 64 + 31 * i, "query" if word[0] != "5" else "muted"
        p.label(186, y + 13, word, "end", size=19)
        p.box(200, y, 16 * share, 26, "", colour, 0.4)
        p.label(212 + 16 * share, y + 13, f"{share} %", "start", size=18)
    p.save("next-word.svg")


def attention():
    """One head, step by step, and many heads around it."""
    desc = "Query meets key, softmax, times value; the same in many heads."
    p = Picture("One head of attention, and many", desc, 576)
    p.label(170, 28, "**scaled_dot_product_attention")
    for x, text in (68, "query"), (170, "key"), (272, "value"):
        p.box(x - 45, 510, 90, 42, text, text)
        p.arrow((x, 510), (x, 146 if text == "value" else 482), colour=text)
    notes = "scores", "[queries, keys]", "", "weights"
    for i, step in enumerate(("Q K^T", "÷ √d_k", "mask", "softmax")):
        y = 440 - 84 * i
        p.box(23, y, 192, 42, step)
        p.arrow((119, y), (119, y - 42))
        p.label(130, y - 20, notes[i], "start")
    p.box(23, 104, 294, 42, "weights × V", "value")
    p.label(528, 28, "**MultiHeadAttention")
    p.box(380, 510, 90, 42, "x")
    p.box(513, 510, 133, 42, "memory", "memory")
    for x, text in (425, "query"), (528, "key"), (631, "value"):
        p.arrow((x, 510), (x, 450), colour=text)
        p.box(x - 45, 408, 86, 42, f"W^{text[0].upper()}", text, copies=3)
        p.arrow((x, 396), (x, 340), colour=text)
    p.box(380, 272, 292, 68, "attention\nin each head", "query", copies=3)
    p.arrow((528, 260), (528, 226))
    p.box(428, 184, 200, 42, "concatenate")
    p.arrow((528, 184), (528, 146))
    p.box(428, 104, 200, 42, "W^O", "decoder")
    for x, shape in (170, "[queries, d_v]"), (528, "[queries, d_model]"):
        p.arrow((x, 104), (x, 76))
        p.label(x, 62, shape)
    p.save("attention.svg")


def overview():
    """What the book builds, and what checks it."""
    desc = "Chapters build the package, it trains a translator; tests check."
    p = Picture("The book builds the package", desc, 500)
    for x, y, colour, text in (
        (24, 24, "encoder", "the book's pages\nmake book"),
        (24, 202, "query", "chapters\nbook/NN_name.ipynb"),
        (24, 380, "value", "tests\nmake test"),
        (426, 24, "key", "command line\ntrain, translate, evaluate"),
        (426, 202, "decoder", "package\nannotated_transformer"),
        (426, 380, "memory", "translator\ntext in, text out"),
    ):
        p.box(x, y, 250, 96, text, colour)
    for x, y, text, *way in (
        (160, 161, "become", (149, 202), (149, 120)),
        (160, 339, "re-run", (149, 380), (149, 298)),
        (284, 214, "exported cells", (274, 236), (426, 236)),
        (361, 339, "check", (274, 428), (350, 428), (350, 270), (426, 270)),
        (562, 161, "is run from", (551, 202), (551, 120)),
        (562, 339, "trains", (551, 298), (551, 380)),
    ):
        p.arrow(*way)
        p.label(x, y, text, "start", 20)
    p.save("from-chapters-to-translator.svg")


def data():
    """One sentence pair on its way into a batch of two."""
    desc = "Text is cut into subwords, numbered, and padded into matrices."
    p = Picture("From text to a batch", desc, 736)

    def row(y, cells, colour):
        for i, cell in enumerate(cells):
            x, ink = 124 + 71 * i, "mask" if cell == 0 else colour
            p.box(x, y, 71, 34, "", ink)
            p.label(x + 35, y + 16, str(cell))

    def step(y, text):
        p.arrow((159, y), (159, y + 42))
        p.label(180, y + 19, text, "start", 20, "muted")

    source = 36, 999, 88, 417, 1222, 275, 1236, 2
    target = 77, 1220, 89, 12, 499, 1236, 2
    for y, name in (45, "text"), (168, "subwords"), (310, "ids"):
        p.label(20, y, name, "start", 20)
    p.label(403, 30, "The soup was sweet.", size=22)
    p.label(403, 60, "Die Suppe war süß.", size=22)
    step(80, "a vocabulary that was learned")
    row(130, ["▁The", "▁soup", "▁was", "▁sw", "e", "et", "."], "encoder")
    row(168, ["▁Die", "▁Suppe", "▁war", "▁s", "üß", "."], "decoder")
    step(214, "numbered, and closed by EOS, 2")
    row(264, source, "encoder")
    row(302, target, "decoder")
    step(348, "padded beside a shorter pair")
    dog = 36, 483, 961, 1236, 2, 0, 0, 0
    other = 95, 480, 971, 1236, 2
    shorter = (1, *other[:-1], 0, 0)
    for y, name, colour, rows in (
        (404, "source", "encoder", (source, dog)),
        (500, "inputs", "decoder", ((1, *target[:-1]), shorter)),
        (596, "labels", "decoder", (target, (*other, 0, 0))),
    ):
        p.label(20, y + 34, name, "start", 20)
        for i, cells in enumerate(rows):
            row(y + 36 * i, cells, colour)
    text = "BOS, 1, begins the inputs; PAD, 0, fills the rows"
    p.label(403, 698, text, size=20, colour="muted")
    p.save("from-text-to-batch.svg")


if __name__ == "__main__":
    which_noun()
    two_looks()
    word_and_position()
    who_reads_whom()
    three_translators()
    one_layer()
    residual_stream()
    weil_or_da()
    one_update()
    teacher_forcing()
    learning_rate()
    beam()
    score()
    three_scores()
    model()
    since_2017()
    next_word()
    attention()
    decoding_step()
    overview()
    data()
