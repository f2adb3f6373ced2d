"""Minimum risk: training for the score of the model's own output.

Written in book/risk.ipynb: edit the chapter, then `make package`.
"""

import torch
from jaxtyping import Float, Int
from sacrebleu.metrics import BLEU
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.data import Batch, Tokenizer, pad
from annotated_transformer.decoding import beam_decode
from annotated_transformer.embedding import BOS, EOS, PAD
from annotated_transformer.loss import log_probabilities
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.text.languages import bleu_tokenizer
from annotated_transformer.training import TrainConfig, evaluating

__all__ = ["risk", "ExpectedError", "preference_loss", "Preferences"]


def risk(
    log_p: Float[Tensor, "*sentences candidates"],
    errors: Float[Tensor, "*sentences candidates"],
) -> Float[Tensor, "*sentences"]:
    """The expected error of each sentence, over its candidates.

    log_p are the candidates' log-probabilities in nats, errors their errors.
    """
    return (log_p.softmax(-1) * errors).sum(-1)


class ExpectedError:
    """The loss of minimum-risk training: an Objective for `updates`.

    The model translates each source with a beam of `number` candidates. The
    risk of a source is multiplied by the number of tokens in its reference,
    because BLEU is counted over all words of a text. Sums, like batch_loss.
    language is that of the references; stretch limits candidates, as in
    length_limit.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        number: int,
        language: str = "",
        stretch: float = 1.0,
    ):
        self.tokenizer, self.number = tokenizer, number
        self.stretch = stretch
        self.bleu = BLEU(
            lowercase=True,
            tokenize=bleu_tokenizer(language),
            effective_order=True,
        )

    def error(self, output: list[int], reference: list[int]) -> float:
        """1 - BLEU of one sentence, ignoring case; 0 is perfect."""
        text = self.tokenizer.decode(output)
        right = self.tokenizer.decode(reference)
        score = self.bleu.sentence_score(text, [right]).score
        return max(0.0, 1 - score / 100)

    def candidates(
        self, model: EncoderDecoder, batch: Batch
    ) -> tuple[
        Int[Tensor, "rows length"], Float[Tensor, "sentences candidates"]
    ]:
        """The model's own translations as labels, and their errors."""
        number = self.number
        with evaluating(model):
            found = beam_decode(
                model,
                batch.source,
                number,
                number=number,
                stretch=self.stretch,
            )
        rows, errors, most = [], [], model.max_positions
        for beam, reference in zip(found, batch.labels.tolist(), strict=True):
            beam += beam[-1:] * (number - len(beam))  # the search found fewer
            rows += [[*x.tokens, *[EOS] * x.finished][:most] for x in beam]
            errors.append([self.error(b.tokens, reference) for b in beam])
        device = batch.source.device
        return pad(rows).to(device), torch.tensor(errors, device=device)

    def log_p(
        self,
        model: EncoderDecoder,
        batch: Batch,
        labels: Int[Tensor, "rows length"],
        config: TrainConfig,
    ) -> Float[Tensor, "rows"]:
        """Log-probabilities of translations, equally many for each source."""
        inputs, where = F.pad(labels, (1, -1), value=BOS), labels != PAD
        kind = batch.source.device.type
        with torch.autocast(kind, torch.bfloat16, enabled=config.bf16):
            logits = model(batch.source, inputs, where)
        return log_probabilities(logits.float(), labels)

    def __call__(
        self, model: EncoderDecoder, batch: Batch, config: TrainConfig
    ) -> Tensor:
        """The risk of each sentence times its reference's tokens, summed."""
        labels, errors = self.candidates(model, batch)
        log_p = self.log_p(model, batch, labels, config).view_as(errors)
        return (risk(log_p, errors) * batch.where.sum(-1)).sum()


def preference_loss(
    log_p: Float[Tensor, "*pairs 2"],
    first: Float[Tensor, "*pairs 2"],
    beta: float,
) -> Float[Tensor, "*pairs"]:
    """The loss of pairs, the preferred output first: -log sigma.

    log_p are log-probabilities in nats, first those of the initial model.
    """
    better, worse = (log_p - first).unbind(-1)
    return -F.logsigmoid(beta * (better - worse))


class Preferences(ExpectedError):
    """Direct preference optimization: an Objective for `updates`.

    The best of the translations that the first model finds is preferred to
    the worst. Like a risk, a pair's loss is multiplied by the number of
    tokens in its reference.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        number: int,
        first: EncoderDecoder,
        beta: float = 0.1,
        language: str = "",
    ):
        super().__init__(tokenizer, number, language)
        self.first, self.beta = first, beta

    def __call__(
        self, model: EncoderDecoder, batch: Batch, config: TrainConfig
    ) -> Tensor:
        """The loss of each pair times its reference's tokens, summed."""
        labels, errors = self.candidates(self.first, batch)
        ends = torch.stack([errors.argmin(1), errors.argmax(1)], dim=1)
        rows = torch.arange(len(labels), device=labels.device).view_as(errors)
        pairs = labels[rows.gather(1, ends).flatten()]
        with torch.no_grad(), evaluating(self.first):
            first = self.log_p(self.first, batch, pairs, config)
        log_p = self.log_p(model, batch, pairs, config)
        ratios = log_p.view_as(ends), first.view_as(ends)
        loss = preference_loss(*ratios, self.beta)
        return (loss * batch.where.sum(-1)).sum()
