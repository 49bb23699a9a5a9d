"""Under which conditions a GPU worked: its clocks, its temperature, and why it was slowed down."""

from __future__ import annotations

from dataclasses import dataclass

from ..machine.host.files import HostFiles, Unavailable
from ..machine.host.nvidia import used_devices
from ..machine.host.nvml import Nvml
from .process import Reading, Sensor, attempt


@dataclass(frozen=True)
class GpuConditions:
    """One look at a device."""

    device: int
    sm_mhz: int
    memory_mhz: int
    celsius: int
    slowdowns: tuple[str, ...]


def look(word: str | None = None) -> list[GpuConditions]:
    """The conditions of the device of this word, or of all that programs may see; `Unavailable` without a driver."""
    with Nvml() as nvml:
        return [conditions(nvml, device) for device in used_devices(nvml, word)]


def conditions(nvml: Nvml, device: int) -> GpuConditions:
    return GpuConditions(
        device,
        nvml.clock_mhz(device, "sm"),
        nvml.clock_mhz(device, "memory"),
        nvml.temperature(device),
        tuple(nvml.slowdowns(device)),
    )


class GpuSensor(Sensor):
    """The lowest clocks, the highest temperature and all slowdowns, of a look before a block and one after it."""

    def __init__(self, host: HostFiles, device: str | None = None) -> None:
        super().__init__(host)
        self.device = device

    def start(self) -> None:
        self.looks: list[GpuConditions] = []
        self.missing: Unavailable | None = None
        self._look()

    def read(self) -> dict[str, Reading]:
        self._look()
        source = "NVML, the worse of before and after"
        slowdowns = self._slowdowns()
        reasons = f"NVML, before or after: {', '.join(slowdowns) or 'none'}"
        return {
            "gpu_clock": attempt(source, "MHz", "rate", self._lowest_sm),
            "gpu_memory_clock": attempt(source, "MHz", "rate", self._lowest_memory),
            "gpu_temperature": attempt(source, "°C", "cost", self._hottest),
            "gpu_slowdowns": attempt(
                reasons, "", "count", lambda: self._known(len(slowdowns))
            ),
        }

    def _look(self) -> None:
        try:
            self.looks += look(self.device)
        except Unavailable as reason:
            self.missing = reason

    def _slowdowns(self) -> list[str]:
        reasons: set[str] = set()
        for look in self.looks:
            reasons.update(look.slowdowns)
        return sorted(reasons)

    def _known(self, value: int) -> int:
        if self.missing is not None:
            raise self.missing
        return value

    def _lowest_sm(self) -> int:
        return self._known(min((look.sm_mhz for look in self.looks), default=0))

    def _lowest_memory(self) -> int:
        return self._known(min((look.memory_mhz for look in self.looks), default=0))

    def _hottest(self) -> int:
        return self._known(max((look.celsius for look in self.looks), default=0))
