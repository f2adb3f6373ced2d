"""Search finds sections: what a learner types leads to where it is told."""

import pytest
from check_html import Page as Html

# Written before the search was: what learners type, and the sections that
# answer, decided on by reading the pages. One must be among the first three.
SEARCHES = {
    "query key value": ["01_attention#queries-keys-and-values"],
    "why divide by square root": [
        "01_attention#why-divide-by-the-square-root-of-d-k",
        "questions#why-divide-by-the-square-root-of-d-k",
    ],
    "padding mask": ["01_attention#masks"],
    "teacher forcing": [
        "09_training#honest-numbers",
        "09_training#the-copy-task-learned",
    ],
    "kv cache": [
        "10_decoding#keys-and-values-kept",
        "10_decoding#what-a-token-costs",
    ],
    "rotary": ["17_modern#positions-that-turn"],
    "bleu signature": ["11_translation#bleu-by-hand"],
    "warmup": [
        "08_optimizer#why-begin-slowly",
        "08_optimizer#the-schedule-of-the-paper",
    ],
    "out of memory": ["toolkit_errors#errors-and-what-they-mean"],
    "train on my own data": ["toolkit_train#from-two-files-to-a-translator"],
    "label smoothing": ["07_loss#labels-that-leave-some-doubt"],
    "positional encoding": [
        "03_embedding#sines-and-cosines-are-clocks",
        "03_embedding#the-layer-that-adds-them",
    ],
    "beam search": ["10_decoding#the-beam"],
    "pre-norm or post-norm": [
        "04_layers#before-or-after-the-sum",
        "questions#norm-before-or-after-the-sum",
    ],
    "residual connection": ["04_layers#why-the-input-is-added-back"],
    "multiple gpus": ["toolkit_devices#one-machine-then-several"],
    "how many parameters": ["05_model#where-the-parameters-are"],
    "byte pair encoding": [
        "06_data#how-are-subwords-found",
        "06_data#what-is-a-token",
    ],
    "why multiple heads": [
        "02_heads#several-looks-at-once",
        "questions#why-several-heads-and-do-they-make-it-cheaper",
    ],
    "subsequent_mask": ["other_implementations#masks"],
}


@pytest.mark.parametrize("words", SEARCHES)
def test_the_right_sections_are_there(book, words):
    for address in SEARCHES[words]:
        name, _, anchor = address.partition("#")
        page = Html()
        page.feed((book / "book" / f"{name}.html").read_text("utf-8"))
        assert anchor in page.ids
