"""Devices that a recipe asks for; they are looked for when they are used, not when they are written."""

from typing import ClassVar

from ..definition import Definition


class Device(Definition):
    """Where an executor computes. `kind` is "cpu" or "gpu"; `index` counts the devices of that kind."""

    kind: ClassVar[str]
    index: int = 0

    @property
    def word(self) -> str:
        """The device as an option of `d5` has it: "cpu", "gpu" or "gpu:1"."""
        return self.kind if self.index == 0 else f"{self.kind}:{self.index}"


class CPUDevice(Device):
    """The processor of this machine."""

    kind = "cpu"


class GPUDevice(Device):
    """A graphics processor."""

    kind = "gpu"
