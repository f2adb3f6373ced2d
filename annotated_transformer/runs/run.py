"""A run in its folder: updates, checkpoints, the final model.

`Run.learn` is the loop around the updates of the training chapter.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import torch
from rich.progress import Progress as Bar
from torch import Tensor

from ..adapting import merge_adapters
from ..data import Batch, Tokenizer
from ..errors import Interrupted
from ..model import EncoderDecoder
from ..optimizer import make_optimizer
from ..storage.adapters import save_adapters
from ..storage.checkpoints import (
    Checkpoints,
    Line,
    Progress,
    checkpoint_weights,
)
from ..storage.history import History, Result
from ..storage.model_folder import save_model
from ..storage.weight_files import set_weights
from ..system.console import console
from ..system.processes import (
    ALONE,
    Processes,
    Together,
)
from ..system.signals import stop_signals
from ..text.checks import NOTHING, Known
from ..training import (
    Update,
    accumulate,
    average,
    evaluating,
    updates,
    validate,
)
from ..translation import Translator, corpus_scores
from .batches import Texts
from .devices import allow_tf32, attention_kernel
from .objectives import objective_of
from .planning import planned, trial
from .recipes import Recipe

LATE = 1  # why processes end together: out of time, or this plus a signal


class Run:
    """One run in its folder: the model, its text and how far it has come."""

    def __init__(
        self,
        run_dir: Path,
        texts: Texts,
        recipe: Recipe,
        tokenizer: Tokenizer,
        model: EncoderDecoder,
        processes: Processes = ALONE,
        *,
        valid_bleu: int = 0,
        fine_tunes: bool = False,
        known: Known = NOTHING,
        on_metrics: Callable[[Line], object] | None = None,
    ):
        self.run_dir = run_dir
        self.recipe, self.config = recipe, recipe.train
        self.tokenizer, self.processes = tokenizer, processes
        self.together = Together(processes, recipe.processes)
        self.writes = processes.rank == 0  # the first process, for all
        self.known = known  # of the text, and of its parent's
        self.learned, self.valid, pairs, self.into = texts
        self.to_translate = pairs[:valid_bleu]
        self.on_metrics = on_metrics
        self.model, self.device = model, next(model.parameters()).device
        self.optimizer = make_optimizer(
            model, self.config.optimizer, self.config.weight_decay
        )
        self.objective = objective_of(
            recipe.labs, tokenizer, self.into, known.stretch
        )
        every, last = self.config.checkpoint_every, self.config.average
        self.checkpoints = Checkpoints(run_dir, every, last)
        self.fine_tunes = fine_tunes
        # by a risk or noise the loss on clean text is not meant to fall
        tunes = fine_tunes and not (recipe.labs.risk or recipe.labs.noise)
        self.takes_best = tunes or self.config.patience > 0
        self.progress = Progress()
        self.losses: list[Tensor] = []  # summed ones that progress lacks yet

    @property
    def due(self) -> bool:
        """True where an interval ends that has no line of metrics yet.

        A fine-tuning has one for the model that it begins with, too.
        """
        step, config = self.progress.step, self.config
        ends = step % config.checkpoint_every == 0 or step == config.steps
        first = self.fine_tunes and not self.progress.metrics
        return ends and (self.progress.tokens > 0 or first)

    @property
    def stalled(self) -> bool:
        """True if no checkpoint has been better for as long as patience is."""
        patience = self.config.patience
        return patience > 0 and self.progress.no_better() >= patience

    def fit(self, seconds: float) -> None:
        """Plan as many updates as fit in the seconds, by a short trial."""
        began = time.monotonic()
        with self.arithmetic():
            update, validation = trial(self, seconds)
        left = seconds - (time.monotonic() - began)
        width = self.recipe.model.d_model
        plan = planned(self.config, width, left, update, validation)
        self.recipe, self.config = replace(self.recipe, train=plan), plan
        self.checkpoints.every = plan.checkpoint_every
        console.out(
            f"an update takes {update:.2g} s, so {plan.steps} are planned, "
            f"{plan.warmup} of them warm-up, with a checkpoint every "
            f"{plan.checkpoint_every}"
        )

    def go(self, history: History, deadline: float | None = None) -> None:
        """Train from the last checkpoint to the end, or to the deadline.

        The model that is made then keeps the history, and its own result.
        """
        with self.arithmetic():
            self.from_last_checkpoint()
            self.learn(deadline)
        if self.writes:
            with allow_tf32(self.device, self.recipe.tf32):
                self.finish(history)

    @contextmanager
    def arithmetic(self) -> Iterator[None]:
        """How a GPU multiplies in updates."""
        with (
            allow_tf32(self.device, self.recipe.tf32),
            attention_kernel(self.device, self.config.bf16),
        ):
            yield

    def from_last_checkpoint(self) -> None:
        """Go back to the last checkpoint; a new run has that of no update."""
        self.model.train()  # a part of a given model may not be
        self.progress = self.checkpoints.load(self.model, self.optimizer)
        step, steps = self.progress.step, self.config.steps
        if step == 0:
            _, rows = self.learned.amount(self.recipe)
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
        each, together = config.accumulation_steps, self.together
        with (
            stop_signals() as stop,
            progress_bar(config.steps, self.progress.step) as show,
            closing(self.batches()) as batches,
        ):
            if self.due:  # a signal came before it was validated
                self.save(validated=True)
            if processes.largest(int(self.stalled)):
                return
            for update in updates(
                self.model,
                batches,
                self.optimizer,
                replace(config, accumulation_steps=each * len(together.hands)),
                self.recipe.model.d_model,
                self.progress.step,
                self.objective,
                together if self.recipe.processes > 1 else accumulate,
            ):
                self.count(update, time.monotonic() - began)
                show(update)
                late = deadline is not None and time.monotonic() > deadline
                why = processes.largest(
                    LATE + stop[0] if stop else LATE * late
                )
                signal, due = max(why - LATE, 0), self.due
                if why or due:
                    update.check()  # so that nothing spoilt is written
                    self.save(validated=due and not signal)
                if signal:
                    raise Interrupted(signal, self.run_dir, self.progress.step)
                if why or (due and processes.largest(int(self.stalled))):
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
        perplexity = round(result.perplexity, 3)
        told = f"validation perplexity {perplexity:.2f}, "
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
            "valid_perplexity": perplexity,
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
        with evaluating(self.model):
            translator = Translator(self.model, self.tokenizer)
            translator.known = self.known
            outputs = translator([*sources], beam=1)
        return corpus_scores(outputs, references, self.into).bleu

    def finish(self, history: History) -> None:
        """Make the final model: the mean of the last checkpoints.

        The mean may be worse, on the validation text, than the last checkpoint
        or the best one, if that was kept; then this is the final model.
        """
        paths = self.checkpoints.averaged()
        mean = "the last checkpoint"
        if len(paths) > 1:
            mean = f"the mean of the last {len(paths)} checkpoints"
        models = {mean: paths, "the last checkpoint": paths[-1:]}
        best = self.checkpoints.best(self.progress) if self.takes_best else {}
        for step, path in best.items():
            models[f"the checkpoint after update {step}"] = [path]
        results = {}
        for name, some in models.items():
            self.set_mean(some)
            results[name] = validate(self.model, self.valid)
        told = min(results, key=lambda name: results[name].loss)
        self.set_mean(models[told])
        result = results[told]
        reason = "" if told == mean else f", since {mean} is worse"
        made = Result(
            updates=self.progress.step,
            seconds=round(self.progress.seconds, 1),
            averaged=len(models[told]),
            valid_perplexity=round(result.perplexity, 3),
            valid_accuracy=round(result.accuracy, 4),
        )
        history = replace(history, result=made)
        if self.recipe.labs.adapters:
            save_adapters(self.model, self.run_dir / "adapters.safetensors")
            merge_adapters(self.model)
        save_model(self.run_dir, self.model, self.tokenizer, history)
        whole = made.updates == self.config.steps or self.stalled
        ready = "the model" if whole else "an unfinished model"
        console.out(
            f"{self.run_dir}: {ready} is ready after update {made.updates} "
            f"of {self.config.steps}: {told}{reason}; "
            f"validation perplexity {made.valid_perplexity:.2f}"
        )
        self.advise(result.loss)
        if self.fine_tunes:
            was = self.progress.metrics[0]["valid_perplexity"]
            console.out(
                f"before the first update it was {was:.2f}; what is forgotten "
                "of older text is not measured: score both models on such text"
            )

    def advise(self, loss: float) -> None:
        """Say what the end of a run means, where it is not what was planned.

        The loss is the final model's.
        """
        step, best = self.progress.step, self.progress.best_step
        if self.stalled and step < self.config.steps:
            console.out(
                f"the training has ended before update {self.config.steps} "
                f"(`patience={self.config.patience}`): no checkpoint after "
                f"that of update {best} was better"
            )
        elif step < self.config.steps:
            rate = partial(self.config.rate, d_model=self.recipe.model.d_model)
            falls = rate(self.config.steps) < rate(step)
            told = "before the learning rate came down" if falls else "early"
            if step < self.config.warmup:
                told = "while the learning rate still rose"
            console.out(
                f"the training was cut off {told}, so a model that was "
                "planned for the same time would be better: go on with "
                "`resume=True`, or begin another with `plan_minutes`"
            )
        losses = {x["step"]: x["valid_loss"] for x in self.progress.metrics}
        labs = self.recipe.labs
        judged = not (self.takes_best or labs.risk or labs.noise)
        if judged and losses.get(best, loss) < loss - 1e-4:
            console.out(
                f"the checkpoint after update {best}, which is kept, predicts "
                "the validation text better; `patience` ends a training there"
            )

    def set_mean(self, paths: list[Path]) -> None:
        """Give the model the mean of the weights of some checkpoints."""
        states = [checkpoint_weights(path) for path in paths]
        set_weights(self.model, average(states), paths[-1])

    def batches(self) -> Generator[Batch, None, None]:
        """The batches that are still to come to this process, for ever.

        They are dealt out like cards, so that nothing is read twice; of each
        of its hands the process has those of an update, then of the next.
        They are made ahead of the model.
        """
        with (
            closing(self.still_to_come()) as made,
            closing(prefetch(made, self.device)) as batches,
        ):
            yield from batches

    def still_to_come(self) -> Generator[Batch, None, None]:
        """The same batches, made when they are asked for."""
        read = self.progress.step * self.recipe.batches_of_update
        hands = [
            self.learned.batches(read + hand, self.recipe.processes)
            for hand in self.together.hands
        ]
        for hand in cycle(hands):
            yield from islice(hand, self.config.accumulation_steps)


def prefetch(
    batches: Iterator[Batch], device: torch.device | str, number: int = 2
) -> Generator[Batch, None, None]:
    """The same batches on the device, prepared while others are computed on.

    A thread builds and copies them, as many ahead as the number says; what
    it raises, the reader gets in the place of the batch. From pinned memory
    a GPU copies them in its own time, and nobody here waits for it.
    """
    pinned = torch.device(device).type == "cuda"

    def ready() -> Batch | None:
        batch = next(batches, None)
        if batch is not None and pinned:
            batch = Batch(*(x.pin_memory() for x in vars(batch).values()))
        return batch and batch.to(device, non_blocking=pinned)

    with ThreadPoolExecutor(1) as thread:
        coming = deque(thread.submit(ready) for _ in range(number))
        while (batch := coming.popleft().result()) is not None:
            coming.append(thread.submit(ready))
            yield batch


@contextmanager
def progress_bar(steps: int, done: int) -> Iterator[Callable[[Update], None]]:
    """A function to call after each update; it moves a bar on a terminal.

    Lines printed meanwhile appear above the bar. A loss, for which a device
    is waited for, is shown once a second.
    """
    hidden, shown = console.quiet or not console.is_terminal, 0.0
    # redirected, what StandardError writes would come back to it for ever
    with Bar(console=console, redirect_stderr=False, disable=hidden) as bar:
        task = bar.add_task("training", total=steps, completed=done)

        def show(update: Update) -> None:
            nonlocal shown
            bar.update(task, completed=update.step)
            if not hidden and time.monotonic() > shown + 1:
                update.check()
                bar.update(task, description=f"loss {float(update.loss):.3f}")
                shown = time.monotonic()

        yield show
