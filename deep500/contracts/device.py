"""Devices: what a user asks for, what a framework has, and which of them is meant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..definition import Definition
from ..errors import Unsupported

HOST = "cpu"
ACCELERATOR = "gpu"  # the framework's accelerator, whatever its own name for it is
SIMULATED = "sim"  # PyTorch's, on any machine; it is never meant by "gpu"


class Device(Definition):
    """A device that a recipe asks for: it is looked up when it is used. `index` counts the devices of its kind."""

    kind: ClassVar[str]
    index: int = 0

    @property
    def word(self) -> str:
        """The device as an option of `d5`: "cpu", "gpu" or "gpu:1"."""
        if self.index == 0:
            return self.kind
        return f"{self.kind}:{self.index}"


class CPUDevice(Device):
    """The processor of this machine."""

    kind = "cpu"


class GPUDevice(Device):
    """A graphics processor."""

    kind = "gpu"


def named_device(word: str) -> Device | str:
    """The device of a word as a recipe has it; a framework's own word, such as "cuda:0", stays a text."""
    kind, _, index = word.partition(":")
    for device in (CPUDevice, GPUDevice):
        if device.kind == kind and (not index or index.isdecimal()):
            return device(int(index or 0))
    return word


@dataclass(frozen=True)
class DeviceInfo:
    """A device that a framework has on this machine. What is not known is an empty text or 0."""

    word: str  # as the framework names it: "cpu", "cuda:0", "mps:0", "sim:1"
    name: str = ""  # of the product
    driver: str = ""
    memory: int = 0  # bytes

    @property
    def kind(self) -> str:
        return self.word.partition(":")[0]

    @property
    def index(self) -> int:
        """The place among the devices of its kind."""
        return int(self.word.partition(":")[2] or 0)


def resolve(
    asked: str, devices: Sequence[DeviceInfo], owner: str, reason: str = ""
) -> DeviceInfo:
    """The device that is meant by "cpu", "gpu", "gpu:1" or by a framework's own word, such as "cuda:0" or "mps".

    Raises `Unsupported`, which names the devices that `owner` has, and the reason if one is given, if there is no such
    device.
    """
    kind, _, number = asked.partition(":")
    if kind == ACCELERATOR:
        kinds = [device.kind for device in devices]
        real = [kind for kind in kinds if kind not in (HOST, SIMULATED)]
        kind = next(iter(real), kind)
    for device in devices:
        if device.kind == kind and str(device.index) == (number or "0"):
            return device
    known = ", ".join(device.word for device in devices)
    because = f" ({reason})" if reason else ""
    raise Unsupported(
        f"{owner} has no device {asked!r} on this machine, only {known}{because}: give one of them, or leave the "
        "device out (`--device cpu`); `--device sim` simulates an accelerator in PyTorch"
    )
