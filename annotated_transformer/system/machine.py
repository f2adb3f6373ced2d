"""The machine: its processor, its threads and the packages on it."""

import platform
from dataclasses import asdict, dataclass
from datetime import date
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from ..errors import UserError

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "safetensors", "numpy")


@dataclass(frozen=True)
class Machine:
    """What a program has computed on."""

    system: str
    processor: str  # or GPU
    threads: int


def this_machine(device: str = "cpu") -> Machine:
    """The machine that this is, with a device that it computes on."""
    return Machine(
        platform.system(), processor(device), torch.get_num_threads()
    )


def processor(device: str) -> str:
    """The name of the GPU, else of the CPU as far as Linux tells it."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        for line in cpus.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that a result rests on.

    Without +cpu or +cu130: that PyTorch is one version, built twice.
    """
    found = {name: version(name).partition("+")[0] for name in PACKAGES}
    return {"python": platform.python_version(), **found}


def environment(device: str = "cpu") -> dict[str, Any]:
    """Date, versions and machine, as a record of an experiment has them."""
    return {
        "date": date.today().isoformat(),
        "versions": versions(),
        "machine": asdict(this_machine(device)),
    }


def needed(module: str, extra: str) -> Any:
    """The module, imported; UserError says how to install the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise UserError(
            f"this needs the package {package}, which cannot be imported: "
            f"pip install 'annotated-transformer[{extra}]'"
        ) from error
