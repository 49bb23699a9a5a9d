"""What checking a sampler found."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SamplerCheck:
    """One promise. A count of faults must not be above its bound, a probability not below it.

    Without a value it does not apply, and the text says why.
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
        return (
            self.value >= self.bound if self.statistical else self.value <= self.bound
        )

    @property
    def verdict(self) -> str:
        return {None: "not applicable", True: "ok", False: "wrong"}[self.ok]


@dataclass(frozen=True)
class SamplerReport:
    """All checks of a sampler over `size` examples and `epochs` epochs; it is true if nothing is wrong."""

    sampler: str
    size: int
    epochs: int
    level: float
    checks: Sequence[SamplerCheck]

    @property
    def wrong(self) -> list[SamplerCheck]:
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
        for check in data["checks"]:
            checks.append(SamplerCheck(*(check[field] for field in fields)))
        return cls(data["sampler"], data["size"], data["epochs"], data["level"], checks)
