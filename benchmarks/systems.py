"""Others' layers with our sizes: the summed loss of a batch, as ours."""

from torch import Tensor, nn

from annotated_transformer.convert.huggingface import to_huggingface
from annotated_transformer.convert.torch_layers import TorchTransformer
from annotated_transformer.data import Batch
from annotated_transformer.embedding import PAD
from annotated_transformer.loss import label_smoothing_loss
from annotated_transformer.model import ModelConfig, transformer

SMOOTHING = 0.1


class TorchLoss(nn.Module):
    """The summed loss of a batch by torch's layers, dropout as in ours."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.model = TorchTransformer(config)

    def forward(self, batch: Batch) -> Tensor:
        """Logits where there are labels, as ours computes them."""
        logits = self.model(batch.source, batch.inputs, batch.places)
        return label_smoothing_loss(logits.float(), batch.targets, SMOOTHING)


class MarianLoss(nn.Module):
    """The summed loss of a batch by Marian, which is always post-norm."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.model = to_huggingface(transformer(config))

    def forward(self, batch: Batch) -> Tensor:
        """Logits at every position, as the model returns them."""
        output = self.model(
            input_ids=batch.source,
            attention_mask=batch.source != PAD,
            decoder_input_ids=batch.inputs,
            use_cache=False,
        )
        return nn.functional.cross_entropy(
            output.logits.float().flatten(0, 1),
            batch.labels.flatten(),
            ignore_index=PAD,
            label_smoothing=SMOOTHING,
            reduction="sum",
        )
