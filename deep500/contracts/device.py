"""Devices that a recipe requests; they are looked up when they are used, not when they are created."""

from typing import ClassVar

from ..definition import Definition


class Device(Definition):
    """A device on which an executor computes. `kind` is "cpu" or "gpu"; `index` counts the devices of that kind."""

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
