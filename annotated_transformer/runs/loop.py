"""The loop of a run: updates, validation, checkpoints and an end."""

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.data import Batch, Tokenizer
from annotated_transformer.errors import Interrupted
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.optimizer import adam
from annotated_transformer.runs.batches import prefetch
from annotated_transformer.runs.devices import allow_tf32, attention_kernel
from annotated_transformer.runs.memory import try_batch
from annotated_transformer.runs.objectives import objective_of
from annotated_transformer.runs.progress_bar import progress_bar
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.windows import read_corpus
from annotated_transformer.storage.checkpoints import (
    Checkpoints,
    Line,
    Progress,
    checkpoint_weights,
)
from annotated_transformer.storage.history import History, Result
from annotated_transformer.storage.model_folder import save_model
from annotated_transformer.storage.weight_files import set_weights
from annotated_transformer.system.console import console
from annotated_transformer.system.processes import ALONE, Processes
from annotated_transformer.system.signals import stop_signals
from annotated_transformer.training import (
    Update,
    average,
    batch_loss,
    updates,
    validate,
)
from annotated_transformer.translation import Translator, corpus_scores

__all__ = ["Run"]

TRIED_ON = ("cuda",)  # the memory of a CPU is the system's, which may swap


class Run:
    """One run in its folder: the model, its text and how far it has come."""

    def __init__(
        self,
        run_dir: Path,
        corpus: Corpus | RunningText,
        recipe: Recipe,
        tokenizer: Tokenizer,
        model: EncoderDecoder,
        processes: Processes = ALONE,
        valid_bleu: int = 0,
        fine_tunes: bool = False,
        on_metrics: Callable[[Line], object] | None = None,
    ):
        self.run_dir = run_dir
        self.recipe, self.config = recipe, recipe.train
        self.tokenizer, self.processes = tokenizer, processes
        read = read_corpus(corpus, tokenizer, recipe)
        self.text, self.valid, pairs = read
        self.to_translate = pairs[:valid_bleu]
        self.on_metrics = on_metrics
        self.model, self.device = model, next(model.parameters()).device
        self.optimizer = adam(model.parameters())
        self.objective = objective_of(recipe.labs, tokenizer)
        every, last = self.config.checkpoint_every, self.config.average
        self.fine_tunes = fine_tunes
        # by a risk the loss is not meant to fall
        best = fine_tunes and not recipe.labs.risk
        self.checkpoints = Checkpoints(run_dir, every, last, best)
        self.progress = Progress()
        self.losses: list[Tensor] = []  # summed ones that progress lacks yet
        self.where = ""  # how far it is, for the message of an error

    @property
    def writes(self) -> bool:
        """True for the first process, which writes for all."""
        return self.processes.rank == 0

    @property
    def due(self) -> bool:
        """True where an interval ends that has no line of metrics yet.

        A fine-tuning has one for the model that it begins with, too.
        """
        step, config = self.progress.step, self.config
        ends = step % config.checkpoint_every == 0 or step == config.steps
        first = self.fine_tunes and not self.progress.metrics
        return ends and (self.progress.tokens > 0 or first)

    def go(self, history: History, deadline: float | None = None) -> None:
        """Train from the last checkpoint to the end, or to the deadline.

        The model that is made then keeps the history, and its own result.
        """
        with allow_tf32(self.device, self.recipe.tf32):
            with attention_kernel(self.device, self.config.bf16):
                if self.device.type in TRIED_ON:
                    self.try_largest_batches()
                self.resume()
                self.learn(deadline)
            if self.writes:
                self.finish(history)

    def resume(self) -> None:
        """Go back to the last checkpoint, if there is one."""
        self.model.train()  # a part of a given model may not be
        self.progress = self.checkpoints.load(self.model, self.optimizer)
        step, steps = self.progress.step, self.config.steps
        self.where = f"after update {step}"
        if step == 0:
            _, rows = self.text.reading(self.recipe)
            what, size = next(iter(rows.items()))
            console.out(f"planned: {rows['epochs']} epochs ({what}: {size})")
            return
        if self.writes:
            self.checkpoints.tidy(self.progress)
        console.out(f"continuing after update {step} of {steps}")

    def learn(self, deadline: float | None) -> None:
        """Make the updates that are left, or those before the deadline."""
        began = time.monotonic() - self.progress.seconds
        config, processes = self.config, self.processes
        with (
            stop_signals() as stop,
            progress_bar(config.steps, self.progress.step) as show,
            closing(self.batches()) as made,
            closing(prefetch(made, self.device)) as batches,
        ):
            if self.due:  # a signal came before it was validated
                self.save(validated=True)
            for update in updates(
                self.model,
                batches,
                self.optimizer,
                replace(config, seed=processes.seed(config.seed)),
                self.recipe.model.d_model,
                self.progress.step,
                self.objective,
                processes.mean_gradients if processes.size > 1 else None,
            ):
                self.count(update, time.monotonic() - began)
                show(update)
                late = deadline is not None and time.monotonic() > deadline
                # 1 if out of time, more if a signal came to any process
                end = processes.largest(1 + stop[0] if stop else int(late))
                if end or self.due:
                    update.check()  # so that nothing spoilt is written
                    self.save(validated=self.due and end < 2)
                if end > 1:
                    step = self.progress.step
                    raise Interrupted(end - 1, self.run_dir, step)
                if end:
                    break

    def count(self, update: Update, seconds: float) -> None:
        """Add an update to the progress; its loss stays on the device."""
        self.losses.append(update.loss * update.tokens)
        self.progress = replace(
            self.progress,
            step=update.step,
            seconds=seconds,
            tokens=self.progress.tokens + update.tokens,
        )
        self.where = f"after update {update.step}"

    def save(self, validated: bool = False) -> None:
        """Write a checkpoint, which ends an interval if it is validated."""
        loss = self.progress.loss
        for one in torch.stack(self.losses).tolist() if self.losses else []:
            loss += one  # in this order, wherever a stop has cut it
        self.losses.clear()
        self.progress = replace(self.progress, loss=loss)
        if validated:
            self.measure()
        if self.writes:
            self.checkpoints.save(self.model, self.optimizer, self.progress)
            if validated and self.on_metrics is not None:
                self.on_metrics(dict(self.progress.metrics[-1]))

    def measure(self) -> None:
        """Validate, and end an interval with a line of metrics; report it."""
        now = self.progress
        self.progress = replace(now, loss=0.0, tokens=0)
        if not self.writes:
            return
        result, learned = validate(self.model, self.valid), {}
        told = f"validation perplexity {result.perplexity:.2f}, "
        told += f"accuracy {result.accuracy:.3f}, "
        if now.tokens:  # some have been learned from
            loss = now.loss / now.tokens
            rate = self.config.rate(now.step, self.recipe.model.d_model)
            learned = {"rate": rate, "loss": round(loss, 4)}
            told = f"loss {loss:.3f}, {told}"
        line = {
            "step": now.step,
            "seconds": round(now.seconds, 1),
            "tokens": now.tokens,
            **learned,
            "valid_loss": round(result.loss, 4),
            "valid_perplexity": round(result.perplexity, 3),
            "valid_accuracy": round(result.accuracy, 4),
        }
        if self.to_translate:
            line["valid_bleu"] = round(self.bleu(), 2)
            told += f"BLEU {line['valid_bleu']:.2f}, "
        self.progress = replace(self.progress, metrics=(*now.metrics, line))
        console.out(
            f"update {now.step} of {self.config.steps}: {told}"
            f"{now.seconds / 60:.1f} minutes"
        )

    def bleu(self) -> float:
        """BLEU, cased, of greedy translations of validation sentences."""
        sources, references = zip(*self.to_translate, strict=True)
        translator = Translator(self.model, self.tokenizer)
        return corpus_scores(translator([*sources], beam=1), references).bleu

    def finish(self, history: History) -> None:
        """Make the final model: the mean of the last checkpoints.

        The mean may be worse, on the validation text, than the last checkpoint
        or the best one, if that was kept; then this is the final model.
        """
        paths = self.checkpoints.averaged()
        mean = f"the mean of the last {len(paths)} checkpoints"
        models = {
            mean: paths,
            f"the last checkpoint, since {mean} is worse": paths[-1:],
        }
        for step, path in self.checkpoints.best(self.progress).items():
            name = f"the checkpoint after update {step}, since {mean} is worse"
            models[name] = [path]
        results = {}
        for name, some in models.items():
            self.set_mean(some)
            results[name] = validate(self.model, self.valid)
        told = min(results, key=lambda name: results[name].loss)
        self.set_mean(models[told])
        result = results[told]
        made = Result(
            updates=self.progress.step,
            seconds=round(self.progress.seconds, 1),
            averaged=len(models[told]),
            valid_perplexity=round(result.perplexity, 3),
            valid_accuracy=round(result.accuracy, 4),
        )
        history = replace(history, result=made)
        save_model(self.run_dir, self.model, self.tokenizer, history)
        console.out(
            f"{self.run_dir}: the model is ready after update {made.updates} "
            f"of {self.config.steps}: {told}; "
            f"validation perplexity {result.perplexity:.2f}"
        )
        if self.fine_tunes:
            was = self.progress.metrics[0]["valid_perplexity"]
            console.out(
                f"before the first update it was {was:.2f}; what the model "
                "has forgotten of older text is not measured: score both "
                "models on such text, and mix some into the training if it "
                "is too much"
            )

    def set_mean(self, paths: list[Path]) -> None:
        """Give the model the mean of the weights of some checkpoints."""
        states = [checkpoint_weights(path) for path in paths]
        set_weights(self.model, average(states), paths[-1])

    def batches(self) -> Generator[Batch, None, None]:
        """The batches that are still to come to this process, for ever.

        They are dealt out like cards, so that nothing is read twice.
        """
        read = self.progress.step * self.recipe.batches_of_update
        each = self.processes
        return self.text.batches(read + each.rank, each.size)

    def try_largest_batches(self) -> None:
        """Run out of memory now or not at all, rather than after an hour.

        A risk is tried as the loss of its candidates, without their search.
        """
        objective = batch_loss if self.recipe.labs.risk else self.objective
        for batch in self.text.largest_batches():
            rows, length = batch.labels.shape
            self.where = (
                f"at the largest batch, {rows} sentences of {length} tokens"
            )
            try_batch(
                self.model, self.optimizer, objective, self.config, batch
            )
