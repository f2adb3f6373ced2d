"""Exported translators beside the package: text in, text out, one thread.

`python -m benchmarks.exported RECORD.json` exports a shipped model, and has
each system translate the first test set of Multi30k, greedily and with the
search of its folder.
"""

import json
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from annotated_transformer.convert.ctranslate2 import save_ctranslate2
from annotated_transformer.convert.huggingface import (
    generation,
    save_huggingface,
)
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.machine import environment
from annotated_transformer.translation import Translator, corpus_scores

from .clock import Job, interleave, summary

MODEL, LANGUAGES, SIZE = "multi30k-en-de", ("en", "de"), 40
OURS = "this package"
Texts = list[str]


def package(folder: Path, beam: int) -> Callable[[Texts], Texts]:
    """The search of this package."""
    translator = Translator.load(folder)
    return lambda texts: translator(texts, beam=beam, split="")


def transformers(folder: Path, beam: int) -> Callable[[Texts], Texts]:
    """Hugging Face's generate, as the folder says."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)

    def translate(texts: Texts) -> Texts:
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        found = model.generate(**batch, num_beams=beam)
        return tokenizer.batch_decode(found, skip_special_tokens=True)

    return translate


def ctranslate2(folder: Path, beam: int, kind: str) -> Callable[..., Texts]:
    """CTranslate2, as the card of the folder says."""
    from ctranslate2 import Translator
    from sentencepiece import SentencePieceProcessor

    model, _, history = load_model(MODEL)
    how = generation(model, history)
    pieces = SentencePieceProcessor(str(folder / "tokenizer.model"))
    engine = Translator(str(folder), compute_type=kind, intra_threads=1)

    def translate(texts: Texts) -> Texts:
        found = engine.translate_batch(
            [[*row, "</s>"] for row in pieces.encode(texts, out_type=str)],
            beam_size=beam,
            length_penalty=how["length_penalty"],
            no_repeat_ngram_size=how["no_repeat_ngram_size"],
            max_decoding_length=how["max_length"],
        )
        return [pieces.decode(one.hypotheses[0]) for one in found]

    return translate


def work(make: Callable[..., Callable], batches: list, *options) -> Job:
    """The job of a system: translate one batch, keep what came out."""
    translate = make(*options)

    def job(part: int) -> int:
        job.outputs[part] = translate(batches[part])
        return len(batches[part])

    job.outputs = {}
    return job


def measure(folder: Path, rounds: int) -> dict:
    """Rates, equal translations and BLEU of each system, and sizes."""
    loaded = load_model(MODEL)
    save_huggingface(folder / "transformers", *loaded)
    for kind in (None, "int8", "bfloat16"):
        save_ctranslate2(folder / f"ctranslate2, {kind}", *loaded, kind)
    test = sorted(
        next(iter(multi30k(*LANGUAGES).tests.values())),
        key=lambda pair: len(pair[0]),
    )
    sources, references = zip(*test, strict=True)
    batches = [[*sources[i : i + SIZE]] for i in range(0, len(test), SIZE)]
    found: dict = {"model": MODEL, "sentences": len(test)}
    for beam in (1, 5):
        there = folder / "ctranslate2, None"
        makers = {
            OURS: (package, find_model(MODEL), beam),
            "transformers": (transformers, folder / "transformers", beam),
            "CTranslate2": (ctranslate2, there, beam, "float32"),
        }
        for kind, computes in (("int8", "int8"), ("bfloat16", "float32")):
            there = folder / f"ctranslate2, {kind}"
            name = f"CTranslate2, {kind}"
            makers[name] = (ctranslate2, there, beam, computes)
        jobs = {
            name: (work, (make, batches, *options))
            for name, (make, *options) in makers.items()
        }
        samples, memory, outputs = interleave(jobs, len(batches), rounds)
        rows = found[f"beam {beam}"] = summary(samples, memory)
        texts = {x: [*chain(*y.values())] for x, y in outputs.items()}
        for name, row in rows.items():
            same = zip(texts[OURS], texts[name], strict=True)
            row["identical"] = sum(a == b for a, b in same)
            row["bleu"] = corpus_scores(texts[name], references, "de").bleu
            files = [*Path(makers[name][1]).iterdir()]
            row["bytes"] = sum(file.stat().st_size for file in files)
            print(
                f"beam {beam}  {name:24}{row['rate']:8.1f} captions/s "
                f"{row['ratio']:6.2f} x {row['identical']:6} {row['bleu']:.2f}"
                f"  {row['bytes'] / 1e6:.1f} MB",
                flush=True,
            )
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    with TemporaryDirectory() as place:
        record = environment() | measure(Path(place), rounds=3)
    record["command"] = "python -m benchmarks.exported"
    for path in sys.argv[1:]:
        write_text(Path(path), json.dumps(record, indent=1) + "\n")
