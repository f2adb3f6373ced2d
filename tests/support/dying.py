"""A command under torchrun, of which one process is killed at one instant.

The first words are its rank and the number of the update in which it dies, the
first time that it is started; in place of update 0 it does not even begin.
"""

import os
import signal
import sys
from itertools import count
from typing import Any

from torch import nn

from annotated_transformer.commands.app import main


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


_, rank, update, *words = sys.argv
if (rank, "0") == tuple(
    os.environ[name] for name in ("RANK", "TORCHELASTIC_RESTART_COUNT")
):
    numbers, clip = count(1), nn.utils.clip_grad_norm_

    def clip_or_die(*given: Any) -> Any:
        if next(numbers) == int(update):
            die()
        return clip(*given)

    vars(nn.utils)["clip_grad_norm_"] = clip_or_die
    if update == "0":
        die()
sys.argv = ["annotated-transformer", *words]
main()
