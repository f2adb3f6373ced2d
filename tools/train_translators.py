"""Train the models that come with the package, from nothing.

`make translators` does it in runs/translators. What is there is skipped, and
what was broken off goes on. Models made on another machine are alike, not
equal. With --updates 5 it is a rehearsal: so many updates a model, and forty
lines of each text that they translate.

A model's name begins with its languages, and a text's ends with them.
"""

import argparse
import gzip
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from pack_model import pack
from record_scores import known_history, score

from annotated_transformer import Translator
from annotated_transformer.corpora.multi30k import (
    DATA_VARIABLE,
    MULTI30K_TESTS,
    multi30k,
)
from annotated_transformer.corpora.parallel_text import (
    read_parallel,
    write_tsv,
)
from annotated_transformer.data import encode_pairs
from annotated_transformer.errors import UserError
from annotated_transformer.runs.batches import fixed_batches
from annotated_transformer.runs.devices import choose_device
from annotated_transformer.storage.history import Search
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.text_lines import read_lines
from annotated_transformer.text.noise import typing_errors
from annotated_transformer.training import average, validate
from experiments.shared.drawn_translations import draw_translations
from experiments.shared.made_pairs import extra_pairs, swapped
from experiments.shared.multi30k_descriptions import multi30k_descriptions
from experiments.shared.word_pairs import links_of, short_pairs

FEW = 40  # lines of a text in a rehearsal


def transformer(*words: str | Path) -> None:
    """Run a command of the package, and end where it fails."""
    program = [sys.executable, "-m", "annotated_transformer"]
    process = subprocess.Popen([*program, *map(str, words)])
    try:
        status = process.wait()
    except KeyboardInterrupt:  # it was told as well, and keeps what is done
        status = process.wait()
    if status:
        sys.exit(status)


def describe(output: Path, most: int | None) -> None:
    """Multi30k's descriptions in the language that the name ends with."""
    lines = multi30k_descriptions(output.suffix[1:])[:most]
    write_text(output, "".join(f"{line}\n" for line in lines))


def every_eighth(output: Path, text: Path) -> None:
    lines = read_lines(text)[7::8]
    write_text(output, "".join(f"{line}\n" for line in lines))


def more_pairs(
    output: Path, forward: Path, backward: Path, source: Path, target: Path
) -> None:
    """Of what each model finds, the three most like what a person wrote."""
    device = choose_device()
    there, back = (Translator.load(x, device) for x in (forward, backward))
    there.beam = back.beam = 8
    pairs = read_parallel([source, target])
    write_tsv(output, extra_pairs(there, back, pairs))


def draw(output: Path, model: Path, text: Path) -> None:
    """Sources for targets, each token drawn from the ten likeliest."""
    lines = read_lines(text)
    made = draw_translations(Translator.load(model), lines, 4096, top_k=10)
    write_tsv(output, zip(made, lines, strict=True))


def forward(output: Path, model: Path, text: Path, *beam: int) -> None:
    """Targets for sources, as a search finds them."""
    words = ["--forward", f"--output={output}"]
    words += [f"--beam={width}" for width in beam]
    transformer("backtranslate", model, text, *words)


def swap(output: Path, pairs: Path) -> None:
    """The same pairs for the other direction."""
    write_tsv(output, swapped(read_parallel([pairs])))


def misspell(output: Path, pairs: Path) -> None:
    """Each pair twice, with typing errors in its source."""
    rng = random.Random(0)
    made = [
        (typing_errors(source, rng, 0.15, least=1), target)
        for source, target in 2 * read_parallel([pairs])
    ]
    write_tsv(output, made)


def shorten(output: Path, model: Path, source: Path, target: Path) -> None:
    """Single words and noun phrases of pairs, as a model links their words."""
    pairs = read_parallel([source, target])
    links = links_of(Translator.load(model), pairs)
    write_tsv(output, short_pairs(pairs, links))


def mean(output: Path, before: Path, after: Path) -> None:
    """The mean of a model, counted once, and what it became, counted twice."""
    old, _, _ = load_model(before)
    model, tokenizer, known = load_model(after)
    history = known_history(known)
    states = [old.state_dict(), *[model.state_dict()] * 2]
    model.load_state_dict(average(states))
    pairs = multi30k(history.data.source, history.data.target).valid
    valid, _ = encode_pairs(pairs, tokenizer, 256)
    found = validate(model, fixed_batches(valid, 4096))
    result = replace(
        history.result,
        valid_perplexity=round(found.perplexity, 3),
        valid_accuracy=round(found.accuracy, 4),
    )
    save_model(output, model, tokenizer, replace(history, result=result))


class Workshop:
    """A folder in which texts and models are made, each of them once."""

    def __init__(self, folder: Path, updates: int | None = None):
        self.folder, self.updates = folder, updates
        folder.mkdir(parents=True, exist_ok=True)
        self.text = Path(os.environ.get(DATA_VARIABLE) or folder / "text")
        os.environ[DATA_VARIABLE] = str(self.text)

    def once(
        self, name: str, make: Callable[..., None], *given: object
    ) -> None:
        """Make a file or folder of that name, of others, unless it is there.

        A word among the arguments is the name of another one here.
        """
        if not (output := self.folder / name).exists():
            folder = self.folder
            make(output, *(folder / x if type(x) is str else x for x in given))

    def captions(self, part: str, languages: str) -> list[Path]:
        """Both texts of captions; in a rehearsal, files of their beginning."""
        paths = [self.text / f"{part}.{x}.gz" for x in languages.split("-")]
        if not self.updates:
            return paths
        for path in paths:
            with gzip.open(path) as lines:
                few = b"".join(islice(lines, FEW))
            (self.folder / path.name).write_bytes(gzip.compress(few))
        return [self.folder / path.name for path in paths]

    def train(self, name: str, *words: str) -> None:
        """Train a model, or go on with its training."""
        output = self.folder / name
        if (output / "config.json").exists():
            return
        if (output / "run.json").exists():
            words = (*words, "--resume")
        if self.updates:
            words = (*words, "--max-steps", str(self.updates))
        transformer("train", output, *words)

    def translator(
        self, name: str, options: str, start: str = "", extra: str = ""
    ) -> None:
        """Train a translator of captions; extra has files with shares."""
        source, target, *_ = name.split("-")
        words = f"--task multi30k-2017 --source {source} --bf16"
        words += f" --target {target}"
        more = ["--from", str(self.folder / start)] if start else []
        for file in extra.split():
            more += ["--extra", str(self.folder / file)]
        self.train(name, *words.split(), *options.split(), *more)

    def further(self, name: str, options: str, start: str, extra: str) -> None:
        """The same, from the weights of another model."""
        usual = "--preset tiny --peak-rate 2e-3 --warmup 100"
        self.translator(name, f"{usual} {options}", start, extra)

    def risk(self, name: str, options: str, start: str) -> None:
        """The same, for BLEU itself, on people's pairs alone."""
        usual = "--dropout 0.1 --batch-tokens 1024 --warmup 20"
        usual += " --checkpoint-every 100 --risk"
        self.translator(name, f"{usual} {options}", start)

    def more_pairs(self, name: str, forward: str, backward: str) -> None:
        """More pairs of the captions."""
        texts = self.captions("train", name.rpartition(".")[2])
        self.once(name, more_pairs, forward, backward, *texts)

    def short(self, name: str, start: str) -> None:
        """The last stage, with single words."""
        texts = self.captions("train", name)
        self.once(f"short.{name}", shorten, start, *texts)
        self.once(f"again.{name}", forward, start, texts[0])
        options = "--preset tiny --dropout 0.1 --noise 2 --max-steps 800"
        options += " --peak-rate 1e-3 --warmup 50 --checkpoint-every 100"
        extra = f"again.{name}=0.35 short.{name}=0.3"
        self.translator(name, options, start, extra)

    def ship(self, name: str, no_repeat: int, *learned: Path) -> None:
        """Pack a model with its scores."""
        if (output := self.folder / f"multi30k-{name}").exists():
            return
        languages = name.removesuffix("-pairs")
        model, record = self.folder / name, self.folder / f"{name}.json"
        for test in MULTI30K_TESTS:
            source, target = self.captions(test, languages)
            score(model, source, target, record, Search(no_repeat=no_repeat))
        valid, _ = self.captions("val", languages)
        pack(output, model, record, valid, learned)


def from_pairs(shop: Workshop) -> None:
    """English and German: 29,000 pairs, and what models make of them."""
    shop.translator("en-de-0", "--preset tiny")
    shop.translator("de-en-0", "--preset tiny --max-steps 5000")
    shop.more_pairs("1.en-de", "en-de-0", "de-en-0")
    shop.once("1.de-en", swap, "1.en-de")
    wide = "--preset tiny --set model.d_ff=512 --max-steps"
    shop.translator("en-de-1", f"{wide} 8500", extra="1.en-de")
    shop.translator("de-en-1", f"{wide} 5500", extra="1.de-en")
    shop.more_pairs("2.en-de", "en-de-1", "de-en-1")
    shop.once("2.de-en", swap, "2.en-de")
    shop.further("en-de-2", "--max-steps 2000", "en-de-1", "2.en-de")
    shop.further("de-en-2", "--max-steps 3000", "de-en-1", "2.de-en")
    shop.more_pairs("3.en-de", "en-de-2", "de-en-2")
    shop.once("3.de-en", swap, "3.en-de")
    shop.further("en-de-3", "--max-steps 4500", "en-de-2", "3.en-de")
    shop.further("de-en-3", "--max-steps 4500", "de-en-2", "3.de-en")
    shop.risk("en-de-pairs", "8 --max-steps 350 --peak-rate 3e-4", "en-de-3")
    shop.risk("de-en-pairs", "4 --max-steps 600 --peak-rate 2e-4", "de-en-3")
    shop.ship("en-de-pairs", 3)
    shop.ship("de-en-pairs", 3)


def from_descriptions(shop: Workshop) -> None:
    """Those of the package, which learn from what models make of these."""
    shop.once("back.en-de", draw, "de-en-pairs", "descriptions.de")
    shop.once("ahead.en-de", forward, "en-de-pairs", "descriptions.en")
    shop.once("ahead.de-en", forward, "de-en-pairs", "descriptions.de")
    shop.once("back.de-en", swap, "ahead.en-de")
    shop.more_pairs("4.en-de", "en-de-pairs", "de-en-pairs")
    shop.once("4.de-en", swap, "4.en-de")
    usual, extra = "--dropout 0.1 --max-steps", "back.de-en=0.5"
    more = "back.en-de=0.5 ahead.en-de=0.2"
    shop.further("en-de-4", f"{usual} 6000", "en-de-pairs", more)
    shop.further("de-en-4", f"{usual} 3500", "de-en-pairs", extra)
    for pair in ("en-de", "de-en"):
        extra = f"4.{pair}=0.35 back.{pair}=0.25 ahead.{pair}=0.15"
        shop.further(f"{pair}-5", f"{usual} 4000", f"{pair}-4", extra)
    shop.risk("en-de-6", "8 --max-steps 350 --peak-rate 3e-4", "en-de-5")
    shop.risk("de-en-6", "4 --max-steps 600 --peak-rate 2e-4", "de-en-5")

    # and as people type: with noise, the descriptions translated once more
    shop.once("typed.back.en-de", draw, "de-en-6", "descriptions.de")
    shop.once("typed.ahead.en-de", forward, "en-de-6", "descriptions.en")
    shop.once("typed.ahead.de-en", forward, "de-en-6", "descriptions.de")
    shop.once("typed.back.de-en", swap, "typed.ahead.en-de")
    for pair in ("en-de", "de-en"):
        extra = f"typed.back.{pair}=0.4 typed.ahead.{pair}=0.25"
        noisy = "--dropout 0.1 --noise 2 --max-steps 2500"
        shop.further(f"{pair}-7", noisy, f"{pair}-6", extra)

    # at last single words and noun phrases, which no caption is
    shop.short("en-de", "en-de-7")
    shop.short("de-en", "de-en-7")
    shop.ship("en-de", 3)
    shop.ship("de-en", 3)


def french(shop: Workshop) -> None:
    """English and French: subwords of their own, from the two of pairs."""
    new = "--new-subwords --preset tiny --peak-rate 3e-3 --warmup 300"
    shop.translator("en-fr-1", f"{new} --max-steps 3000", "en-de-pairs")
    shop.translator("fr-en-1", f"{new} --max-steps 3000", "de-en-pairs")
    usual = "--max-steps 3500 --checkpoint-every 250"
    shop.more_pairs("1.en-fr", "en-fr-1", "fr-en-1")
    shop.further("en-fr-2", usual, "en-fr-1", "1.en-fr")
    shop.risk("en-fr-3", "4 --max-steps 800 --peak-rate 3e-4", "en-fr-2")
    shop.more_pairs("2.en-fr", "en-fr-3", "fr-en-1")
    shop.further("en-fr-4", usual, "en-fr-3", "2.en-fr")
    shop.risk("en-fr-5", "4 --max-steps 600 --peak-rate 3e-4", "en-fr-4")
    shop.risk("en-fr-pairs", "8 --max-steps 600 --peak-rate 3e-4", "en-fr-5")
    shop.ship("en-fr-pairs", 4)
    shop.once("typed.ahead.en-fr", forward, "en-fr-pairs", "descriptions.en")
    noisy = "--preset tiny --dropout 0.1 --noise 4 --peak-rate 1e-3"
    longer = f"{noisy} --warmup 100 --max-steps 2500 --checkpoint-every 250"
    extra = "typed.ahead.en-fr=0.5"
    shop.translator("en-fr-6", longer, "en-fr-pairs", extra)

    # and once more with typing errors in all made pairs; then the mean of the
    # model before and after, since such pairs make it worse at clean text
    shop.once("descriptions.some.en", every_eighth, "descriptions.en")
    shop.once("ahead.en-fr", forward, "en-fr-6", "descriptions.some.en", 2)
    shop.once("misspelt.en-fr", misspell, "ahead.en-fr")
    shorter = f"{noisy} --warmup 100 --max-steps 1000 --checkpoint-every 125"
    shop.translator("en-fr-7", shorter, "en-fr-6", "misspelt.en-fr=0.5")
    shop.once("en-fr-8", mean, "en-fr-6", "en-fr-7")
    shop.short("en-fr", "en-fr-8")
    learned = shop.text / "train.en.gz", shop.folder / "descriptions.en"
    shop.ship("en-fr", 4, *learned)


def make_all(shop: Workshop) -> None:
    """All of them, in the order in which one needs the other."""
    for language in ("en", "de"):
        few = FEW if shop.updates else None
        shop.once(f"descriptions.{language}", describe, few)
    from_pairs(shop)
    from_descriptions(shop)
    french(shop)
    for task in ("pronouns", "plays"):  # of the grammar, and of letters
        shop.train(task, "--task", task)
        shop.once(f"packed-{task}", pack, task)


def main() -> None:
    """Make them where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--updates", type=int, help="so many: a rehearsal")
    given = parser.parse_args()
    name = "translators-rehearsed" if given.updates else "translators"
    try:
        make_all(Workshop(given.folder or Path("runs", name), given.updates))
    except UserError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
