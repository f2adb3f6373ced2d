"""Exported translators beside the package: text in, text out, one thread.

`python -m benchmarks.exported RECORD.json` exports a shipped model, and has
each system translate a test of Multi30k, greedily and with a beam of 5.
"""

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import ctranslate2
import onnxruntime
import sentencepiece
import transformers

from annotated_transformer.convert import translate_onnx
from annotated_transformer.convert.export import export_model
from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.storage.model_folder import load_model, read_config
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.machine import environment
from annotated_transformer.translation import Translator, corpus_scores

from .clock import Keeper, Maker, Rows, interleave, summary
from .command_line import record_path

MODEL, SIZE, ROUNDS = "multi30k-en-de", 40, 3
Translate = Callable[[list[str]], list[str]]


def ours(folder: Path, beam: int) -> Translate:
    """The search of this package."""
    translator = Translator.load(folder)
    return lambda texts: translator(texts, beam=beam, split="")


def theirs(folder: Path, beam: int) -> Translate:
    """Hugging Face's generate, as the folder's card has it."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)

    def translate(texts: list[str]) -> list[str]:
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        found = model.generate(**batch, num_beams=beam)
        return tokenizer.batch_decode(found, skip_special_tokens=True)

    return translate


def ct2(folder: Path, beam: int) -> Translate:
    """CTranslate2, as the folder's card has it for this model."""
    pieces = sentencepiece.SentencePieceProcessor(f"{folder}/tokenizer.model")
    engine = ctranslate2.Translator(str(folder), intra_threads=1)
    search = {"length_penalty": 0.45, "no_repeat_ngram_size": 3}

    def translate(texts: list[str]) -> list[str]:
        rows = [[*row, "</s>"] for row in pieces.encode(texts, out_type=str)]
        found = engine.translate_batch(rows, beam_size=beam, **search)
        return [pieces.decode(one.hypotheses[0]) for one in found]

    return translate


def onnx(folder: Path, beam: int) -> Translate:
    """onnxruntime and the search of the manual's page, for this model."""
    translator = translate_onnx.Translator(folder)
    one = onnxruntime.SessionOptions()
    one.intra_op_num_threads = 1
    for graph in ("encoder", "decoder"):
        session = onnxruntime.InferenceSession(f"{folder}/{graph}.onnx", one)
        setattr(translator, graph, session)
    return lambda texts: translator(texts, width=beam, no_repeat=3)


def work(
    make: Callable[..., Translate], batches: list[list[str]], *options: object
) -> Keeper:
    """The job of a system: translate one batch, keep what came out."""
    return Keeper(make(*options), batches)


def measure(place: Path) -> dict[str, Rows]:
    """Rates, equal translations and BLEU of each system, and sizes."""
    systems: dict[str, tuple[Callable[[Path, int], Translate], Path]]
    systems = {"this package": (ours, find_model(MODEL))}
    systems["transformers"] = theirs, place / "transformers"
    known = load_model(MODEL)
    export_model(place / "transformers", "huggingface", *known)
    systems["ONNX"] = onnx, place / "onnx"
    export_model(place / "onnx", "onnx", *known)
    for kind in ("float32", "int8", "bfloat16"):
        systems[f"CTranslate2, {kind}"] = ct2, place / kind
        export_model(place / kind, "ctranslate2", *known, kind)
    test = next(iter(multi30k("en", "de").tests.values()))
    test = sorted(test, key=lambda pair: len(pair[0]))
    texts, references = map(list, zip(*test, strict=True))
    batches = [texts[i : i + SIZE] for i in range(0, len(texts), SIZE)]
    found = {}
    for beam in (1, 5):
        jobs: dict[str, Maker] = {
            name: (work, (make, batches, folder, beam))
            for name, (make, folder) in systems.items()
        }
        samples, memory, outputs = interleave(jobs, len(batches), ROUNDS)
        rows = found[f"beam {beam}"] = summary(samples, memory)
        said = {x: [*chain(*parts.values())] for x, parts in outputs.items()}
        for name, row in rows.items():
            same = zip(said["this package"], said[name], strict=True)
            row["identical"] = sum(a == b for a, b in same)
            row["bleu"] = corpus_scores(said[name], references, "de").bleu
            files = systems[name][1].iterdir()
            row["megabytes"] = sum(x.stat().st_size for x in files) / 1e6
            told = {
                x: round(y, 2)
                for x, y in row.items()
                if isinstance(y, int | float)
            }
            print(beam, name, told, flush=True)
    return found


if __name__ == "__main__":
    path = record_path("benchmarks.exported", __doc__)
    about = environment() | {"command": "python -m benchmarks.exported"}
    for module in (transformers, ctranslate2, onnxruntime):
        about["versions"][module.__name__] = module.__version__
    given = read_config(find_model(MODEL)).sha256["model.safetensors"]
    about |= {"model": MODEL, "weights": given}
    with TemporaryDirectory() as folder:
        record = about | measure(Path(folder))
    write_text(path, json.dumps(record, indent=1) + "\n")
