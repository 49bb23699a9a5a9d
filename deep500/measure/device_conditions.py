"""Under which conditions devices worked while a block was timed: clocks, temperature, reasons for being slowed down."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ..schema import Between, Count
from .machine.host.files import Unavailable
from .machine.host.nvidia import used_devices
from .machine.host.nvml import Nvml
from .sensing.conditions import GpuConditions, conditions

if TYPE_CHECKING:
    from .bench_blocks import TimedBlock

Celsius = Annotated[int, Between(-300, 100_000)]


@dataclass(frozen=True)
class DeviceConditions:
    """The worse of two looks at a device, before a block and after it."""

    device: str  # as frameworks name it, such as "cuda:0"
    sm_mhz: Count
    memory_mhz: Count
    celsius: Celsius
    slowdowns: Sequence[str]


class DeviceWatch:
    """Looks at the devices of a run between its blocks, as far as NVIDIA's driver tells of them."""

    def __init__(self, groups: Sequence[str]) -> None:
        """`groups` are those of the entries, such as "pytorch" or "pytorch@cuda:0"."""
        self._nvml: Nvml | None = None
        self._numbers: dict[str, int] = {}
        words = {group.partition("@")[2] for group in groups} - {""}
        if not words:
            return
        try:
            self._nvml = Nvml()
            for word in sorted(words):
                [self._numbers[word]] = used_devices(self._nvml, word)
            self._before = self._looks()
        except Unavailable:
            self._numbers = {}

    def block(self) -> list[DeviceConditions] | None:
        """The conditions since the last call; None where they are not known."""
        if not self._numbers:
            return None
        try:
            after = self._looks()
        except Unavailable:
            return None
        seen = []
        for word, look in after.items():
            seen.append(_worse(word, self._before[word], look))
        self._before = after
        return seen

    def _looks(self) -> dict[str, GpuConditions]:
        assert self._nvml is not None
        looks = {}
        for word, number in self._numbers.items():
            looks[word] = conditions(self._nvml, number)
        return looks


def _worse(word: str, a: GpuConditions, b: GpuConditions) -> DeviceConditions:
    return DeviceConditions(
        device=word,
        sm_mhz=min(a.sm_mhz, b.sm_mhz),
        memory_mhz=min(a.memory_mhz, b.memory_mhz),
        celsius=max(a.celsius, b.celsius),
        slowdowns=sorted({*a.slowdowns, *b.slowdowns}),
    )


def slowdown_notes(blocks: "Sequence[TimedBlock]") -> list[str]:
    """A warning for each device that was slowed down while blocks were timed."""
    total = 0
    slowed: Counter[str] = Counter()
    reasons: dict[str, set[str]] = {}
    for block in blocks:
        total += block.devices is not None
        for seen in block.devices or ():
            if seen.slowdowns:
                slowed[seen.device] += 1
                reasons.setdefault(seen.device, set()).update(seen.slowdowns)
    notes = []
    for device, count in sorted(slowed.items()):
        because = ", ".join(sorted(reasons[device]))
        notes.append(
            f"{device} was slowed down in {count} of {total} blocks ({because}): their times are too long; cool it, "
            "or lock a lower clock with --lock-clock"
        )
    return notes
