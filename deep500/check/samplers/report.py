"""The report of a check of a sampler."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SamplerVerdict:
    """One checked property: a number of faults with an upper bound, or a probability with a lower bound.

    Without a value the check does not apply, and the text says why.
    """

    name: str
    value: float | None
    bound: float
    statistical: bool = False
    text: str = ""

    @property
    def ok(self) -> bool | None:
        if self.value is None:
            return None
        if self.statistical:
            return self.value >= self.bound
        return self.value <= self.bound

    @property
    def verdict(self) -> str:
        if self.ok is None:
            return "not applicable"
        return "ok" if self.ok else "wrong"


@dataclass(frozen=True)
class SamplerReport:
    """All checks of a sampler over `size` examples and `epochs` epochs; it is true if nothing is wrong."""

    sampler: str
    size: int
    epochs: int
    level: float
    checks: Sequence[SamplerVerdict]

    @property
    def wrong(self) -> list[SamplerVerdict]:
        return [check for check in self.checks if check.ok is False]

    @property
    def ok(self) -> bool:
        return not self.wrong

    def __bool__(self) -> bool:
        return self.ok

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "SamplerReport":
        fields = ("name", "value", "bound", "statistical", "text")
        checks = []
        for check_data in data["checks"]:
            values = [check_data[field] for field in fields]
            checks.append(SamplerVerdict(*values))
        return cls(
            sampler=data["sampler"],
            size=data["size"],
            epochs=data["epochs"],
            level=data["level"],
            checks=checks,
        )
