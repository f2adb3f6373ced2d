"""Single words and the shipped translators: how many they translate right.

Words that stand twenty times in the captions, and whose single form is in no
training, are typed in six ways. Right is what the pairs link three times.
The record keeps the words, so that a test can ask again.
"""

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import multi30k

from .shared.grid import Result, grid
from .shared.shipped_translator import translator, weights
from .shared.word_pairs import forms, is_held_out, links_of

MODELS = ("multi30k-en-de", "multi30k-de-en", "multi30k-en-fr")
RECIPE = {"weights": {name: weights(name) for name in MODELS}}


def corpus(source: str = "en", target: str = "de") -> Corpus:
    """Captions, and their translations."""
    return multi30k(source, target)


def judged(seed: int, name: str) -> Result:
    """The shares of the words, form by form, and the words themselves."""
    model = translator(name)
    pairs = corpus(*name.split("-")[1:]).train
    words = forms(pairs, links_of(model, pairs))
    held = sorted(filter(is_held_out, words.translations))
    return {
        "words": len(held),
        "right": words.shares(model, held),
        "translations": {word: words.translations[word] for word in held},
        "phrases": {x: words.phrases[x] for x in held if x in words.phrases},
    }


RUNS = grid(
    judged,
    "{model} seed={seed}",
    model={name: {"name": name} for name in MODELS},
    seed=[0],
)
