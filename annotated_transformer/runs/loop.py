"""The loop of a run: updates, validation, checkpoints and an end."""

import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import torch

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import Batch, Tokenizer
from annotated_transformer.errors import Interrupted, UserError, out_of_memory
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.optimizer import adam
from annotated_transformer.risk import ExpectedError
from annotated_transformer.runs.batches import (
    TrainingText,
    encode_text,
    fixed_batches,
    prefetch,
)
from annotated_transformer.runs.devices import allow_tf32
from annotated_transformer.runs.folder import Numbers, RunFolder
from annotated_transformer.runs.memory import (
    largest_batch,
    too_little,
    try_batch,
)
from annotated_transformer.runs.progress import progress
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.speed.allocator import (
    UPDATES_BETWEEN_RETURNS,
    return_freed_memory,
)
from annotated_transformer.speed.attention_kernels import attention_kernel
from annotated_transformer.storage.checkpoints import (
    checkpoint_weights,
    load_checkpoint,
    save_checkpoint,
)
from annotated_transformer.storage.history import Result
from annotated_transformer.storage.model_folder import save_model
from annotated_transformer.storage.weight_files import set_weights
from annotated_transformer.system.console import console
from annotated_transformer.system.processes import ALONE, Processes
from annotated_transformer.system.signals import stop_signals
from annotated_transformer.training import (
    LARGEST_SEED,
    Objective,
    average,
    batch_loss,
    updates,
    validate,
)
from annotated_transformer.translation import Translator, corpus_scores

__all__ = ["Run"]

TRIED_ON = ("cuda",)  # the memory of a CPU is the system's, which may swap
GROWN = 20  # batches: in the first 20, one is nearly as large as any


@dataclass(frozen=True)
class Reading:
    """How a run reads its text: shuffled by which seed, since which update.

    Batches of another size are cut and shuffled anew, beginning with a new
    epoch, so the batches of before do not count.
    """

    seed: int
    since: int = 0  # updates that were made before

    def changed(self, times: int, since: int) -> "Reading":
        """As it is after so many changes; no run begins with this seed."""
        return Reading(self.seed + times * (LARGEST_SEED + 1), since)

    def read(self, step: int, each: int) -> int:
        """The batches read by a step, at so many for each update."""
        return (step - self.since) * each


class Run:
    """One run in its folder: the model, its data and where it stands."""

    def __init__(
        self,
        output: Path,
        corpus: Corpus,
        recipe: Recipe,
        tokenizer: Tokenizer,
        model: EncoderDecoder,
        processes: Processes = ALONE,
        valid_bleu: int = 0,
    ):
        self.corpus, self.tokenizer = corpus, tokenizer
        self.recipe, self.config = recipe, recipe.train
        every, last = self.config.checkpoint_every, self.config.average
        self.folder = RunFolder(output, every, last)
        self.processes, self.writes = processes, processes.rank == 0
        self.step, self.seconds = 0, 0.0
        self.reading = Reading(self.config.seed)
        self.learned: Numbers | None = None  # of the last checkpoint
        self.seed_of_zero: int | None = None
        self.text = TrainingText(corpus, tokenizer, recipe)
        valid, left_out = encode_text(
            "validation text", corpus.valid, tokenizer, recipe
        )
        self.valid = fixed_batches(valid, self.config.batch_tokens)
        places = sorted({*range(len(corpus.valid))} - {*left_out})
        self.to_translate = [corpus.valid[i] for i in places[:valid_bleu]]
        with closing(self.training_batches()) as batches:
            next(batches)  # better an error now than later
        self.model, self.device = model, next(model.parameters()).device
        self.optimizer = adam(model.parameters())
        self.objective: Objective = batch_loss
        if self.config.risk:
            self.objective = ExpectedError(tokenizer)

    def training_batches(self) -> Generator[Batch, None, None]:
        """The batches that are still to come to this process, for ever."""
        config, size = self.config, self.processes.size
        # dealt out like cards, so that nothing is read twice or left over
        read = self.reading.read(self.step, config.accumulate * size)
        self.text.seed = self.reading.seed
        yield from self.text.batches(read + self.processes.rank, size)

    def go(self, deadline: float | None = None) -> None:
        """Train from the last checkpoint to the end, or to the deadline."""
        self.rewind()
        with allow_tf32(self.device, self.recipe.tf32):
            if self.device.type in TRIED_ON:
                self.try_largest_batch()
            self.learn(deadline)
            if self.writes:
                self.finish()

    def try_largest_batch(self) -> None:
        """Run out of memory now or not at all, rather than after an hour."""
        config = self.config
        if self.step == config.steps:
            return
        longest = max(max(map(len, example)) for example in self.text.examples)
        with closing(self.training_batches()) as batches:
            grown = list(islice(batches, GROWN if self.text.resplit else 0))
        batch = largest_batch(config.batch_tokens, longest, grown)
        try:
            with attention_kernel(self.device, config.bf16):
                try_batch(
                    self.model, self.optimizer, self.objective, config, batch
                )
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            rows, length = batch.labels.shape
            where = (
                f"at the largest batch, {rows} sentences of {length} tokens"
            )
            saved = bool(self.folder.checkpoints())
            raise too_little(where, self.recipe, error, saved) from error

    def learn(self, deadline: float | None) -> None:
        """Make the updates that are left, or those before the deadline."""
        began = time.monotonic() - self.seconds
        every, steps = self.config.checkpoint_every, self.config.steps
        losses, tokens = [], 0
        with (
            attention_kernel(self.device, self.config.bf16),
            stop_signals() as stop,
            progress(steps, self.step) as show,
            closing(self.training_batches()) as made,
            closing(prefetch(made, self.device)) as batches,
        ):
            for update in updates(
                self.model,
                batches,
                self.optimizer,
                self.config,
                self.recipe.model.d_model,
                self.step,
                self.processes,
                self.objective,
            ):
                self.step = update.step
                self.check_seed()
                self.seconds = time.monotonic() - began
                losses.append(update.loss * update.tokens)
                tokens += update.tokens
                if self.step % UPDATES_BETWEEN_RETURNS == 0:
                    return_freed_memory()
                show(update)
                late = deadline is not None and time.monotonic() > deadline
                # 1 if out of time, more if a signal came to any process
                end = self.processes.largest(
                    1 + stop[0] if stop else int(late)
                )
                if end or self.step % every == 0 or self.step == steps:
                    update.check()  # so that nothing spoilt is written
                    loss = sum(torch.stack(losses).tolist()) / tokens
                    self.save(loss, tokens, update.rate)
                    losses, tokens = [], 0
                if end > 1:
                    raise Interrupted(end - 1, self.folder.path, self.step)
                if end:
                    break

    def check_seed(self) -> None:
        """UserError if another thread has seeded PyTorch during an update.

        The seeds of successive updates are successive numbers.
        """
        seed = torch.initial_seed() - self.step
        if self.seed_of_zero not in (None, seed):
            raise UserError(
                f"{self.folder.path}: by update {self.step} another thread "
                "had called torch.manual_seed, so this is not the model of "
                "its seed; resume where no other thread does"
            )
        self.seed_of_zero = seed

    def rewind(self) -> None:
        """Go back to the last checkpoint, if there is one."""
        checkpoints = self.folder.checkpoints()
        if checkpoints:
            last = checkpoints[-1]
            self.step = load_checkpoint(last, self.model, self.optimizer)
            steps = self.config.steps
            console.out(
                f"{self.folder.path}: all {steps} updates are done already"
                if self.step == steps
                else f"continuing after update {self.step} of {steps}"
            )
        if changes := self.folder.changes():
            since = changes[-1].after
            self.reading = self.reading.changed(len(changes), since)
        if not self.writes:
            return
        self.history = self.folder.history()
        self.seconds = self.folder.rewind(self.step)
        self.learned = self.folder.find_pending(self.step)
        if self.learned is None:
            self.folder.drop_pending()
            self.folder.prune()
            return
        self.seconds = self.learned["seconds"]
        with attention_kernel(self.device, self.config.bf16):
            self.note(self.learned)  # it was killed while it validated

    def save(self, loss: float, tokens: int, rate: float) -> None:
        """Write a checkpoint, validate, and write a line of metrics.

        The checkpoint comes first, for a validation may take long: where it
        is killed, `rewind` makes up for it.
        """
        if not self.writes:
            return
        self.learned = {
            "step": self.step,
            "seconds": self.seconds,
            "tokens": tokens,
            "rate": rate,
            "loss": loss,
        }
        self.stay()
        try:
            self.keep()
        except UserError:
            self.stay()
            raise
        self.note(self.learned)

    def keep(self) -> None:
        """Write a checkpoint, and what its line of metrics will hold."""
        if self.learned is not None:
            self.folder.add_pending(self.learned)
        path = self.folder.checkpoint(self.step)
        save_checkpoint(path, self.model, self.optimizer, self.step)

    def stay(self) -> None:
        """UserError if the folder has gone; its checkpoint is saved then."""
        gone = self.folder.follow(self.history, self.tokenizer)
        if gone:
            self.keep()
            raise UserError(
                f"{gone}; the checkpoint after update {self.step} is in "
                f"{self.folder.path}: go on there with `resume=True`"
            )

    def note(self, learned: Numbers) -> None:
        """Validate the last checkpoint, and write its line of metrics."""
        result, loss = validate(self.model, self.valid), learned["loss"]
        line = {
            **learned,
            "seconds": round(learned["seconds"], 1),
            "loss": round(loss, 4),
            "valid_loss": round(result.loss, 4),
            "valid_perplexity": round(result.perplexity, 3),
            "valid_accuracy": round(result.accuracy, 4),
        }
        told = ""
        if self.to_translate:
            line["valid_bleu"] = round(self.bleu(), 2)
            told = f"BLEU {line['valid_bleu']:.2f}, "
        self.stay()
        self.folder.add_metrics(line)
        console.out(
            f"update {self.step} of {self.config.steps}: loss {loss:.3f}, "
            f"validation perplexity {result.perplexity:.2f}, accuracy "
            f"{result.accuracy:.3f}, {told}{self.seconds / 60:.1f} minutes"
        )
        self.folder.prune()

    def bleu(self) -> float:
        """BLEU, cased, of greedy translations of validation sentences."""
        sources, references = zip(*self.to_translate, strict=True)
        translator = Translator(self.model, self.tokenizer)
        return corpus_scores(translator([*sources], beam=1), references).bleu

    def finish(self) -> None:
        """Make the final model: the mean of the last checkpoints.

        In a run too short for it the mean may be worse, on the validation
        text, than the last checkpoint, which is then the final model. A
        better model, of checkpoints that are here no more, stays.
        """
        self.stay()
        paths = self.folder.averaged()
        states = [checkpoint_weights(path) for path in paths]
        told = f"the mean of the last {len(states)} checkpoints"
        last = validate(self.model, self.valid)
        set_weights(self.model, average(states), paths[-1])
        result = validate(self.model, self.valid)
        if last.loss < result.loss:
            told = f"the last checkpoint, since {told} is worse"
            states, result = states[-1:], last
            set_weights(self.model, states[0], paths[-1])
        made = Result(
            updates=self.step,
            seconds=round(self.seconds, 1),
            averaged=len(states),
            valid_perplexity=round(result.perplexity, 3),
            valid_accuracy=round(result.accuracy, 4),
        )
        path, known = self.folder.path, self.folder.result()
        if is_better(known, made):
            console.out(
                f"{path}: the model of update {known.updates}, with a "
                f"validation perplexity of {known.valid_perplexity}, stays:"
                f" what can be made of update {self.step} is worse"
            )
            return
        history = replace(self.history, result=made)
        save_model(path, self.model, self.tokenizer, history)
        console.out(
            f"{path}: the model is ready after update {self.step} of "
            f"{self.config.steps}: {told}; "
            f"validation perplexity {result.perplexity:.2f}"
        )


def is_better(one: Result, other: Result) -> bool:
    """True if a result is of more updates, or as many that predict better."""
    ranks = []
    for result in (one, other):
        if result.updates is None or result.valid_perplexity is None:
            return False
        ranks.append((-result.updates, result.valid_perplexity))
    return ranks[0] < ranks[1]
