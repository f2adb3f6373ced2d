"""The Transformer that can be opened: its numbers, its changes, its keys.

Every activation is compared with PyTorch's own, caught by hooks, and every
change with the same change made by a hook.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import opened_in_page as extension
import pages
import pytest
import torch
from browser import Window, opened
from models_in_page import rounded
from playwright.sync_api import Browser, Page
from torch import Tensor, nn
from torch.nn import functional as F
from unchecked import unchecked

from annotated_transformer import model as transformer
from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import BOS, sinusoids
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import AddNorm, FeedForward
from annotated_transformer.model import Transformer, greedy_decode
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.translation import Translator, attention_maps

HUNGRY, SWEET, *OTHERS = extension.EXAMPLES.values()
FRESH = extension.DONOR
SENTENCES = [HUNGRY, SWEET, *OTHERS]
NAMES = [
    f"{side}.layers.{layer}.{part}"
    for side, part in (
        ("encoder", "self_attention"),
        ("decoder", "self_attention"),
        ("decoder", "cross_attention"),
    )
    for layer in (0, 1)
]
HEADS = [(name, head) for name in NAMES for head in range(4)]
RUN = """([text, changes, moment]) => {
  const machine = inPage.models.opened.machine;
  const made = changes.map(
    ([kind, ...given]) => inPage.opened.changes[kind](...given));
  const run = machine.run(text, made);
  const at = moment < 0 ? run.tokens.length - 2 : moment;
  const { seen } = machine.look(run, at);
  delete seen["decoder.mask"];
  const plain = (x) => Array.isArray(x) ? x.map(plain)
    : x.length === undefined ? x : [...x];
  for (const name of Object.keys(seen)) seen[name] = plain(seen[name]);
  return { tokens: run.tokens, ids: run.ids, written: run.written, seen };
}"""


def come_near(window: Window, book: Path, name: str = "05_model") -> Page:
    """Open a chapter, scroll to its figure, and wait until it is at work."""
    page = window.open(book / "book" / f"{name}.html")
    page.locator(".at-opened").scroll_into_view_if_needed()
    page.locator(".op-box").first.wait_for(timeout=60_000)
    return page


@pytest.fixture(scope="module")
def computing(book, browser: Browser) -> Iterator[Page]:
    """The page for tests that only compute."""
    with opened(browser) as window:
        yield come_near(window, book)


@pytest.fixture(scope="module")
def reference() -> tuple[Transformer, Tokenizer]:
    """The package's model with the weights that the page has."""
    model, tokenizer, _ = load_model("pronouns")
    return rounded(model).requires_grad_(False), tokenizer


def traced(model: Transformer, source: Tensor, target: Tensor) -> dict:
    """Every activation by the name that the page gives it, caught by hooks."""
    seen: dict[str, Tensor] = {}
    hooks = []

    def out(name: str, module: nn.Module) -> None:
        def keep(_, __, y):
            seen[name] = y[0]

        hooks.append(module.register_forward_hook(keep))

    def into(name: str, module: nn.Module) -> None:
        def keep(_, given):
            seen[name] = given[0][0]

        hooks.append(module.register_forward_pre_hook(keep))

    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            out(name, module.output)
            into(f"{name}.heads", module.output)
            out(f"{name}.query", module.query)
            out(f"{name}.both", module.key_value)
        elif isinstance(module, FeedForward):
            out(name, module)
            into(f"{name}.hidden", module.outer)
        elif name.endswith(("norm", "_attention", "_feed_forward")):
            out(name, module)
        elif name.endswith("around_cross"):
            into(name.replace("cross", "self"), module.norm)  # its sum
            out(name, module)
    for side in ("source", "target"):
        out(side, getattr(model, side))
    logits = model(source, target)
    for hook in hooks:
        hook.remove()
    maps = attention_maps(model, source, target)
    for name in NAMES:
        keys, values = seen.pop(f"{name}.both").chunk(2, -1)
        seen |= {f"{name}.keys": keys, f"{name}.values": values}
        stack = "cross" if "cross" in name else name.split(".")[0]
        heads = vars(maps)[stack][int(name.split(".")[2])][0]
        seen[f"{name}.weights"] = heads.transpose(0, 1)
    for side, ids in (("source", source), ("target", target)):
        seen[f"{side}.tokens"] = model.output.weight[ids[0]] * 8
        seen[f"{side}.positions.table"] = sinusoids(ids.size(1), 64).double()
    return seen | {"logits": logits[0]}


def whole(rows: list) -> Tensor:
    """Rows as a tensor; those of a causal map end in zeros."""
    if isinstance(rows[0][0], list):
        return torch.stack(
            [whole(list(row)) for row in zip(*rows, strict=True)], 1
        )
    most = max(map(len, rows))
    return torch.tensor(
        [row + [0.0] * (most - len(row)) for row in rows], dtype=torch.double
    )


@pytest.mark.parametrize("text", SENTENCES)
def test_every_activation_is_pytorch_s(computing, reference, text):
    model, _ = reference
    found = computing.evaluate(RUN, [text, [], -1])
    source = torch.tensor([found["ids"]])
    target = torch.tensor([found["tokens"][:-1]])
    expected = traced(model, source, target)
    seen = found["seen"]
    for name in NAMES:  # a softmax of the scores is the weights
        scores = seen.pop(f"{name}.scores")
        for row, weights in zip(scores, seen[f"{name}.weights"], strict=True):
            for s, w in zip(row, weights, strict=True):
                assert torch.tensor(s).softmax(0).tolist() == pytest.approx(
                    w, abs=1e-6
                )
    assert seen.keys() == expected.keys()
    for name, rows in seen.items():
        # the table of sinusoids is float32 in the package
        torch.testing.assert_close(
            whole(rows), expected[name].double(), rtol=0, atol=1e-6, msg=name
        )


Change = Callable[[Transformer], object]


@contextmanager
def before(module: nn.Module, edit: Callable[[Tensor], None]) -> Iterator:
    """Edit what a module is given."""

    def hook(_, given):
        x = given[0].clone()
        edit(x)
        return (x,)

    handle = module.register_forward_pre_hook(hook)
    yield
    handle.remove()


def zero(part: slice | int) -> Callable[[Tensor], None]:
    def edit(x: Tensor) -> None:
        x[..., part] = 0

    return edit


def head(number: int) -> slice:
    return slice(16 * number, 16 * number + 16)


@contextmanager
def swapped(place: object, name: str, value: object) -> Iterator:
    kept = getattr(place, name)
    setattr(place, name, value)
    yield
    setattr(place, name, kept)


@contextmanager
def patched(model, name, number, donor: Tensor) -> Iterator:
    """A head brings what it brings for the donor, with the same target."""
    output = model.get_submodule(f"{name}.output")
    kept, plain = [], model.forward

    def forward(source, target):
        with before(output, lambda x: kept.append(x.clone())):
            plain(donor, target)

        def put(x: Tensor) -> None:
            other = kept[-1]
            rows = min(x.size(1), other.size(1))
            x[:, :rows, head(number)] = other[:, :rows, head(number)]

        with before(output, put):
            return plain(source, target)

    with swapped(model, "forward", forward):
        yield


@contextmanager
def replaced(model, kind, output) -> Iterator:
    """What modules of a kind give is made of what they get and give."""
    hooks = [
        module.register_forward_hook(lambda _, x, y: output(x[0], y))
        for module in model.modules()
        if isinstance(module, kind)
    ]
    yield
    for hook in hooks:
        hook.remove()


LEFT_OUT = {
    "normOff": (nn.LayerNorm, lambda x, _: x),
    "feedForwardOff": (FeedForward, lambda _, y: y * 0),
}


def exact_sinusoids(length: int, width: int) -> Tensor:
    speeds = 10_000 ** (-torch.arange(0, width, 2).double() / width)
    angles = torch.arange(length).double()[:, None] * speeds
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


def cooled(forward, temperature: float, *ids: Tensor) -> Tensor:
    return forward(*ids) / temperature


@contextmanager
def hooked(model: Transformer, tokenizer: Tokenizer, changes) -> Iterator:
    """The model with changes named as the page names them."""
    everywhere = torch.ones(64, 64, dtype=torch.bool)
    fn = partial(F.scaled_dot_product_attention, scale=1.0)
    with ExitStack() as stack:
        for kind, *given in changes:
            edits = []
            if kind == "silence":
                output = model.get_submodule(f"{given[0]}.output")
                edits = [before(output, zero(head(given[1])))]
            elif kind == "silenceUnit":
                outer = model.get_submodule(f"{given[0]}.outer")
                edits = [before(outer, zero(given[1]))]
            elif kind == "patch":
                donor = torch.tensor([tokenizer.encode(given[3])])
                edits = [patched(model, given[0], given[1], donor)]
            elif kind == "maskOff":

                def mask(length, _=None):
                    return everywhere[:length, :length]

                edits = [swapped(transformer, "causal_mask", mask)]
            elif kind == "positionsOff":
                edits = [
                    swapped(side.positions, "table", torch.zeros(128, 64))
                    for side in (model.source, model.target)
                ]
            elif kind == "scaleOff":
                edits = [
                    swapped(model.get_submodule(name), "attention_fn", fn)
                    for name in NAMES
                ]
            elif kind == "residualOff":
                edits = [
                    swapped(module, "after", lambda _, y: y)
                    for module in model.modules()
                    if isinstance(module, AddNorm)
                ]
            elif kind in LEFT_OUT:
                edits = [replaced(model, *LEFT_OUT[kind])]
                # without norms the table's rounding would grow into view
                edits += [
                    swapped(side.positions, "table", exact_sinusoids(128, 64))
                    for side in (model.source, model.target)
                ]
            elif kind == "temperature":
                cooler = partial(cooled, model.forward, *given)
                edits = [swapped(model, "forward", cooler)]
            for edit in edits:
                stack.enter_context(edit)
        yield


CHANGES = {
    "a head": [["silence", "encoder.layers.1.self_attention", 1, 4]],
    "a cross head": [["silence", NAMES[5], 0, 4]],
    "all of a layer": [["silence", NAMES[2], i, 4] for i in range(4)],
    "a unit": [["silenceUnit", "decoder.layers.1.feed_forward", 7]],
    "a patch": [["patch", NAMES[5], 0, 4, FRESH]],
    "an encoder patch": [["patch", NAMES[1], 0, 4, SWEET]],
    "a decoder patch": [["patch", NAMES[3], 1, 4, SWEET]],
    "no mask": [["maskOff"]],
    "no positions": [["positionsOff"]],
    "no scale": [["scaleOff", 16]],
    "no residual": [["residualOff"]],
    "no norm": [["normOff"]],
    "no feed-forward": [["feedForwardOff"]],
    "a temperature": [["temperature", 2.5]],
    "two": [["maskOff"], ["silence", NAMES[0], 0, 4]],
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("text", [HUNGRY, OTHERS[-1]])
def test_a_change_does_what_the_same_hook_does(
    computing, reference, name, text
):
    model, tokenizer = reference
    changes = CHANGES[name]
    found = computing.evaluate(RUN, [text, changes, -1])
    source = torch.tensor([tokenizer.encode(text)])
    with unchecked(), hooked(model, tokenizer, changes):
        written = greedy_decode(model, source)[0].tolist()
        logits = model(source, torch.tensor([found["tokens"][:-1]]))[0]
    ours = found["tokens"][1:]
    assert ours == written[: len(ours)]  # the page stops earlier
    seen = torch.tensor(found["seen"]["logits"], dtype=torch.double)
    torch.testing.assert_close(seen, logits, rtol=0, atol=2e-5)
    with unchecked():
        plain = greedy_decode(model, source)[0].tolist()
    before = model(source, torch.tensor([[BOS, *plain[:-1]]]))[0]
    moved = ours != plain or (logits - before).abs().max() > 0.01
    assert moved or "unit" in name


def test_silent_heads_do_what_the_chapter_says(computing):
    silent = {"map": (1, 0), "it": (1, 1), "ate": (0, 0)}
    written = {}
    for change, (layer, number) in silent.items():
        changes = [["silence", NAMES[layer], number, 4]]
        written[change] = computing.evaluate(RUN, [HUNGRY, changes, 0])
        written[change] = written[change]["written"]
    plain = Translator.load("pronouns")(HUNGRY, beam=1)
    assert written["map"] == plain
    assert written["it"] == plain.replace(" er ", " sie ")
    assert written["ate"] == plain.replace("fraß", "aß")


def test_what_is_mixed_into_a_word_is_measured_as_it_says(
    computing, reference
):
    model, tokenizer = reference
    ids = tokenizer.encode(HUNGRY)
    place = tokenizer.split(HUNGRY).index("▁it")
    found = computing.evaluate(
        "([text, place]) => { const { machine } = inPage.models.opened;"
        " return machine.mixed(machine.run(text), place); }",
        [HUNGRY, place],
    )
    source, target = torch.tensor([ids]), torch.tensor([[BOS]])
    names = [f"encoder.layers.{i}.around_feed_forward" for i in (0, 1)]
    whole = traced(model, source, target)
    for silent in range(len(ids)):

        def silence(_, __, y, silent=silent):
            y = y.clone()
            y[:, silent] = 0
            return y

        hook = model.source.register_forward_hook(silence)
        other = traced(model, source, target)
        hook.remove()
        for layer, name in enumerate(names):
            x, y = whole[name][place], other[name][place]
            moved = ((x - y).norm() / x.norm()).item()
            assert found[layer][silent] == pytest.approx(moved, abs=1e-6)


SAID = ".op-say"


@pytest.fixture
def page(book, window) -> Page:
    """The page with the figure at work."""
    return come_near(window, book)


def german(page: Page) -> str:
    """What the model writes, as it is read aloud."""
    place = ".at-opened .visually-hidden[role=status]"
    said = page.locator(place).inner_text()
    return said.removeprefix("The model writes: ")


def test_the_walk_goes_by_keyboard_and_tells_the_model_s_numbers(
    page, book, reference
):
    model, tokenizer = reference
    page.locator(".op-card .at-main").focus()
    told = []
    for key in ["Space"] * 3 + ["ArrowRight"] * 9:
        page.keyboard.press(key)
        told.append(page.locator(SAID).inner_text())
        count = page.locator(".op-count").inner_text()
        assert count == f"Step {len(told)} of 12"
        assert page.locator(".op-box[aria-pressed=true]").count() == 1
        href = page.locator(".op-opened .op-cell a").get_attribute("href")
        target, anchor = href.split("#")
        assert f'id="{anchor}"' in (book / "book" / target).read_text("utf-8")
    page.keyboard.press("ArrowLeft")
    assert page.locator(SAID).inner_text() == told[-2]
    assert len({*told}) == len(told)
    source = torch.tensor([tokenizer.encode(HUNGRY)])
    before = tokenizer.encode("Der Hund fraß die Suppe, weil")[:-1]
    target = torch.tensor([[BOS, *before]])
    maps = attention_maps(model, source, target)
    pieces = [x.lstrip("▁") for x in tokenizer.split(HUNGRY)] + ["</s>"]
    it = pieces.index("it")
    weight, most = maps.encoder[1][0, 0, it].max(0)
    looks = f"looks most at {pieces[most]} ({weight:.2f})"
    where = "encoder 2.1, head 1 of the encoder’s layer 2"
    assert told[5] == f"In {where}, it {looks}."
    weight, most = maps.cross[1][0, 0, -1].max(0)
    assert f"{pieces[most]} ({weight:.2f})" in told[8]
    surest = maps.encoder[1][0, :, it].max(1).values.argmax()
    share, noun = maps.encoder[1][0, surest, most].max(0)
    before = f"{pieces[most]} itself looked at {pieces[noun]} ({share:.2f})"
    assert f"In the encoder, {before}, in encoder 2.{surest + 1}." in told[8]
    assert (pieces[most], pieces[noun]) == ("hungry", "dog")
    logits = model(source, target)[0, -1]
    assert f"{logits.max():.1f}, is that of er" in told[9]
    p, er = logits.softmax(0).max(0)
    assert f"er gets {p:.4f}" in told[10]
    left = []
    for number in range(4):
        silence = ["silence", "encoder.layers.1.self_attention", number, 4]
        with hooked(model, tokenizer, [silence]):
            left.append(model(source, target)[0, -1].softmax(0)[er].item())
    worst = left.index(min(left))
    lost = f"Without encoder 2.{worst + 1}, er would go from {p:.2f} to "
    lost += f"{left[worst]:.2f}."
    for bet in range(4):  # and the answer only after the bet
        page.keyboard.press("ArrowRight")
        assert lost not in page.locator(SAID).inner_text()
        page.get_by_role(
            "button", name=f"encoder 2.{bet + 1}", exact=True
        ).click()
        answer = page.locator(SAID).inner_text()
        assert answer.startswith(lost)
        assert ("You have won" in answer) == (bet == worst)
        if bet != worst:
            assert f" {left[bet]:.2f}, though" in answer
        page.keyboard.press("ArrowLeft")


def middle(page: Page, part: str) -> float:
    box = page.locator(part).bounding_box()
    return box["y"] + box["height"] / 2


def test_the_row_of_it_moves_up_through_the_boxes(book, browser):
    with opened(browser, reduced_motion="reduce") as window:
        page = come_near(window, book)
        heights = []
        for _ in range(7):
            page.locator(".op-card .at-main").click()
            box = page.locator(".op-box[aria-pressed=true]").bounding_box()
            height = middle(page, ".op-rider")
            assert box["y"] < height < box["y"] + box["height"]
            heights.append(height)
            assert page.locator(".op-rider").inner_text() == "it"
        assert heights == sorted(heights, reverse=True)
        page.locator(".op-card .at-main").click()
        assert page.locator(".op-rider").inner_text() == "weil"


def test_a_drawing_is_one_tab_stop_with_arrows_inside(page):
    stops = page.locator(".at-opened").evaluate(
        """place => [...place.querySelectorAll("*")].filter(
          e => e.tabIndex >= 0 && e.checkVisibility()).length"""
    )
    assert stops < 25
    boxes = page.locator(".op-box[tabindex='0']")
    assert boxes.count() == 1
    boxes.focus()
    focused = page.locator(".op-box:focus")
    assert "Cross-attention, decoder, layer 2" in focused.get_attribute(
        "aria-label"
    )
    page.keyboard.press("ArrowDown")
    assert "Add & Norm, decoder" in focused.get_attribute("aria-label")
    page.keyboard.press("ArrowLeft")
    assert ", encoder" in focused.get_attribute("aria-label")
    for _ in range(9):
        page.keyboard.press("ArrowUp")
    assert "Memory" in focused.get_attribute("aria-label")
    page.keyboard.press("Enter")
    assert page.locator(".op-opened .op-title").inner_text() == "Memory"


def test_er_turns_to_sie_by_keyboard(page, reference):
    model, tokenizer = reference
    plain = german(page)
    assert plain == Translator.load("pronouns")(HUNGRY, beam=1)
    page.get_by_role("tab", name="Walk").press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name=re.compile("Try each")).press("Enter")
    source = torch.tensor([tokenizer.encode(HUNGRY)])
    before = tokenizer.encode("Der Hund fraß die Suppe, weil")[:-1]
    target = torch.tensor([[BOS, *before]])
    er = model(source, target)[0, -1].argmax()
    shares = page.locator(".op-switches .op-p").all_inner_texts()
    for (name, number), share in zip(HEADS, shares, strict=True):
        change = ["silence", name, number, 4]
        with hooked(model, tokenizer, [change]):
            p = model(source, target)[0, -1].softmax(0)[er].item()
        assert share == f"{p:.2f}"
    switch = page.get_by_label("encoder 2.2", exact=True)
    switch.press("Space")
    turned = "Der Hund fraß die Suppe, weil sie hungrig war."
    page.locator(".op-before", has_text=plain).wait_for()
    assert german(page) == turned
    assert page.locator(".op-other").all_inner_texts() == ["sie"]
    page.get_by_role("button", name=re.compile("Undo")).press("Enter")
    page.get_by_text("Nothing is changed.").wait_for()
    assert german(page) == plain and switch.is_checked()
    page.get_by_role("button", name="Patch").press("Enter")
    page.locator(".op-before", has_text=plain).wait_for()
    assert german(page) == turned
    assert "is patched from “The dog" in page.locator(".op-list").inner_text()


@pytest.mark.parametrize(
    ("name", "tab"),
    [("02_heads", "All heads"), ("12_inside_heads", "Change it")],
)
def test_a_chapter_opens_the_tab_that_it_speaks_of(window, book, name, tab):
    page = come_near(window, book, name)
    chosen = page.locator("[role=tab][aria-selected=true]")
    assert chosen.all_inner_texts() == [tab]
    assert german(page) == Translator.load("pronouns")(HUNGRY, beam=1)


def test_what_is_tried_moves_no_switch(page):
    page.get_by_role("tab", name="Change it").click()
    table = page.locator(".op-switches")
    # where each row and the button below it is, in the table's own terms
    places = """place => [...place.querySelectorAll(
      ".op-switches tr, .op-changes section, .op-changes .op-do")].map(e =>
      e.getBoundingClientRect().top - place.getBoundingClientRect().top)"""
    panel = page.locator("#op-changes")
    before = panel.evaluate(places)
    page.get_by_role("button", name=re.compile("Try each")).click()
    assert table.locator(".op-p").count() == 24
    assert panel.evaluate(places) == before
    page.get_by_label("encoder 2.2", exact=True).uncheck()
    page.get_by_role("button", name="Patch", exact=True).click()
    page.locator(".op-list li").nth(1).wait_for()
    assert panel.evaluate(places) == before


def test_a_donor_is_doubted_as_a_sentence_is(page):
    page.get_by_role("tab", name="Change it").click()
    donor = page.get_by_label(re.compile("^Patch a head"))
    warning = page.locator(".op-changes .op-warning")
    for text, said in {
        "Hello world.": "never seen “hello” or “world”",
        "🙂": "Write a sentence in English.",
    }.items():
        donor.fill(text)
        page.get_by_role("button", name="Patch", exact=True).click()
        warning.get_by_text(said).wait_for()
    assert page.locator(".op-list li").count() == 1  # of what can be read


SWITCHES = ["the mask", "positions", "division by √16"]
SWITCHES += ["residual", "norm", "feed-forward"]


def test_a_part_that_is_left_out_is_missed(page, reference):
    model, tokenizer = reference
    page.get_by_role("tab", name="Change it").click()
    for part in SWITCHES:
        switch = page.get_by_label(part, exact=True)
        switch.press("Space")
        assert not switch.is_checked(), part  # at once
        page.locator(".op-list").get_by_text(": left out").wait_for()
        text = page.get_by_label("A sentence in English").input_value()
        source = torch.tensor([tokenizer.encode(text)])
        plain = tokenizer.decode(greedy_decode(model, source)[0].tolist())
        assert german(page) != plain, part
        told = page.locator(".op-form .op-warning").inner_text()
        kept = text == HUNGRY
        other = f"“{HUNGRY}” is translated as"
        assert told == "" if kept else other in told, part
        switch.check()
        page.get_by_text("Nothing is changed.").wait_for()
        page.get_by_role("button", name=f"Example: {HUNGRY}").click()


def test_two_sentences_need_their_positions(window, book, reference):
    page = window.open(book / "book" / "03_embedding.html")
    page.locator(".at-opened").scroll_into_view_if_needed()
    page.locator(".at-order li").first.wait_for()
    written = page.locator(".at-order li [lang=de]")
    plain = Translator.load("pronouns")(extension.ORDER, beam=1)
    assert written.all_inner_texts() == plain
    page.get_by_role("checkbox", name="positions").uncheck()
    model, tokenizer = reference
    with unchecked(), hooked(model, tokenizer, [["positionsOff"]]):
        for line, text in zip(written.all(), extension.ORDER, strict=True):
            source = torch.tensor([tokenizer.encode(text)])
            found = greedy_decode(model, source)[0].tolist()
            assert line.inner_text() == tokenizer.decode(found)
    assert len({*written.all_inner_texts()}) == 1


def test_another_sentence_is_read_and_doubted_where_it_must_be(page):
    text = page.get_by_label("A sentence in English")
    text.fill(SWEET)
    page.locator(".op-line", has_text="süß").wait_for()
    assert german(page) == "Der Hund fraß die Suppe, weil sie süß war."
    warning = page.locator(".op-form .op-warning")
    assert not warning.inner_text()
    text.fill("The minister ate the soup.")
    warning.get_by_text("never seen “minister”").wait_for()
    text.fill(f"{SWEET.upper()}🙂 {HUNGRY}")
    warning.get_by_text("Only the first sentence is read.").wait_for()
    assert "never seen “🙂”" in warning.inner_text()
    assert german(page) == "Der Hund fraß die Suppe, weil sie süß war."
    text.fill("🙂")
    warning.get_by_text("Write a sentence in English.").wait_for()


def test_a_word_is_lit_wherever_it_is(page):
    page.get_by_role("button", name="Self-attention, encoder, layer 2").click()
    dog = page.locator(".op-line[lang=en] button", has_text="dog")
    dog.hover()
    lit = page.locator(".op-lit[data-side=source]").all_inner_texts()
    assert len(lit) > 2 and {*lit} == {"dog"}
    assert page.locator(".at-opened").get_attribute("data-lit") == "source"
    shown = page.locator(".op-shape .op-axis", has_text="64").first
    shown.hover()
    assert page.locator(".op-across-lit").count() > 20
    page.get_by_role("tab", name="All heads").click()
    dog.hover()
    assert page.locator(".op-grid .op-thumb").count() == 24
    lines = page.locator(".op-grid .op-lines")
    assert lines.count() == 16  # all that see English
    page.get_by_role("button", name="encoder 2.1").click()
    cells = page.locator(".op-opened .at-map tbody td")
    assert cells.count() == 11 * 11
    cells.nth(12).click()
    assert "q · k =" in page.locator(".op-opened .at-origin").inner_text()


SIGHT = """() => {
  const bar = document.querySelector(".bd-header-article");
  const [above, below] = [bar.getBoundingClientRect().bottom, innerHeight];
  const crop = document.querySelector(".op-window").getBoundingClientRect();
  const shown = [[".op-say", 0, 0], [".op-card .at-main", 0, 0],
    [".op-line", 0, 0], [".op-box[aria-pressed=true]", crop.top, crop.bottom]];
  return shown.filter(([name, top, bottom]) => {
    const part = document.querySelector(name).getBoundingClientRect();
    return part.top < Math.max(above, top)
      || part.bottom > Math.min(below, bottom || below);
  }).map(([name]) => name);
}"""


def test_a_sentence_passes_once_scene_by_scene(page, reference):
    """Boxes fill, the encoder's first; each scene comes, and stays."""
    model, tokenizer = reference
    source = torch.tensor([tokenizer.encode(HUNGRY)])
    before = tokenizer.encode("Der Hund fraß die Suppe, weil")[:-1]
    target = torch.tensor([[BOS, *before]])
    maps = attention_maps(model, source, target)
    it = tokenizer.split(HUNGRY).index("▁it")
    page.clock.install(time=0)
    page.clock.pause_at(1000)  # on a busy machine, too
    play = page.locator(".op-card button").last
    play.click()
    scenes = page.locator(".op-scene:not(.op-to-come)")
    ahead = page.locator(".op-box.op-ahead")
    boxes, left = page.locator(".op-box").count(), []
    for scene in range(5):
        assert scenes.count() == scene
        left.append(ahead.count())
        page.clock.run_for(3050 if scene else 1550)
    assert left == sorted({*left}, reverse=True) and left[-1] == 0
    assert left[0] == boxes - 1 and left[3] > boxes / 2
    assert play.inner_text() == "Play"
    first, _, _, last = scenes.locator("figcaption").all_inner_texts()
    weight = maps.encoder[1][0, 0, it].max()
    assert first.startswith("The word it looks at all others")
    assert first.endswith(f"most at dog ({weight:.2f}).")
    weight = maps.cross[1][0, 0, -1].max()
    assert f"most at hungry ({weight:.2f}), and er is written" in last
    for place, words in enumerate((1, source.size(1))):
        assert scenes.nth(place).locator(".op-arcs").count() == words
    play.click()
    play.click()  # stops it
    page.clock.run_for(9000)
    assert page.locator(".op-film").count() == ahead.count() == 0


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_each_step_fits_the_window(book, browser, width, height):
    size = {"width": width, "height": height}
    with opened(browser, viewport=size) as window:
        page = come_near(window, book)
        count = page.locator(".op-count").inner_text()
        (steps,) = re.findall(r"\d+", count)
        button, crop = page.locator(".op-card .at-main"), ".op-window"
        below = set()
        for step in range(int(steps)):
            button.click()
            assert page.evaluate(SIGHT) == [], f"step {step + 1}"
            height = page.locator(crop).bounding_box()["height"]
            below.add(button.bounding_box()["y"] - middle(page, crop))
        if width < 800:  # the button keeps its place, below a tall window
            assert len(below) == 1 and height >= 350
        low = page.locator(".op-opened").bounding_box()
        page.mouse.move(low["x"] + 5, low["y"] + 5)
        page.mouse.wheel(0, 300)  # to what the opened box shows
        if width > 800:
            page.wait_for_function("scrollY > 0")
            assert ".op-box[aria-pressed=true]" not in page.evaluate(SIGHT)


def test_it_is_for_everyone_on_a_phone(book, browser):
    size, seen = {"width": 390, "height": 800}, set()
    with opened(browser, viewport=size, reduced_motion="reduce") as window:
        page = come_near(window, book)
        # it floats over the figure, depending on the scroll position
        floating = ".bd-header-article {display: none !important}"
        page.add_style_tag(content=floating)

        def faults() -> list[str]:
            found = pages.sideways(page) + pages.access(page, ".at-opened")
            for scheme in ("light", "dark"):
                found += pages.theme(page, scheme) + pages.contrast(page, seen)
            return found

        place = page.locator(".at-opened").bounding_box()
        assert 2 * place["x"] + place["width"] == size["width"]
        whole = "e => e.scrollHeight <= e.clientHeight"
        assert page.locator("#op-text").evaluate(whole)
        boxes = page.locator(".op-box")
        for i in (0, 3, 5, 6, 12, boxes.count() - 2, boxes.count() - 1):
            boxes.nth(i).click()
            assert faults() == []
        boxes.nth(3).click()
        page.locator(".op-four button").first.click()
        for tab in ("Walk", "All heads", "Change it"):
            page.get_by_role("tab", name=tab).click()
            assert faults() == []
        page.get_by_role("tab", name="Walk").click()
        page.get_by_role("button", name="Play", exact=True).click()
        assert page.locator(".op-scene figcaption:visible").count() == 4
        assert page.evaluate("document.getAnimations().length") == 0
        assert faults() == []
