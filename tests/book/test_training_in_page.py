"""What learns in the page computes what the package does, and learns."""

import random
from itertools import islice
from pathlib import Path

import pages
import pytest
import torch
import widgets
from browser import Window, opened
from playwright.sync_api import Browser, Page, expect
from torch import nn

from annotated_transformer.data import make_batch
from annotated_transformer.embedding import EOS
from annotated_transformer.model import (
    ModelConfig,
    Transformer,
    greedy_decode,
    transformer,
)
from annotated_transformer.optimizer import adam, linear_rate, set_rate
from annotated_transformer.storage.weight_files import weights
from annotated_transformer.training import TrainConfig, batch_loss
from experiments.bugs import Program
from experiments.masks_while_copying import BUGS, RECIPE, example, strings

BOOK = Path(__file__).parents[2] / "book"
SIZES = RECIPE["model"]
UNSMOOTHED = TrainConfig(label_smoothing=0.0)
START = """([sizes, bug, given]) => {
  globalThis.own = inPage.learner();
  globalThis.network = new own.Transformer(sizes, Math.random, bug);
  for (const [name, numbers] of Object.entries(given))
    network.parameters[name].values.set(numbers);
}"""
NUMBERS = """(part) => Object.fromEntries(Object.entries(
  network.parameters).map(([name, x]) => [name, [...x[part]]]))"""


@pytest.fixture(scope="module")
def learner(browser: Browser):
    """A page with the program alone."""
    with opened(browser) as window:
        script = BOOK / "_static/in_page/learner.js"
        window.page.add_script_tag(path=script)
        yield window.page


def spoiled(name: str) -> Transformer:
    """A model with one of the masks; its weights hide no mistake."""
    torch.manual_seed(0)
    model = transformer(ModelConfig(**SIZES))
    for parameter in model.parameters():  # zeros and ones would
        parameter.data += 0.3 * torch.randn_like(parameter)
    BUGS[name](Program(model))
    return model


def begin(page: Page, model: Transformer, name: str) -> None:
    """Give the page a model of these weights and this mask."""
    given = {x: w.flatten().tolist() for x, w in weights(model).items()}
    page.evaluate(START, [SIZES, None if name == "right" else name, given])


def pairs(step: int = 1) -> list:
    """Strings of all lengths, the longest among them."""
    drawn = [*islice(strings(random.Random(0)), 9)]
    return [example(string, step) for string in drawn]


def test_parameters_are_those_of_the_package(learner):
    model = transformer(ModelConfig(**SIZES))
    learner.evaluate(START, [SIZES, None, {}])
    found = learner.evaluate(NUMBERS, "values")
    expected = weights(model)
    assert {*found} == {*expected}
    for name, numbers in found.items():
        values, theirs = torch.tensor(numbers), expected[name].flatten()
        assert values.shape == theirs.shape
        if theirs.std() == 0:
            assert values.equal(theirs)
        else:  # as many draws: a twentieth of a thousand is far off
            assert values.std() == pytest.approx(theirs.std().item(), rel=0.15)
            assert abs(values.mean()) < 4 * theirs.std() / len(theirs) ** 0.5


@pytest.mark.parametrize("name", BUGS)
def test_gradients_are_those_of_autograd(learner, name):
    model, some = spoiled(name), pairs()
    begin(learner, model, name)
    batch = make_batch(some)
    model.double()
    loss = batch_loss(model, batch, UNSMOOTHED).double() / batch.tokens
    loss.backward()
    found = learner.evaluate(
        "([sources, targets]) => network.learn(sources, targets)",
        [[source for source, _ in some], [target for _, target in some]],
    )
    assert found == pytest.approx(loss.item(), abs=1e-5)
    gradients = learner.evaluate(NUMBERS, "gradient")
    for key, parameter in model.named_parameters():
        expected = parameter.grad.flatten().float()
        assert expected.abs().max() > 1e-3 or key.endswith("key_value.bias")
        torch.testing.assert_close(
            torch.tensor(gradients[key]), expected, rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("name", BUGS)
def test_outputs_are_those_of_greedy_decode(learner, name):
    model, some = spoiled(name), pairs()
    begin(learner, model, name)
    source = make_batch(some).source
    rows = greedy_decode(model.eval(), source)[:, :10].tolist()
    expected = [row[: row.index(EOS)] if EOS in row else row for row in rows]
    found = learner.evaluate(
        "(sources) => network.translate(sources, 10)",
        [source for source, _ in some],
    )
    assert found == expected
    assert len({tuple(row) for row in found}) > 1


def test_updates_are_those_of_adam(learner):
    model, some = spoiled("right"), pairs(-1)
    begin(learner, model, "right")
    optimizer = adam(model.parameters())
    batch = make_batch(some)
    for rate in (0.01, 0.02, 0.005):
        loss = batch_loss(model, batch, UNSMOOTHED) / batch.tokens
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        set_rate(optimizer, rate)
        optimizer.step()
        optimizer.zero_grad()
    learner.evaluate(
        """([sources, targets]) => {
          const adam = new own.Adam(network.parameters);
          for (const rate of [0.01, 0.02, 0.005]) {
            network.learn(sources, targets);
            adam.update(rate);
          }
        }""",
        [[source for source, _ in some], [target for _, target in some]],
    )
    found = learner.evaluate(NUMBERS, "values")
    for name, weight in weights(model).items():
        values = torch.tensor(found[name])
        # where a gradient is zero but for rounding, Adam makes steps of it
        far = (values - weight.flatten()).abs() > 1e-3
        assert far.float().mean() < 0.02 or name.endswith("key_value.bias")


def test_the_rate_is_the_package_s(learner):
    given = [[step, 0.01, w, 600] for w in (0, 60) for step in (1, 60, 300)]
    found = learner.evaluate(
        "(all) => all.map((given) => inPage.learner().linearRate(...given))",
        given,
    )
    assert found == pytest.approx([linear_rate(*row) for row in given])


# What the reader sees and does.


@pytest.fixture(scope="module")
def site(book: Path) -> Path:
    """A chapter with the figure."""
    return book / "book" / "16_bugs.html"


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).press("Enter")


def said(page: Page) -> str:
    return page.locator(".widget-words").inner_text()


def await_word(page: Page, words: str, seconds: int = 300) -> str:
    """What the figure says once it says this."""
    status = page.locator(".widget-words")
    expect(status).to_contain_text(words, timeout=1000 * seconds)
    return status.inner_text()


def test_it_learns_all_strings_from_a_file(site, window: Window):
    page = window.open(site)
    assert "learner.js" not in page.content()  # it comes when it is wanted
    press(page, "start")
    end = await_word(page, "200 of 200 new strings are right")
    print(end)
    update = int(end.split("update ")[1].split(" of")[0])
    assert update <= 600
    rows = page.locator(".widget-under tbody tr").all_inner_texts()
    assert len(rows) == 4
    for read, written, verdict in map(str.split, rows):
        assert read == written and verdict == "right"
    assert page.get_by_role("button", name="stop").is_disabled()


def test_a_secret_program_is_stopped_guessed_and_told(site, window: Window):
    page = window.open(site)
    page.evaluate("Math.random = () => 0.3")  # the second of four
    page.get_by_label("a secret one").press("Space")
    assert "masks a secret one" in said(page)
    press(page, "start")
    first = await_word(page, "update 25 of 600")
    assert " new strings are right." in first
    before = await_word(page, "update 100 of 600")
    assert "decoder sees" not in before
    press(page, "stop")
    stopped = said(page)
    assert stopped.endswith("It is stopped.")
    page.wait_for_timeout(500)
    assert said(page) == stopped
    press(page, "mask upside down")
    assert said(page).startswith("No: program A is “no mask”.")
    assert page.locator(".widget-guess button").count() == 0
    press(page, "go on")
    await_word(page, "update 150 of 600")
    page.get_by_label("reverse").check()
    press(page, "start")
    for line in ("A: copy, no mask", "B: reverse, a secret"):
        expect(page.locator(".widget-stage svg")).to_contain_text(line)


def test_a_rate_too_high_is_shown_to_every_reader_on_a_phone(site, browser):
    size = {"width": 390, "height": 800}
    with opened(browser, viewport=size, reduced_motion="reduce") as window:
        page = window.open(site)
        page.get_by_role("slider", name="learning rate").press("End")
        page.get_by_role("slider", name="warm-up").press("Home")
        assert "learning rate 0.05, warm-up of 0 updates" in said(page)
        page.evaluate("""() => {
          globalThis.drawn = 0;
          new MutationObserver(() => drawn++).observe(
            document.querySelector(".widget-stage"), {childList: true});
        }""")
        press(page, "start")
        high = await_word(page, "update 100 of 600")
        assert float(high.split("loss ")[1].split(";")[0].split(". ")[0]) > 1.5
        press(page, "stop")
        # not with every update: at the start, at four exams, at the end
        assert page.evaluate("drawn") < 12
        assert pages.sideways(page) == []
        assert pages.access(page, ".widget") == []


def test_the_page_trains_what_the_record_has():
    data = widgets.train()
    assert data["model"] == SIZES
    assert len(data["letters"]) == SIZES["vocab_size"] - 4
    assert data["model"]["vocab_size"] % 4 == 0  # as its products need
