"""Live figures in a real browser: formulas, keyboard, words, paper."""

import random
from pathlib import Path

import pytest
import torch
import widgets
from browser import opened
from small_book import build_pages

from annotated_transformer.attention import (
    attention_weights,
    scaled_dot_product_attention,
)
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
    """The page with all figures, anew; nothing on it goes wrong."""
    yield window.open(page_file)
    assert window.complaints == []
    assert window.escaped == []


def figure(page, name):
    """The live part of one figure."""
    return page.get_by_role("group", name=TITLES[name])


def words(page, name):
    said = figure(page, name).get_by_role("status").inner_text()
    return said.replace("\u00a0", " ")


def call(page, formula, *arguments):
    """What a formula of the pages gives for each list of arguments."""
    script = "([f, all]) => all.map((given) => widgets.formulas[f](...given))"
    rows = [list(row) for row in zip(*arguments, strict=True)]
    return torch.tensor(page.evaluate(script, [formula, rows]))


def read(number):
    """A number as the figures write it."""
    return float(number.strip(",.;°").replace("−", "-").replace(",", ""))


# The formulas, against the package.


def test_softmax_and_its_trace(page):
    scores = torch.randn(50, 16).double() * torch.logspace(0, 3, 50)[:, None]
    weights = call(page, "softmax", scores.tolist())
    expected = scores.softmax(-1)
    torch.testing.assert_close(weights.double(), expected, atol=1e-6, rtol=0)
    traces = call(page, "trace", expected.tolist())
    for row, trace in [*zip(scores, traces, strict=True)][::10]:
        jacobian = torch.autograd.functional.jacobian(
            lambda s: s.softmax(-1), row
        )
        assert trace == pytest.approx(jacobian.trace().item(), abs=1e-6)


def test_sinusoids_and_the_rotation_that_shifts_them(page):
    d_model = 64
    table = sinusoids(200, d_model).unflatten(1, (-1, 2))
    drawn = [
        (random.Random(n).randrange(150), n % (d_model // 2), n % 50)
        for n in range(100)
    ]
    positions, pairs, shifts = map(list, zip(*drawn, strict=True))
    widths = [d_model] * len(drawn)
    here = call(page, "sinusoid", positions, pairs, widths)
    expected = torch.stack([table[p, i] for p, i, _ in drawn])
    torch.testing.assert_close(here, expected, atol=1e-6, rtol=0)
    turn = call(page, "rotation", shifts, pairs, widths)
    there = (turn @ here[..., None])[..., 0]
    expected = torch.stack([table[p + k, i] for p, i, k in drawn])
    torch.testing.assert_close(there, expected, atol=1e-5, rtol=0)


def test_rates(page):
    draw = random.Random(0)
    drawn = [
        (
            draw.randint(1, 30_000),
            draw.choice([64, 128, 512]),
            draw.randint(1, 9000),
            draw.randint(9001, 20_000),
            draw.uniform(1e-4, 1e-2),
        )
        for _ in range(200)
    ]
    steps, widths, warmups, ends, peaks = zip(*drawn, strict=True)
    root = call(page, "inverseSqrtRate", steps, widths, warmups)
    line = call(page, "linearRate", steps, peaks, warmups, ends)
    for i, (step, width, warmup, end, peak) in enumerate(drawn):
        rate = inverse_sqrt_rate(step, width, warmup)
        assert root[i].item() == pytest.approx(rate)
        rate = linear_rate(step, peak, warmup, end)
        assert line[i].item() == pytest.approx(rate, abs=1e-9)


def test_next_token_probs_under_each_option(page):
    logits = torch.randn(60, 30).double().sort(descending=True).values
    draw = random.Random(0)
    options = [
        (draw.choice([0.2, 1.0, 3.0]), draw.choice([0, 1, 7]), p)
        for p in [0.1, 0.5, 0.9, 1.0] * 15
    ]
    found = call(
        page, "nextTokenProbs", logits.tolist(), *zip(*options, strict=True)
    )
    for row, p, (temperature, k, nucleus) in zip(
        logits, found, options, strict=True
    ):
        expected = next_token_probs(row, temperature, k, nucleus)
        torch.testing.assert_close(p.double(), expected, atol=1e-6, rtol=0)


# What the figures show, against the package.


def test_lookup_figure_attends_as_the_package_does(page):
    data = widgets.lookup()
    keys, values = (
        torch.tensor(data[name]).double() for name in ("keys", "values")
    )
    queries = torch.randn(20, 3).double()
    each = [queries.tolist(), 20 * [keys.tolist()]]
    scores = call(page, "scores", *each).double()
    torch.testing.assert_close(scores, queries @ keys.T, atol=1e-5, rtol=0)
    scale = keys.size(1) ** 0.5  # which the figure leaves out
    weights = attention_weights(queries * scale, keys)
    means = call(page, "mean", weights.tolist(), 20 * [values.tolist()])
    expected = scaled_dot_product_attention(queries * scale, keys, values)
    torch.testing.assert_close(means.double(), expected, atol=1e-5, rtol=0)
    assert "dog has the largest weight, 87 %" in words(page, "lookup")
    slider = figure(page, "lookup").get_by_role("slider", name="animal")
    slider.press("Home")  # an animal is the last thing that is wanted
    slider = figure(page, "lookup").get_by_role("slider", name="food")
    slider.press("End")
    assert "soup has the largest weight, 100 %" in words(page, "lookup")


def test_pronoun_figure_follows_the_model(page):
    shown = figure(page, "pronoun")
    cases = widgets.pronoun()["cases"]
    translator = Translator.load(widgets.PRONOUN_MODEL)
    for animal, food, quality in [
        ("dog", "soup", "hungry"),
        ("dog", "soup", "sweet"),
        ("dog", "bread", "sweet"),
        ("cat", "bread", "hungry"),
    ]:
        for name, value in [
            ("animal", animal),
            ("food", food),
            ("quality", quality),
        ]:
            shown.get_by_role("combobox", name=name).select_option(value)
        source = f"The {animal} ate the {food} because it was {quality}."
        assert translator(source, beam=1) in words(page, "pronoun")
        chances = cases[f"{animal} {food} {quality}"]["chances"]
        assert sum(chances) == pytest.approx(1, abs=0.01)


@pytest.fixture(scope="module")
def translator():
    return Translator.load(widgets.MODEL)


def test_beam_figure_is_the_search_of_the_package(translator):
    data = widgets.beam()
    source = torch.tensor([translator.tokenizer.encode(data["caption"])])
    for tree in data["trees"]:
        width = tree["width"]
        (found,) = beam_decode(translator.model, source, width, 0.0, width)
        ends = [node["total"] for node in widgets.outputs(tree)]
        expected = [h.log_probability for h in found]
        assert sorted(ends, reverse=True) == pytest.approx(expected, abs=1e-3)
    one, *_, wide = data["trees"]
    greedy = greedy_decode(translator.model, source)[0].tolist()
    assert one["nodes"][-1]["step"] == greedy.index(EOS) + 1
    assert len(widgets.outputs(wide)) == 4


def may_stop(tree, step, alpha):
    """What the package's beam says after a step of the tree."""
    beam = Beam(tree["width"], alpha, tree["limit"])
    for node in widgets.outputs(tree):
        if node["step"] <= step:
            beam.end([EOS] * node["step"], node["total"])
    kept = [n for n in tree["nodes"] if n["place"] is not None]
    live = [n for n in kept if n["step"] == step and not n.get("end")]
    return beam.done(max(node["total"] for node in live), number=1)


def test_beam_figure_ranks_and_stops_like_the_package(page, translator):
    shown = figure(page, "beam")
    data = widgets.beam()
    tree = data["trees"][-1]
    first = min(node["step"] for node in widgets.outputs(tree))
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
    greedy, _, wide = (
        widgets.outputs(tree) for tree in widgets.beam()["trees"]
    )

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
    said = f"ten likeliest have {100 * tail:.0f} % together"
    assert said in words(page, "sampling")
    shown.get_by_role("slider", name="top-k").press("End")
    assert "1 of 600 words may come" in words(page, "sampling")
    for _ in range(3):
        shown.get_by_role("button", name="draw").click()
    only = " · ".join(3 * data["words"][:1])
    assert shown.get_by_text(f"Drawn: {only}").is_visible()


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
        key = keys.get(role, "ArrowRight")
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


def test_wrong_figure_is_a_warning(tmp_path):
    text = "```{widget} abacus\nStill.\n```\n\n```{widget} softmax\n```\n"
    _, warnings = build(tmp_path, f"# A page\n\n{text}")
    assert "no widget 'abacus'" in warnings
    assert "ontent" in warnings  # the second has none
