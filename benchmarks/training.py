"""Training: target tokens a second, and the share of the machine's peak."""

from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.data import Batch, Example, make_batch
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam, set_rate
from annotated_transformer.runs.devices import attention_kernel
from annotated_transformer.runs.prepare import build_model
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import TrainConfig, batch_loss, updates

from .clock import Job

CLIP = 1.0


def on_device(parts: Sequence[list[Example]], device: str) -> list[Batch]:
    """The parts of the work as batches, where they are needed."""
    return [make_batch(part).to(device) for part in parts]


def ours(
    config: ModelConfig,
    parts: Sequence[list[Example]],
    device: str = "cpu",
    bf16: bool = False,
    compiled: bool = False,
) -> Job:
    """The loop of this package, one update a part."""
    recipe = Recipe(config, TrainConfig(clip=CLIP, bf16=bf16))
    model = build_model(recipe, device, compiled)
    batches = on_device(parts, device)
    queue: deque[Batch] = deque()
    turns = updates(
        model,
        iter(queue.popleft, None),
        adam(model.parameters()),
        recipe.train,
        config.d_model,
    )

    def job(part: int) -> int:
        queue.append(batches[part])
        with attention_kernel(torch.device(device), bf16):
            return next(turns).tokens

    return job


def theirs(
    build: Callable[[ModelConfig], nn.Module],
    config: ModelConfig,
    parts: Sequence[list[Example]],
    device: str = "cpu",
    bf16: bool = False,
    compiled: bool = False,
) -> Job:
    """The same update of a model that returns the summed loss."""
    torch.manual_seed(0)
    model = build(config).to(device).train()
    if compiled:
        model.compile(dynamic=True)
    batches = on_device(parts, device)
    optimizer = adam(model.parameters())
    set_rate(optimizer, 1e-4)

    def job(part: int) -> int:
        batch = batches[part]
        tokens = batch.tokens
        with torch.autocast(device, torch.bfloat16, enabled=bf16):
            loss = model(batch) / tokens
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        return tokens

    return job


def product(size: int, device: str = "cpu", bf16: bool = False) -> Job:
    """A large matrix product: the most that the machine can do."""
    kind = torch.bfloat16 if bf16 else torch.float32
    a, b = torch.randn(2, size, size, device=device, dtype=kind)

    def job(part: int) -> int:
        torch.mm(a, b)
        return 2 * size**3

    return job


def operations(
    config: ModelConfig, parts: Sequence[list[Example]], device: str = "cpu"
) -> int:
    """Floating-point operations of all parts, those of matrix products."""
    model = transformer(config).to(device)
    with FlopCounterMode(display=False) as counter:
        for batch in on_device(parts, device):
            # fused attention is not counted on every device; its formula is
            with sdpa_kernel(SDPBackend.MATH):
                batch_loss(model, batch, TrainConfig()).backward()
    return counter.get_total_flops()
