"""Live figures in a real browser: formulas, keyboard, words, paper."""

import random
from functools import partial
from pathlib import Path

import pytest
import torch
import widgets
from browser import opened
from small_book import build_pages

from annotated_transformer.decoding import (
    Beam,
    beam_decode,
    length_penalty,
)
from annotated_transformer.embedding import EOS, sinusoids
from annotated_transformer.model import greedy_decode
from annotated_transformer.optimizer import inverse_sqrt_rate, linear_rate
from annotated_transformer.translation import Translator
from annotated_transformer.writing import next_token_probs
from ledger.records import read_run

BOOK = Path(__file__).parents[2] / "book"
PAGE = "# A page\n\n" + "\n".join(
    f":::{{widget}} {name}\nWithout scripts: {name}.\n:::\n"
    for name in widgets.DATA
)
TITLES = {
    "lookup": "What does it look for?",
    "pronoun": "What is it?",
    "softmax": "How far the softmax saturates",
    "positions": "Positions as the hands of clocks",
    "schedule": "What the schedule depends on",
    "beam": "A beam search, step by step",
    "sampling": "Which words may come?",
    "learning": "Watch it learn",
    "train": "Train it yourself",
}


def build(folder, text):
    """A page with figures, built as the book is; and the warnings."""
    (folder / "source").mkdir()
    (folder / "source" / "index.md").write_text(text)
    out, warnings = build_pages(
        folder / "source",
        *("myst_parser", "widgets"),
        myst_enable_extensions=["colon_fence"],
        html_theme="basic",
        html_static_path=[str(BOOK / "_static")],
    )
    return out / "index.html", warnings


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    file, warnings = build(tmp_path_factory.mktemp("figures"), PAGE)
    assert not warnings
    return file


@pytest.fixture(scope="module")
def window(browser):
    """One window for all tests, 1280 by 720."""
    with opened(browser) as window:
        yield window


@pytest.fixture
def page(window, page_file):
    """The page with all figures, anew."""
    return window.open(page_file)


def figure(page, name):
    """The live part of one figure."""
    return page.get_by_role("group", name=TITLES[name])


def words(page, name):
    said = figure(page, name).get_by_role("status").inner_text()
    return said.replace("\u00a0", " ")


def read(number):
    """A number as the figures write it."""
    return float(number.strip(",.;°").replace("−", "-").replace(",", ""))


# The formulas, against the package.

double = partial(torch.tensor, dtype=torch.double)


def drawn_scores(draw, number=16):
    return [draw.gauss(0, 10 ** draw.uniform(0, 3)) for _ in range(number)]


def drawn_weights(draw):
    return double(drawn_scores(draw)).softmax(-1).tolist()


def drawn_matrix(draw):
    return [drawn_scores(draw, 3) for _ in range(16)]


def trace_by_autograd(weights):
    logits = weights.log().clamp(-1e4)
    jacobian = torch.autograd.functional.jacobian
    return jacobian(lambda s: s.softmax(-1), logits).trace()


def wave(position, i, d_model):
    return sinusoids(position + 1, d_model)[position].view(-1, 2)[i]


def rotation(shift, i, d_model):
    sine, cosine = wave(shift, i, d_model).tolist()
    return [[cosine, sine], [-sine, cosine]]


def a_place(draw):
    return draw.randrange(150), draw.randrange(32), 64


# What each is given, and what gives the same from tensors and numbers.
FORMULAS = {
    "softmax": (lambda x: [drawn_scores(x)], lambda s: s.softmax(-1)),
    "trace": (lambda x: [drawn_weights(x)], trace_by_autograd),
    "sinusoid": (a_place, wave),
    "rotation": (a_place, rotation),
    "inverseSqrtRate": (
        lambda x: [x.randint(1, 30_000), x.choice([64, 512]), 4000],
        inverse_sqrt_rate,
    ),
    "linearRate": (
        lambda x: [x.randint(1, 30_000), x.uniform(1e-4, 1e-2), 9000, 20_000],
        linear_rate,
    ),
    "nextTokenProbs": (
        lambda x: [
            sorted(drawn_scores(x), reverse=True),
            x.choice([0.2, 1.0, 3.0]),
            x.choice([0, 1, 7]),
            x.choice([0.1, 0.5, 0.9, 1.0]),
        ],
        next_token_probs,
    ),
    "scores": (
        lambda x: [drawn_scores(x, 3), drawn_matrix(x)],
        lambda query, keys: keys @ query,
    ),
    "mean": (
        lambda x: [drawn_weights(x), drawn_matrix(x)],
        lambda weights, values: weights @ values,
    ),
}


def test_formulas_are_those_of_the_package(page):
    script = "([f, all]) => all.map((given) => widgets.formulas[f](...given))"
    for name, (drawn, function) in FORMULAS.items():
        given = [drawn(random.Random(seed)) for seed in range(25)]
        found = page.evaluate(script, [name, given])
        for result, row in zip(found, given, strict=True):
            tensors = (double(x) if isinstance(x, list) else x for x in row)
            expected = torch.as_tensor(function(*tensors))
            result = torch.tensor(result, dtype=expected.dtype)
            torch.testing.assert_close(
                result, expected, rtol=1e-5, atol=1e-7, msg=name
            )


# What the figures show, against the package.


def test_lookup_figure_says_what_it_finds(page):
    assert "dog has the largest weight, 87%" in words(page, "lookup")
    slider = figure(page, "lookup").get_by_role("slider", name="animal")
    slider.press("Home")  # an animal is the last thing that is wanted
    slider = figure(page, "lookup").get_by_role("slider", name="food")
    slider.press("End")
    assert "soup has the largest weight, 100%" in words(page, "lookup")
    assert words(page, "lookup").endswith("answer is that of sie.")
    slider.press("Home")
    slider = figure(page, "lookup").get_by_role("slider", name="quality")
    slider.press("End")  # no noun is hungry
    assert "The answer is nothing but zeros" in words(page, "lookup")


def test_positions_figure_has_no_negative_zeros(page):
    slider = figure(page, "positions").get_by_role("slider", name="shift")
    slider.press("Home")  # a rotation by nothing
    said = words(page, "positions")
    assert "(1, 0) and (0, 1)" in said and "−0.00" not in said


def test_pronoun_figure_follows_the_model(page):
    shown = figure(page, "pronoun")
    cases = widgets.pronoun()["cases"]
    translator = Translator.load(widgets.PRONOUN_MODEL)
    for animal, food, quality, meant in [
        ("dog", "soup", "hungry", "dog"),
        ("dog", "soup", "sweet", "soup"),
        ("dog", "bread", "sweet", "bread"),
        ("cat", "bread", "hungry", "cat"),
        ("cat", "soup", "sweet", "cat or the soup"),  # both are feminine
    ]:
        for name, value in [
            ("animal", animal),
            ("food", food),
            ("quality", quality),
        ]:
            shown.get_by_role("combobox", name=name).select_option(value)
        source = f"The {animal} ate the {food} because it was {quality}."
        said = words(page, "pronoun")
        assert translator(source, beam=1) in said
        assert f"so “it” is the {meant}." in said
        assert shown.locator(".arc").count() == len(meant.split(" or "))
        chances = cases[f"{animal} {food} {quality}"]["chances"]
        assert sum(chances) == pytest.approx(1, abs=0.01)


@pytest.fixture(scope="module")
def translator():
    return Translator.load(widgets.MODEL)


def outputs(tree):
    """The nodes at which the hypotheses of a tree have ended."""
    return [
        node
        for node in tree["nodes"]
        if node["place"] is not None
        and (node.get("end") or node["step"] == tree["limit"])
    ]


def test_beam_figure_is_the_search_of_the_package(translator):
    data = widgets.beam()
    source = torch.tensor([translator.tokenizer.encode(data["caption"])])
    for tree in data["trees"]:
        width = tree["width"]
        (found,) = beam_decode(translator.model, source, width, 0.0, width)
        ends = [node["total"] for node in outputs(tree)]
        expected = [h.log_probability for h in found]
        assert sorted(ends, reverse=True) == pytest.approx(expected, abs=1e-3)
    one, *_, wide = data["trees"]
    greedy = greedy_decode(translator.model, source)[0].tolist()
    assert one["nodes"][-1]["step"] == greedy.index(EOS) + 1
    assert len(outputs(wide)) == 4


def may_stop(tree, step, alpha):
    """What the package's beam says after a step of the tree."""
    beam = Beam(tree["width"], alpha, tree["limit"])
    for node in outputs(tree):
        if node["step"] <= step:
            beam.end([EOS] * node["step"], node["total"])
    kept = [n for n in tree["nodes"] if n["place"] is not None]
    live = [n for n in kept if n["step"] == step and not n.get("end")]
    return beam.done(max(node["total"] for node in live), number=1)


def test_beam_figure_ranks_and_stops_like_the_package(page, translator):
    shown = figure(page, "beam")
    data = widgets.beam()
    tree = data["trees"][-1]
    first = min(node["step"] for node in outputs(tree))
    last = tree["nodes"][-1]["step"]
    source = torch.tensor([translator.tokenizer.encode(data["caption"])])
    shown.get_by_role("slider", name="penalty").press("Home")
    for tenths in range(0, 21, 10):
        alpha = tenths / 10
        shown.get_by_role("slider", name="step").press("End")
        (found,) = beam_decode(translator.model, source, 4, alpha, 4)
        rows = shown.get_by_role("row").all()[1:]
        cells = [row.get_by_role("cell").all_inner_texts() for row in rows]
        scores = [read(row[3]) for row in cells]
        assert scores == pytest.approx([h.score for h in found], abs=0.006)
        assert cells[0][0] == translator.tokenizer.decode(found[0].tokens)
        for step in range(last - 1, first - 1, -1):
            shown.get_by_role("button", name="back").click()
            stops = "a search may stop" in words(page, "beam")
            assert stops == may_stop(tree, step, alpha)
        for _ in range(10):
            shown.get_by_role("slider", name="penalty").press("ArrowRight")


def test_caption_of_the_beam_figure_teaches_something():
    """A beam of 4 beats greedy search, and the penalty picks the winner.

    By so much that no machine's rounding can change it.
    """
    greedy, _, wide = map(outputs, widgets.beam()["trees"])

    def ranked(alpha):
        scores = [n["total"] / length_penalty(n["step"], alpha) for n in wide]
        order = sorted(range(len(wide)), key=lambda i: -scores[i])
        assert scores[order[0]] - scores[order[1]] > 0.05
        return order[0]

    likeliest, fair = ranked(0.0), ranked(1.0)
    assert wide[likeliest]["total"] > greedy[0]["total"] + 0.1
    assert fair != likeliest


def test_sampling_figure_cuts_and_draws(page):
    data = widgets.sampling()
    logits = torch.tensor(data["logits"])
    shown = figure(page, "sampling")
    shown.get_by_role("slider", name="temperature").press("End")
    kept = next_token_probs(logits, 5.0)
    assert f"{len(kept)} of {len(kept)} words" in words(page, "sampling")
    tail = kept[10:].sum().item()
    said = f"ten likeliest have {100 * tail:.0f}% together"
    assert said in words(page, "sampling")
    shown.get_by_role("slider", name="top-k").press("Home")
    assert "1 of 600 words may come" in words(page, "sampling")
    for _ in range(3):
        shown.get_by_role("button", name="draw").click()
    assert shown.get_by_text("full stop", exact=True).is_visible()
    only = " · ".join(3 * data["words"][:1])
    assert shown.get_by_text(f"Drawn: {only}").is_visible()


def test_learning_figure_shows_the_record(page):
    results = read_run("pronouns_while_learning")["results"]
    found = results["trained seed=0"]
    data, shown = widgets.learning(), figure(page, "learning")
    slider = shown.get_by_role("slider", name="update")
    for i, sentence in enumerate(data["sentences"]):
        shown.get_by_label(sentence["name"]).check()
        slider.press("Home")
        for at, update in enumerate(data["looks"]):
            assert slider.get_attribute("aria-valuetext") == f"{update:,}"
            said = words(page, "learning")
            chances = found["chances"][at][i]
            likely = widgets.PRONOUNS[chances.index(max(chances))]
            assert f"After {update:,} updates the loss is " in said
            assert f"the likeliest pronoun is {likely} (" in said
            expected = sum(chances) >= 0.5
            assert expected != ("none is expected there yet" in said)
            assert expected or "which is right" not in said
            weights = found["maps in percent"][at][i][sentence["at"]]
            seen = [*sentence["source"], "the end"][
                weights.index(max(weights))
            ]
            assert said.endswith(f"looks most at {seen} ({max(weights)}%).")
            slider.press("ArrowRight")
        # and in the end it is right, by a word that decides
        assert likely == sentence["pronoun"] and max(chances) > 0.9
        for other in shown.get_by_role("listitem").all():
            assert "✓" in other.evaluate(
                "e => getComputedStyle(e.lastChild, '::after').content"
            )


# Keyboard, words, paper.


def test_every_control_is_reached_and_moved_by_keys(page):
    reached, changed = [], []
    while True:
        page.keyboard.press("Tab")
        focus = page.evaluate_handle("document.activeElement")
        if not focus.evaluate("e => e.matches('.widget *')"):
            if reached:
                break
            continue
        role = focus.evaluate("e => e.type || e.className")
        live = "e => e.closest('.widget').innerText"
        before = focus.evaluate(live)
        chosen = focus.evaluate("e => e.selectedIndex")  # of a menu alone
        menu = "ArrowUp" if chosen else "ArrowDown"
        keys = {"button": "Enter", "select-one": menu}
        last = focus.evaluate("e => e.value === e.max")
        key = keys.get(role, "ArrowLeft" if last else "ArrowRight")
        page.keyboard.press(key)
        reached.append(role)
        changed.append(focus.evaluate(live) != before)
    sliders = ["range"]
    assert [role for role in reached if role != "widget-stage"] == [
        *3 * sliders,  # lookup
        *3 * ["select-one"],  # pronoun
        *["radio", *2 * sliders],  # softmax
        *6 * sliders,  # positions, schedule
        *["radio", *2 * sliders, *3 * ["button"]],  # beam
        *[*3 * sliders, "button"],  # sampling
        *["range", "radio"],  # learning
        *[*2 * ["radio"], *2 * sliders, *2 * ["button"]],  # train
    ]
    told = zip(reached, changed, strict=True)
    still = [x for x in told if x[0] != "widget-stage" and not x[1]]
    assert still == []


def test_animation_plays_to_the_end_and_stops(browser, page_file):
    with opened(browser) as window:
        window.page.clock.install()
        shown = figure(window.open(page_file), "beam")
        shown.get_by_role("button", name="play").click()
        window.page.clock.run_for(60_000)
        last = widgets.beam()["trees"][-1]["nodes"][-1]["step"]
        slider = shown.get_by_role("slider", name="step")
        assert slider.get_attribute("aria-valuetext") == f"{last} of {last}"
        assert shown.get_by_role("button", name="play").is_visible()


def test_drawings_are_told_in_words_and_left_out_on_paper(page):
    for name in widgets.DATA:
        shown = figure(page, name)
        status = shown.get_by_role("status")
        assert status.get_attribute("aria-live") == "polite"
        assert status.text_content()
        described_by = shown.get_by_role("img").get_attribute(
            "aria-describedby"
        )
        assert status.get_attribute("id") == described_by
        for slider in shown.get_by_role("slider").all():
            output = slider.evaluate("e => e.previousSibling.textContent")
            assert slider.get_attribute("aria-valuetext") == output
        assert not page.get_by_text(f"Without scripts: {name}.").is_visible()
    page.emulate_media(media="print")
    for name in widgets.DATA:
        assert page.get_by_text(f"Without scripts: {name}.").is_visible()
        assert figure(page, name).count() == 0
    page.emulate_media(media="screen")


def test_page_without_scripts_shows_the_texts(browser, page_file):
    with opened(browser, java_script_enabled=False) as window:
        window.page.goto(page_file.as_uri())
        for name in widgets.DATA:
            assert window.page.get_by_text(f"scripts: {name}.").is_visible()
        assert window.page.get_by_role("slider").count() == 0


def test_a_still_gives_way_to_its_figure_but_not_on_paper(browser, book):
    chapter = book / "book" / "09_training.html"
    with opened(browser) as window:
        page = window.open(chapter)
        (cell,) = page.locator(".widget.is-live + .cell.tag_still").all()
        drawing, caption = cell.locator("img"), cell.locator("figcaption")
        assert caption.is_visible() and not drawing.is_visible()
        page.emulate_media(media="print")
        assert caption.is_visible() and drawing.is_visible()
        assert not page.locator(".widget-live").first.is_visible()
    with opened(browser, java_script_enabled=False) as window:
        window.page.goto(chapter.as_uri())
        assert window.page.locator(".cell.tag_still img").is_visible()


def test_wrong_figure_is_a_warning(tmp_path):
    text = "```{widget} abacus\nStill.\n```\n\n```{widget} softmax\n```\n"
    _, warnings = build(tmp_path, f"# A page\n\n{text}")
    assert "no widget 'abacus'" in warnings
    assert "ontent" in warnings  # the second has none
