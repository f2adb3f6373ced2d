"""Numbers that a GPU has still to compute, for a program that goes on."""

import torch
from torch import Tensor

__all__ = ["Pending"]


class Pending:
    """Numbers on their way from a device to the CPU, to be read later.

    Whoever asks a GPU for a number waits until it has done all that it was
    given, and then it has nothing to do. Here a copy is asked for at once.
    The one who reads it waits for what was given before, not for what came
    after.
    """

    def __init__(self, *numbers: Tensor):
        there, self.copied = torch.stack(numbers).detach(), None
        late = there.device.type != "mps"  # it does not say what has arrived
        self.numbers = there.to("cpu", non_blocking=late)
        if there.is_cuda:
            stream = torch.cuda.current_stream(there.device)
            self.copied = stream.record_event()

    def read(self) -> list[float]:
        """The numbers, in the order in which they were given."""
        if self.copied is not None:
            self.copied.synchronize()
        return self.numbers.tolist()
