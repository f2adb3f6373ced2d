"""A training run: folder, progress, validation, checkpoints and signals."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress

from annotated_transformer.checkpoint import (
    checkpoint_weights,
    load_checkpoint,
    save_checkpoint,
    save_model,
    set_weights,
    write_text,
)
from annotated_transformer.corpora import Corpus
from annotated_transformer.data import (
    Batch,
    Example,
    Tokenizer,
    bucket,
    encode_pairs,
    make_batch,
    train_tokenizer,
    training_batches,
)
from annotated_transformer.errors import UserError
from annotated_transformer.model import PRESETS, ModelConfig, Transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.records import environment
from annotated_transformer.training import (
    TrainConfig,
    average,
    updates,
    validate,
)

console = Console(stderr=True)


@dataclass(frozen=True)
class Recipe:
    """What a run is asked to do; it is written to the run's run.json."""

    model: ModelConfig
    train: TrainConfig
    vocab_size: int = 8000
    tokenizer: str = "bpe"  # or unigram, char


SMALL_TEXT = TrainConfig(
    steps=3000,
    batch_tokens=4096,
    schedule="linear",
    warmup=600,
    peak_rate=4e-3,
    clip=1.0,
    checkpoint_every=128,
    average=8,
)
RECIPES = {
    "copy": Recipe(
        replace(PRESETS["tiny"], layers=2, dropout=0.0),
        replace(SMALL_TEXT, steps=600, warmup=100, batch_tokens=1024),
        vocab_size=32,
        tokenizer="char",
    ),
    "builtin": Recipe(
        replace(PRESETS["tiny"], layers=2, dropout=0.1),
        replace(SMALL_TEXT, steps=1500, warmup=200),
        vocab_size=800,
    ),
    "multi30k": Recipe(PRESETS["tiny"], SMALL_TEXT, vocab_size=6000),
}


def automatic_device() -> str:
    """The fastest kind of device at hand."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def train(
    output: Path | str,
    corpus: Corpus,
    recipe: Recipe,
    *,
    device: str | None = None,
    resume: bool = False,
    max_minutes: float | None = None,
    command: str = "",
) -> Path:
    """Train a model into the folder output, and return the folder.

    The folder must be new, unless resume continues a run of the same recipe
    and data. SIGINT and SIGTERM write a checkpoint and raise Interrupted.
    """
    output = Path(output)
    if (output / "run.json").exists() and not resume:
        raise UserError(
            f"{output}: a run is here already; continue it with --resume, "
            "or choose another folder"
        )
    if output.exists() and any(output.iterdir()) and not resume:
        raise UserError(f"{output}: the folder is not empty; choose another")
    if not resume:
        tokenizer = train_tokenizer(
            (side for pair in corpus.train for side in pair),
            recipe.vocab_size,
            recipe.tokenizer,
        )
    else:
        tokenizer = check_same_run(output, corpus, recipe)
    run = Run(output, corpus, recipe, tokenizer, device or automatic_device())
    if not resume:
        run.begin(command)
    return run.go(max_minutes)


def check_same_run(output: Path, corpus: Corpus, recipe: Recipe) -> Tokenizer:
    """The tokenizer of a run to resume, if recipe and data are its own."""
    try:
        began = json.loads((output / "run.json").read_text("utf-8"))
        tokenizer = Tokenizer((output / "tokenizer.model").read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(
            f"{output}: no run to resume here ({error}); start it without "
            "--resume"
        ) from error
    asked = asdict(recipe)
    for name, value in asked.items():
        if began["recipe"].get(name) != value:
            raise UserError(
                f"{output}: the run began with {name} = "
                f"{began['recipe'].get(name)}, now it is {value}; resume "
                "with the command that began it"
            )
    if began["data"]["sha256"] != corpus.checksums:
        raise UserError(
            f"{output}: the run began with other text; resume it with the "
            "files that began it"
        )
    return tokenizer


class Interrupted(Exception):
    """The run was told to stop, and has written a checkpoint."""

    def __init__(self, signal_number: int, folder: Path, step: int):
        super().__init__(
            f"stopped after update {step}; the same command with --resume "
            f"continues {folder}"
        )
        self.signal_number = signal_number


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list in place of dying of them."""
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda n, _: received.append(n))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Run:
    """One run in its folder: the model, its data and where it stands."""

    def __init__(
        self,
        folder: Path,
        corpus: Corpus,
        recipe: Recipe,
        tokenizer: Tokenizer,
        device: str,
    ):
        self.folder, self.corpus, self.tokenizer = folder, corpus, tokenizer
        self.recipe, self.config = recipe, recipe.train
        torch.manual_seed(self.config.seed)
        sizes = replace(recipe.model, vocab_size=len(tokenizer))
        self.model = Transformer(sizes).to(device)
        self.optimizer = adam(self.model.parameters())
        self.examples = self.encode("train", corpus.train)
        self.valid = self.batches(self.encode("valid", corpus.valid))
        self.step, self.seconds = 0, 0.0

    def encode(self, name: str, pairs: list[tuple[str, str]]) -> list[Example]:
        """Pairs as ids; says which ones are over the limit and left out."""
        limit = self.config.max_length
        examples, too_long = encode_pairs(pairs, self.tokenizer, limit)
        if too_long:
            console.print(
                f"{name}: left out {len(too_long)} pairs of more than "
                f"{limit} tokens, the first is pair {too_long[0] + 1} "
                "(--max-length raises the limit)"
            )
        if not examples:
            raise UserError(f"{name}: no sentence pair is left to use")
        return examples

    def batches(self, examples: list[Example]) -> list[Batch]:
        """Examples as batches in a fixed order, for validation."""
        lengths = [(len(source), len(target)) for source, target in examples]
        places = bucket(lengths, self.config.batch_tokens)
        return [make_batch([examples[i] for i in some]) for some in places]

    def begin(self, command: str) -> None:
        """Write what the run is, before its first update."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "tokenizer.model").write_bytes(self.tokenizer.model)
        about = {
            "command": command,
            "recipe": asdict(self.recipe),
            "data": {
                "name": self.corpus.name,
                "source": self.corpus.source,
                "target": self.corpus.target,
                "pairs": len(self.corpus.train),
                "sha256": self.corpus.checksums,
            },
            **environment(),
        }
        text = json.dumps(about, indent=1) + "\n"
        write_text(self.folder / "run.json", text)

    def go(self, max_minutes: float | None = None) -> Path:
        """Train from the last checkpoint to the end, or to the time limit."""
        checkpoints = self.checkpoints()
        if checkpoints:
            last = checkpoints[-1]
            self.step = load_checkpoint(last, self.model, self.optimizer)
            self.rewind_metrics()
        began, last_saved = time.monotonic() - self.seconds, self.step
        deadline = (max_minutes or float("inf")) * 60 + time.monotonic()
        losses, tokens = 0.0, 0
        with stop_signals() as stop, self.progress() as show:
            for update in self.updates():
                self.step = update.step
                losses += update.loss * update.tokens
                tokens += update.tokens
                self.seconds = time.monotonic() - began
                show(update)
                out_of_time = time.monotonic() > deadline
                if (
                    self.step % self.config.checkpoint_every == 0
                    or self.step == self.config.steps
                    or stop
                    or out_of_time
                ):
                    self.save(losses / tokens, tokens, update.rate)
                    losses, tokens, last_saved = 0.0, 0, self.step
                if stop:
                    raise Interrupted(stop[0], self.folder, last_saved)
                if out_of_time:
                    break
        self.finish()
        return self.folder

    def updates(self):
        """The updates that are still to be made."""
        batches = training_batches(
            self.examples,
            self.config.batch_tokens,
            self.config.seed,
            skip=self.step * self.config.accumulate,
        )
        return updates(
            self.model,
            batches,
            self.optimizer,
            self.config,
            self.recipe.model.d_model,
            self.step,
        )

    @contextmanager
    def progress(self):
        """A bar on a terminal; elsewhere nothing between checkpoints."""
        if not console.is_terminal:
            yield lambda update: None
            return
        with Progress(console=console) as bar:
            task = bar.add_task("training", total=self.config.steps)
            yield lambda update: bar.update(
                task,
                completed=update.step,
                description=f"loss {update.loss:.3f}",
            )

    def checkpoints(self) -> list[Path]:
        """The run's checkpoints, oldest first."""
        folder = self.folder / "checkpoints"
        return sorted(folder.glob("step-*.safetensors"))

    def save(self, loss: float, tokens: int, rate: float) -> None:
        """Validate, write a checkpoint and a line of metrics."""
        folder = self.folder / "checkpoints"
        folder.mkdir(exist_ok=True)
        path = folder / f"step-{self.step:08d}.safetensors"
        save_checkpoint(path, self.model, self.optimizer, self.step)
        result = validate(self.model, self.valid)
        line = {
            "step": self.step,
            "seconds": round(self.seconds, 1),
            "tokens": tokens,
            "rate": rate,
            "loss": round(loss, 4),
            "valid_loss": round(result.loss, 4),
            "valid_perplexity": round(result.perplexity, 3),
            "valid_accuracy": round(result.accuracy, 4),
        }
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        console.print(
            f"update {self.step} of {self.config.steps}: loss {loss:.3f}, "
            f"validation perplexity {result.perplexity:.2f}, accuracy "
            f"{result.accuracy:.3f}, {self.seconds / 60:.1f} minutes"
        )
        for old in self.checkpoints()[: -self.config.average]:
            old.unlink()

    def rewind_metrics(self) -> None:
        """Drop the lines that a checkpoint did not outlive."""
        path = self.folder / "metrics.jsonl"
        if not path.exists():
            return
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        kept = [line for line in lines if line["step"] <= self.step]
        write_text(path, "".join(json.dumps(line) + "\n" for line in kept))
        self.seconds = kept[-1]["seconds"] if kept else 0.0

    def finish(self) -> None:
        """Average the last checkpoints into the final model and save it."""
        states = [checkpoint_weights(p) for p in self.checkpoints()]
        set_weights(self.model, average(states), self.folder)
        result = validate(self.model, self.valid)
        about = json.loads((self.folder / "run.json").read_text("utf-8"))
        about["result"] = {
            "updates": self.step,
            "seconds": round(self.seconds, 1),
            "averaged": len(states),
            "valid_perplexity": round(result.perplexity, 3),
            "valid_accuracy": round(result.accuracy, 4),
        }
        save_model(self.folder, self.model, self.tokenizer, about)
        console.print(
            f"{self.folder}: average of {len(states)} checkpoints, "
            f"validation perplexity {result.perplexity:.2f}"
        )


def average_checkpoints(output: Path, checkpoints: list[Path]) -> None:
    """Make a model folder of the mean of some checkpoints of one run."""
    if output.exists():
        raise UserError(f"{output}: exists already; choose another folder")
    states = [checkpoint_weights(path) for path in checkpoints]
    folder = checkpoints[0].resolve().parent.parent
    try:
        about = json.loads((folder / "run.json").read_text("utf-8"))
        tokenizer = Tokenizer((folder / "tokenizer.model").read_bytes())
    except OSError as error:
        raise UserError(
            f"{checkpoints[0]}: not inside the folder of a run ({error})"
        ) from error
    sizes = ModelConfig(**about["recipe"]["model"])
    model = Transformer(replace(sizes, vocab_size=len(tokenizer)))
    for state, path in zip(states, checkpoints, strict=True):
        set_weights(model, state, path)
    set_weights(model, average(states), output)
    about["result"] = {"averaged": len(states)}
    save_model(output, model, tokenizer, about)
