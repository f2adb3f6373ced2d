"""Search finds sections: what a learner types leads to where it is told."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pages
import pytest
from browser import Window, opened
from playwright.sync_api import Browser, Locator, Page

# What learners type, decided on by reading the pages, by the sections that
# answer: one of those must be among the first three.
ANSWERS = {
    "01_attention#queries-keys-and-values": "query key value",
    "01_attention#why-divide-by-the-square-root-of-d-k "
    "questions#why-divide-by-the-square-root-of-d-k": (
        "why divide by square root"
    ),
    "01_attention#masks": "padding mask",
    "07_loss#every-place-after-the-true-words": "teacher forcing",
    "10_decoding#a-cache-of-keys-and-values": "kv cache",
    "17_modern#positions-that-turn": "rotary",
    "11_translation#bleu-by-hand": "bleu signature",
    "08_optimizer#why-a-warm-up 08_optimizer#the-schedule-of-the-paper": (
        "warmup"
    ),
    "toolkit_train#early-stopping": (
        "early stopping | patience | best checkpoint"
    ),
    "toolkit_errors#out-of-memory": "out of memory",
    "toolkit_train#from-two-files-to-a-translator "
    "toolkit_train#prepare-your-own-data": ("train on my own data"),
    "07_loss#labels-that-leave-some-doubt": "label smoothing",
    "03_embedding#sines-and-cosines-are-clocks "
    "03_embedding#the-layer-that-adds-them": ("positional encoding"),
    "10_decoding#the-beam 10_decoding#the-search": "beam search",
    "04_layers#before-or-after-the-sum "
    "04_layers#what-the-order-of-the-norm-does-to-a-deep-stack": (
        "pre-norm or post-norm"
    ),
    "04_layers#why-the-input-is-added-back": "residual connection",
    "toolkit_devices#several-gpus": "multiple gpus | two processes",
    "05_model#where-the-parameters-are": "how many parameters",
    "06_data#how-are-subwords-found 06_data#what-is-a-token": (
        "byte pair encoding"
    ),
    "02_heads#several-looks-at-once": (
        "why multiple heads | multi-head attention | multihead attention"
    ),
    "other_implementations#masks": "subsequent_mask",
    "11_translation#omissions-additions-hallucinations": (
        "why does a chatbot make things up | models make things up | source "
        "in the wrong language | source too long"
    ),
    "16_bugs#the-program-is-right-the-text-is-not": (
        "different tokenizer at test time | normaliser at test time"
    ),
    "16_bugs#exposure-bias 18_writing#exposure-bias-many-words-of-its-own": (
        "loss on own prefixes"
    ),
    "18_writing#exposure-bias-many-words-of-its-own": (
        "exposure bias | errors add up"
    ),
    "18_writing#if-a-language-model-searches": (
        "beam search on a language model"
    ),
    "17_modern#beyond-the-length-of-training": (
        "rotary stretching longer | position interpolation"
    ),
    "11_translation#the-training-data-of-the-shipped-models": (
        "training data of the translators | what did the models learn from |"
        " model card"
    ),
    "10_decoding#the-beam": "beam size",
    "09_training#stopping-and-going-on": "resume",
    "09_training#what-a-run-needs-to-know": "checkpoint",
    "few_pairs#gender-by-stereotype": (
        "gender | gender bias | nurse | stereotype | is the nurse a woman"
    ),
    "few_pairs#did-the-test-leak-into-the-training": (
        "did the test leak | test set contamination | near duplicates | "
        "train test overlap"
    ),
    "09_training#the-same-seed-two-runs": (
        "same seed | reproducible | deterministic | two runs differ"
    ),
    "decoder_only#induction-a-pattern-that-is-only-in-the-prompt": (
        "induction | induction head | copy a pattern from the prompt | "
        "in-context learning"
    ),
    "adapting#distillation-a-large-teacher-and-a-small-student": (
        "distillation | knowledge distillation | teacher and student | "
        "student model | teacher probabilities | soft targets"
    ),
    "few_pairs#several-languages-in-one-model": (
        "several languages | several languages in one model | multilingual |"
        " zero-shot | a pair never seen"
    ),
    "few_pairs#the-noun-in-the-sentence-before": (
        "noun in the sentence before | sentence before | pronoun sentence "
        "before | pronoun previous sentence | context of the previous "
        "sentence"
    ),
    "ladder#linear-attention-without-softmax-a-recurrence": (
        "linear attention | attention without softmax | recurrence without "
        "tanh | state space | delta rule | mamba"
    ),
    "ladder#mixture-of-experts-a-router-and-active-parameters": (
        "mixture of experts | router | active parameters"
    ),
    "13_sequences#what-can-a-transformer-compute": (
        "what can a transformer compute | parity | brackets dyck"
    ),
    "13_sequences#why-do-written-intermediate-steps-help": (
        "chain of thought | intermediate steps"
    ),
    "19_scale#why-a-power-law": "why a power law | power law",
    "teaching#how-long-the-notebooks-run": (
        "how long do the notebooks run | minutes of every notebook"
    ),
    "toolkit_sizes#where-an-update-s-time-goes": "profiler | page faults",
    "adapting#what-becomes-of-the-sixteen-bytes": "sixteen bytes",
    "18_writing#how-many-words-make-grammatical-english": (
        "how many words | grammatical english"
    ),
    "beam_search_settings#a-term-or-a-format-forced "
    "toolkit_own_program#a-rule-for-the-output": (
        "force a term | glossary | output format | forced prefix | "
        "terminology | digits only"
    ),
    "bert_and_relatives#sentence-vectors": (
        "sentence vectors | sentence embeddings | retrieval"
    ),
}
SEARCHES = {
    query: places.split()
    for places, queries in ANSWERS.items()
    for query in queries.split(" | ")
}


@pytest.fixture(scope="module")
def search(browser: Browser, book: Path) -> Iterator[Window]:
    """A window on the search page, opened as a file."""
    with opened(browser) as window:
        window.open(book / "search.html")
        yield window


def found(page: Page, words: str) -> list[str]:
    """Type words into the field; the addresses of what it finds, in order."""
    field = page.locator(".bd-search-container form.bd-search input")
    field.fill(words)
    field.press("Enter")
    links = page.locator("#search-results li > a")
    hrefs = links.evaluate_all("all => all.map(a => a.getAttribute('href'))")
    return [
        href.removeprefix("book/").replace(".html#", "#") for href in hrefs
    ]


def mark_texts(excerpt: Locator) -> list[str]:
    return excerpt.locator("mark").all_inner_texts()


@pytest.mark.parametrize("words", SEARCHES)
def test_the_right_section_is_among_the_first_three(search, words):
    first = found(search.page, words)[:3]
    assert set(first) & set(SEARCHES[words]), first


def test_a_word_of_the_language_itself_is_a_word(search):
    found(search.page, "constructor")
    marks = mark_texts(search.page.locator("#search-results"))
    assert all(mark.lower().startswith("constr") for mark in marks), marks


def test_a_letter_and_its_accent_may_be_typed_apart(search):
    expected = found(search.page, "Ärztin")
    assert expected
    apart = unicodedata.normalize("NFD", "Ärztin")
    assert found(search.page, apart) == expected


def test_what_is_found_is_led_to_and_shown_with_its_words(search):
    page = search.page
    first = found(page, "padding mask")[0]
    excerpt = page.locator("#search-results li").first.locator("p")
    marks = {m.lower().rstrip(".,:s") for m in mark_texts(excerpt)}
    assert marks and marks <= {"padding", "padded", "mask", "masked"}
    assert 10 < len(excerpt.inner_text().split()) < 40
    page.locator("#search-results li > a").first.press("Enter")
    page.wait_for_load_state()
    assert page.url.endswith(first.replace("#", ".html#"))
    page.go_back()
    assert page.url.endswith("?q=padding+mask")
    assert page.locator("#search-results li").count() > 3


def test_nothing_found_says_where_else_to_look(search):
    assert found(search.page, "zzyzx") == []
    assert "zzyzx" in search.page.get_by_role("status").inner_text()


def test_results_come_while_one_types(search):
    page = search.page
    found(page, "zzyzx")
    field = page.locator(".bd-search-container form.bd-search input")
    field.fill("")
    field.press_sequentially("rotary posi", delay=30)
    first = page.locator("#search-results li > a").first
    first.wait_for()
    assert "17_modern" in first.get_attribute("href")
    assert field.evaluate("e => e === document.activeElement")
    page.wait_for_url("**/search.html?q=rotary+posi")


def test_the_field_of_every_page_leads_here(search, book):
    page = search.open(book / "book" / "01_attention.html")
    page.locator("form.bd-search input").first.evaluate(
        "field => { field.value = 'rotary'; field.form.requestSubmit(); }"
    )
    page.wait_for_url("**/search.html?q=rotary")
    assert page.locator("#search-results li > a").count() > 0
    search.open(book / "search.html")


def test_results_hold_up_on_every_screen(search):
    page = search.page
    for size in (
        {"width": 360, "height": 740},
        {"width": 1280, "height": 800},
    ):
        page.set_viewport_size(size)
        assert found(page, "attention")
        assert pages.sideways(page) + pages.access(page) == []
    for mode in ("light", "dark"):
        assert pages.theme(page, mode) + pages.contrast(page) == []


def test_more_than_twenty_are_shown_when_asked_for(search):
    page = search.page
    assert len(found(page, "attention")) == 20
    page.get_by_role("button", name="show the other").press("Enter")
    assert page.locator("#search-results li").count() > 20
    focused = page.evaluate("document.activeElement.closest('li') !== null")
    assert focused
