"""The writer in the page: it expects and draws what the package does."""

from collections.abc import Iterator
from pathlib import Path

import pages
import pytest
import torch
import writer_in_page as extension
from browser import Window, opened
from chi_square import chisquare
from models_in_page import packed, rounded
from odd_text import odd_strings
from playwright.sync_api import Browser, Page

from annotated_transformer.corpora.running_text import plays
from annotated_transformer.data import train_tokenizer
from annotated_transformer.embedding import EOS
from annotated_transformer.model import ModelConfig, Transformer, transformer
from annotated_transformer.modern import MODERN
from annotated_transformer.text.documents import DocumentReader
from annotated_transformer.writing import (
    LanguageModel,
    Writer,
    next_token_probs,
)

BEGINNING = next(iter(extension.BEGINNINGS.values()))
BOOK = Path(__file__).parents[2] / "book"
SAID = ".at-writer .visually-hidden[role=status]"
EXPECTED = "([...own.ranked].sort((a, b) => a[0] - b[0]).map(([, p]) => p))"
WATCH = """() => {
  const [page, said] = [".at-page", ".visually-hidden[role=status]"].map(
    (place) => document.querySelector(`.at-writer ${place}`));
  const watch = (node, found) => new MutationObserver(
    () => found.push(node.textContent)).observe(
    node, {childList: true, characterData: true, subtree: true});
  [globalThis.shown, globalThis.heard] = [[], []];
  watch(page, globalThis.shown);
  watch(said, globalThis.heard);
}"""


def start(window: Window, book: Path) -> Page:
    """The page after the reader has asked, by keyboard."""
    page = window.open(book / "book" / "18_writing.html")
    page.get_by_role("button", name="Try it here").press("Enter")
    page.locator(".at-page").wait_for()
    return page


@pytest.fixture(scope="module")
def started(book, browser: Browser) -> Iterator[Window]:
    """The page for tests that only compute, and a writer of its own."""
    with opened(browser) as window:
        start(window, book).evaluate(
            "globalThis.own = new inPage.writer.Writer(inPage.models.writer)"
        )
        yield window


@pytest.fixture(scope="module")
def reference() -> Writer:
    """The package's writer with the weights that the page has."""
    writer = Writer.load("plays")
    rounded(writer.model)
    return writer


@pytest.fixture(scope="module")
def program(browser: Browser) -> Iterator[Page]:
    """A page with the program alone."""
    with opened(browser) as window:
        window.page.evaluate("globalThis.inPage = { models: {} }")
        window.page.add_script_tag(path=BOOK / "_static/in_page/programs.js")
        window.page.evaluate(
            "async () => { inPage.writer = await inPage.programs.writer(); }"
        )
        yield window.page


@pytest.mark.parametrize("make", [transformer, LanguageModel])
@pytest.mark.parametrize(
    "parts",
    [
        MODERN,
        {"positions": "rotary"},
        {"norm": "rms"},
        {"feed_forward": "swiglu"},
    ],
)
def test_parts_compute_what_those_of_the_package_do(program, make, parts):
    tokenizer = train_tokenizer(["a small dog", "ein kleiner Hund"], 24)
    sizes = {"layers": 2, "d_model": 12, "d_ff": 20, "heads": 2}
    config = ModelConfig(24, **(sizes | {"pre_norm": True} | parts))
    torch.manual_seed(0)
    model = make(config).eval()
    for parameter in model.parameters():  # zeros and ones hide mistakes
        parameter.data += 0.3 * torch.randn_like(parameter)
    source, target = torch.randint(4, 24, (2, 1, 9))
    found = program.evaluate(
        """([packed, source, target]) => {
          const { Model, Node } = inPage.writer;
          const model = new Model(packed);
          const read = model.encoder.length ? model.encode(source) : undefined;
          const chain = () => target.reduce((nodes, token) =>
            [...nodes, new Node(token, nodes.at(-1) ?? null)], []);
          const one = (node) => model.step([node], read);
          return [model.step(chain(), read), chain().flatMap(one)].map(
            (rows) => rows.map((row) => [...row]));
        }""",
        [packed(model, tokenizer), source[0].tolist(), target[0].tolist()],
    )
    if isinstance(model, Transformer):
        expected = rounded(model)(source, target)
    else:
        expected = rounded(model).next_logits(target)
    expected = expected.log_softmax(-1)
    at_once, one_by_one = torch.tensor(found, dtype=torch.double)
    torch.testing.assert_close(at_once, expected[0], rtol=0, atol=1e-6)
    torch.testing.assert_close(one_by_one, expected[0], rtol=0, atol=1e-6)


def log_probabilities(writer: Writer, ids: list[int]) -> torch.Tensor:
    """Of the token after each of some tokens, by the package."""
    with torch.inference_mode():
        return writer.model.next_logits(torch.tensor([ids]))[0].log_softmax(-1)


def test_plays_expect_what_the_package_expects(started, reference):
    text = "".join(plays().lines(held_out=True))[:126]
    ids = reference.reader.ids(text)
    assert ids.count(EOS) > 1
    expected = log_probabilities(reference, ids)
    at_once = started.page.evaluate(
        f"(text) => {{ own.begin(text); return {EXPECTED}; }}", text
    )
    one_by_one = started.page.evaluate(
        "(ids) => { own.begin(''); return [null, ...ids].map((id) => {"
        f" if (id) own.read([id]); return {EXPECTED}; }}); }}",
        ids[1:],
    )
    assert at_once == pytest.approx(expected[-1].tolist(), abs=1e-9)
    for row, theirs in zip(one_by_one, expected.tolist(), strict=True):
        assert row == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("characters", [200, 256, 400])
def test_a_text_outgrows_the_context_as_in_the_package(
    started, reference, characters
):
    text = "".join(plays().lines(held_out=True))[:characters]
    written = reference(text, max_new_tokens=140, temperature=0.0)
    found = started.page.evaluate(
        "(text) => { own.begin(text); for (let i = 0; i < 140; i++) {"
        " const [[token]] = own.ranked; text += own.text(token, text);"
        " own.read([token]); } return text; }",
        text,
    )
    assert found == written


def test_characters_are_the_package_s(started, reference):
    tokenizer = reference.tokenizer
    texts = ["  Two  blanks, ", "a line\nand one\n\n", *odd_strings(200)]
    found = started.page.evaluate(
        "(texts) => texts.map((text) => {"
        " const ids = own.tokenizer.encode(text);"
        " return [ids, own.tokenizer.decode(ids)]; })",
        texts,
    )
    ids = [tokenizer.encode(text)[:-1] for text in texts]
    assert found == [[row, tokenizer.decode(row)] for row in ids]


@pytest.mark.parametrize("mark", ["", "a", "* *"])
def test_texts_are_read_and_written_as_in_the_package(
    started, reference, mark
):
    reader = DocumentReader(reference.tokenizer, mark)
    odd, ends = odd_strings(150), [f"\n{mark}\n", f"\r\n {mark}\xa0\r\n"]
    texts = ["\ufeffa\n", "a\r", *ends, *odd]
    texts += [end.join(odd[i : i + 3]) for i in range(100) for end in ends]
    found = started.page.evaluate(
        "([texts, mark, end]) => { const other = new inPage.writer.Writer("
        "   { ...inPage.models.writer, mark });"
        " return texts.map((text) => [other.ids(text),"
        "   other.text(end, text)]); }",
        [texts, mark, EOS],
    )
    for text, (ids, end) in zip(texts, found, strict=True):
        assert ids == reader.ids(text)
        assert end == reader.text([EOS], text)


def test_draws_have_the_model_s_distribution(started, reference):
    ids = reference.reader.ids("ROMEO:\nThe ")
    logits = log_probabilities(reference, ids)[-1]
    shares = next_token_probs(logits, temperature=1.2, top_p=0.95)
    kept, order = shares.sort(descending=True)
    kept = kept[: int((kept > 0).sum())]
    number = 40_000
    one_seed, many_seeds, ranked = started.page.evaluate(
        "([text, number]) => { own.begin(text);"
        " const { nextTokenProbs, pick } = widgets.formulas;"
        " const logP = own.ranked.map(([, p]) => p);"
        " const shares = nextTokenProbs(logP, 1.2, 0, 0.95);"
        " const draws = (random) => Array.from({ length: number },"
        "   (_, i) => pick(shares, random(i)));"
        " return [draws((i) => inPage.writer.uniform(7, i)),"
        "   draws((i) => inPage.writer.uniform(i, 3)), own.ranked]; }",
        ["ROMEO:\nThe ", number],
    )
    assert [i for i, _ in ranked[: len(kept)]] == order[: len(kept)].tolist()
    for draws in (one_seed, many_seeds):
        counts = torch.tensor(draws).bincount(minlength=len(kept))
        assert len(counts) == len(kept)  # nothing that was cut
        assert chisquare(counts, number * kept) > 0.01


def test_random_numbers_that_follow_each_other_are_independent(started):
    found = started.page.evaluate(
        "Array.from({ length: 40000 }, (_, i) => inPage.writer.uniform(1, i))"
    )
    tenths = (torch.tensor(found).view(-1, 2) * 10).long()
    cells = (tenths @ torch.tensor([10, 1])).bincount(minlength=100)
    assert min(found) >= 0 and max(found) < 1
    assert chisquare(cells) > 0.01


def written(page: Page) -> str:
    return page.locator(".at-page").evaluate("e => e.textContent")


def write(page: Page, button: str, most: int = 60) -> str:
    """Let it write some characters, and stop it: the text."""
    page.get_by_role("button", name=button).press("Enter")
    page.wait_for_function(
        f"document.querySelector('.at-page').textContent.length > {most}"
    )
    page.get_by_role("button", name="Stop", exact=True).press("Enter")
    return written(page)


def test_a_seed_writes_the_same_text_again(book, window, reference):
    page = start(window, book)
    first = write(page, "Write")
    again = write(page, "from the beginning")
    least = min(len(first), len(again))
    assert first[:least] == again[:least]
    seed = page.get_by_label("seed")
    other = write(page, "with another seed")
    assert other[:40] != first[:40] and seed.input_value() != "1"
    seed.fill("1")
    assert written(page) == BEGINNING
    again = write(page, "Write")
    assert first[:40] == again[:40]
    # and it is the text of the package's probabilities
    ids = reference.reader.ids(BEGINNING)
    text = BEGINNING
    for i in range(40):
        p = next_token_probs(log_probabilities(reference, ids)[-1], 0.8)
        ranked, order = p.sort(descending=True)
        random = page.evaluate(f"inPage.writer.uniform(1, {i})")
        ids.append(int(order[(ranked.cumsum(0) > random).nonzero()[0]]))
        text += reference.text(ids[-1:], stop=False, before=text)
    assert first.startswith(text)


def test_the_reader_writes_instead_of_the_model(book, window, reference):
    page = start(window, book)
    page.get_by_label("How it begins").fill("ROMEO:\nI am ")
    writer = page.locator(".at-writer")
    writer.get_by_role("slider", name="temperature").press("End")
    for key in ("Home", "ArrowRight", "ArrowRight"):  # 1, 2, 3 may come
        writer.get_by_role("slider", name="top-k").press(key)
    candidates = page.locator(".at-next button")
    text = written(page)
    for place in (2, 0):
        ids = reference.reader.ids(text)
        logits = log_probabilities(reference, ids)[-1]
        p = next_token_probs(logits, temperature=5.0, top_k=3)
        shares, best = p.sort(descending=True)
        said = [f"{x:.3f}" for x in shares[:3].tolist()] + ["cut"] * 2
        shown = candidates.all_inner_texts()
        assert [line.split()[-1] for line in shown] == said
        candidates.nth(place).press("Enter")
        assert candidates.nth(place).evaluate(
            "e => e === document.activeElement"
        )
        text += reference.text([int(best[place])], False, text)
        assert written(page) == text
    assert page.locator(".at-chosen").inner_text() == text[-2:]
    assert (
        "2 characters, 2 of them yours"
        in page.locator(".at-count").inner_text()
    )
    assert pages.access(page, ".at-writer") == []


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_lines_are_said_and_letters_are_shown(book, browser, motion):
    size = {"width": 390, "height": 800}
    options = {"reduced_motion": motion, "viewport": size}
    with opened(browser, **options) as window:
        page = start(window, book)
        page.evaluate(WATCH)
        whole = write(page, "Write", 200)
        shown, heard = page.evaluate("[shown, heard]")
        assert len(heard) > 2
        for line in heard[:-1]:
            assert line.endswith("\n") and line.strip() and line in whole
        assert whole.endswith(heard[-1])
        if motion == "reduce":  # no letter by letter
            assert all(text.endswith("\n") for text in shown[:-1])
        else:
            assert len(shown) > 150
        page.get_by_label("How it begins").fill("ß and é")
        warning = "The model has never seen ß é."
        assert page.locator(".at-count").inner_text() == warning
        assert page.locator(SAID).inner_text() == warning
        assert pages.sideways(page) == []
        assert pages.access(page, ".at-writer") == []
