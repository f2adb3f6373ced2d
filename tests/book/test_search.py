"""Search finds sections: what a learner types leads to where it is told."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pages
import pytest
from browser import Window, opened
from playwright.sync_api import Browser, Locator, Page

# Written before the search was: what learners type, and the sections that
# answer, decided on by reading the pages. One must be among the first three.
SEARCHES = {
    "query key value": ["01_attention#queries-keys-and-values"],
    "why divide by square root": [
        "01_attention#why-divide-by-the-square-root-of-d-k",
        "questions#why-divide-by-the-square-root-of-d-k",
    ],
    "padding mask": ["01_attention#masks"],
    "teacher forcing": ["07_loss#every-place-after-the-true-words"],
    "kv cache": [
        "10_decoding#a-cache-of-keys-and-values",
    ],
    "rotary": ["17_modern#positions-that-turn"],
    "bleu signature": ["11_translation#bleu-by-hand"],
    "warmup": [
        "08_optimizer#why-a-warm-up",
        "08_optimizer#the-schedule-of-the-paper",
    ],
    "early stopping": ["toolkit_train#early-stopping"],
    "patience": ["toolkit_train#early-stopping"],
    "best checkpoint": ["toolkit_train#early-stopping"],
    "out of memory": ["toolkit_errors#out-of-memory"],
    "train on my own data": [
        "toolkit_train#from-two-files-to-a-translator",
        "toolkit_train#prepare-your-own-data",
    ],
    "label smoothing": ["07_loss#labels-that-leave-some-doubt"],
    "positional encoding": [
        "03_embedding#sines-and-cosines-are-clocks",
        "03_embedding#the-layer-that-adds-them",
    ],
    "beam search": ["10_decoding#the-beam", "10_decoding#the-search"],
    "pre-norm or post-norm": [
        "04_layers#before-or-after-the-sum",
        "04_layers#what-the-order-of-the-norm-does-to-a-deep-stack",
    ],
    "residual connection": ["04_layers#why-the-input-is-added-back"],
    "multiple gpus": ["toolkit_devices#several-gpus"],
    "how many parameters": ["05_model#where-the-parameters-are"],
    "byte pair encoding": [
        "06_data#how-are-subwords-found",
        "06_data#what-is-a-token",
    ],
    "why multiple heads": [
        "02_heads#several-looks-at-once",
    ],
    "subsequent_mask": ["other_implementations#masks"],
}
# What readers typed in vain, once the search was there.
PREPARED = ["16_bugs#the-program-is-right-the-text-is-not"]
SPOILED = ["11_translation#omissions-additions-hallucinations"]
LONGER = ["17_modern#beyond-the-length-of-training"]
SHIPPED = ["11_translation#the-training-data-of-the-shipped-models"]
SEARCHES |= {
    "why does a chatbot make things up": SPOILED,
    "models make things up": SPOILED,
    "different tokenizer at test time": PREPARED,
    "normaliser at test time": PREPARED,
    "loss on own prefixes": [
        "16_bugs#exposure-bias",
        "18_writing#exposure-bias-many-words-of-its-own",
    ],
    "exposure bias": ["18_writing#exposure-bias-many-words-of-its-own"],
    "errors add up": ["18_writing#exposure-bias-many-words-of-its-own"],
    "beam search on a language model": [
        "18_writing#if-a-language-model-searches"
    ],
    "source in the wrong language": SPOILED,
    "source too long": SPOILED,
    "rotary stretching longer": LONGER,
    "position interpolation": LONGER,
    "training data of the translators": SHIPPED,
    "what did the models learn from": SHIPPED,
    "model card": SHIPPED,
    "beam size": ["10_decoding#the-beam"],
    "two processes": ["toolkit_devices#several-gpus"],
    "multi-head attention": ["02_heads#several-looks-at-once"],
    "multihead attention": ["02_heads#several-looks-at-once"],
    "resume": ["09_training#stopping-and-going-on"],
    "checkpoint": ["09_training#what-a-run-needs-to-know"],
}
# Questions of today, in their readers' words
GENDER = ["few_pairs#gender-by-stereotype"]
LEAK = ["few_pairs#did-the-test-leak-into-the-training"]
SEED = ["09_training#the-same-seed-two-runs"]
INDUCTION = ["decoder_only#induction-a-pattern-that-is-only-in-the-prompt"]
FORCED = [
    "beam_search_settings#a-term-or-a-format-forced",
    "toolkit_own_program#a-rule-for-the-output",
]
VECTORS = ["bert_and_relatives#sentence-vectors"]
SEARCHES |= {
    "gender": GENDER,
    "gender bias": GENDER,
    "nurse": GENDER,
    "stereotype": GENDER,
    "is the nurse a woman": GENDER,
    "did the test leak": LEAK,
    "test set contamination": LEAK,
    "near duplicates": LEAK,
    "train test overlap": LEAK,
    "same seed": SEED,
    "reproducible": SEED,
    "deterministic": SEED,
    "two runs differ": SEED,
    "induction": INDUCTION,
    "induction head": INDUCTION,
    "copy a pattern from the prompt": INDUCTION,
    "in-context learning": INDUCTION,
}
POWER = ["19_scale#why-a-power-law"]
MINUTES = ["teaching#how-long-the-notebooks-run"]
WHERE_TIME = ["toolkit_sizes#where-an-update-s-time-goes"]
ADAPTER = ["adapting#what-becomes-of-the-sixteen-bytes"]
GRAMMATICAL = ["18_writing#how-many-words-make-grammatical-english"]
COMPUTE = ["13_sequences#what-can-a-transformer-compute"]
STEPS = ["13_sequences#why-do-written-intermediate-steps-help"]
EXPERTS = ["ladder#mixture-of-experts-a-router-and-active-parameters"]
BEFORE = ["few_pairs#the-noun-in-the-sentence-before"]
LINEAR = ["ladder#linear-attention-without-softmax-a-recurrence"]
DISTILLED = ["adapting#distillation-a-large-teacher-and-a-small-student"]
SEVERAL = ["few_pairs#several-languages-in-one-model"]
SEARCHES |= {
    "distillation": DISTILLED,
    "knowledge distillation": DISTILLED,
    "teacher and student": DISTILLED,
    "student model": DISTILLED,
    "teacher probabilities": DISTILLED,
    "soft targets": DISTILLED,
    "several languages": SEVERAL,
    "several languages in one model": SEVERAL,
    "multilingual": SEVERAL,
    "zero-shot": SEVERAL,
    "a pair never seen": SEVERAL,
    "noun in the sentence before": BEFORE,
    "sentence before": BEFORE,
    "pronoun sentence before": BEFORE,
    "pronoun previous sentence": BEFORE,
    "context of the previous sentence": BEFORE,
    "linear attention": LINEAR,
    "attention without softmax": LINEAR,
    "recurrence without tanh": LINEAR,
    "state space": LINEAR,
    "delta rule": LINEAR,
    "mamba": LINEAR,
    "mixture of experts": EXPERTS,
    "router": EXPERTS,
    "active parameters": EXPERTS,
    "what can a transformer compute": COMPUTE,
    "parity": COMPUTE,
    "brackets dyck": COMPUTE,
    "chain of thought": STEPS,
    "intermediate steps": STEPS,
    "why a power law": POWER,
    "power law": POWER,
    "how long do the notebooks run": MINUTES,
    "minutes of every notebook": MINUTES,
    "profiler": WHERE_TIME,
    "page faults": WHERE_TIME,
    "sixteen bytes": ADAPTER,
    "how many words": GRAMMATICAL,
    "grammatical english": GRAMMATICAL,
    "force a term": FORCED,
    "glossary": FORCED,
    "output format": FORCED,
    "forced prefix": FORCED,
    "terminology": FORCED,
    "digits only": FORCED,
    "sentence vectors": VECTORS,
    "sentence embeddings": VECTORS,
    "retrieval": VECTORS,
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
    assert (search.complaints, search.escaped) == ([], [])


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
