"""What checking an operator found: values, bounds and verdicts."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Check:
    """One promise, tested for one dtype and one case; `ok` is None where there is no verdict, and `text` says why.

    Without a verdict it does not apply, unless `decided` is False: then it should have had one. `regime` says how the
    inputs were made from those of the case; "" stands for these themselves.
    """

    name: str
    ok: bool | None
    value: float | None = None
    bound: float | None = None
    text: str = ""
    dtype: str = ""
    case: str = ""
    regime: str = ""
    decided: bool = True

    @property
    def verdict(self) -> str:
        if self.ok is None:
            return "not applicable" if self.decided else "not decided"
        return "ok" if self.ok else "wrong"

    @property
    def weight(self) -> tuple[int, float]:
        """Wrong before undecided before right before not applicable; then the one that used most of its bound."""
        order = ("not applicable", "ok", "not decided", "wrong")
        used = (self.value or 0.0) / self.bound if self.bound else (self.value or 0.0)
        return order.index(self.verdict), float("inf") if used != used else used

    def to_json(self) -> dict[str, Any]:
        return {
            name: value
            if not isinstance(value, float) or abs(value) < float("inf")
            else None
            for name, value in asdict(self).items()
        } | {"verdict": self.verdict}


@dataclass(frozen=True)
class OperatorReport:
    """All checks of one operator on one framework; `kernel` says whose code ran: native, composed or the user's.

    `isolated` says whether that code ran in another process than the one that judged.
    """

    operator: str
    framework: str
    kernel: str
    checks: list[Check] = field(default_factory=list)
    isolated: bool = False

    @property
    def ok(self) -> bool:
        """Whether something was checked, nothing was wrong and nothing was left undecided."""
        return any(c.ok for c in self.checks) and not self.wrong and not self.undecided

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "wrong"
        return "ok" if self.ok else "not decided"

    def __bool__(self) -> bool:
        return self.ok

    @property
    def wrong(self) -> list[Check]:
        return [c for c in self.checks if c.ok is False]

    @property
    def undecided(self) -> list[Check]:
        return [c for c in self.checks if not c.decided]

    def summary(self) -> list[Check]:
        """The weightiest check of every name and dtype, in the order in which they were made."""
        return worst(self.checks)

    def to_json(self) -> dict[str, Any]:
        return {
            "operator": self.operator,
            "framework": self.framework,
            "kernel": self.kernel,
            "isolated": self.isolated,
            "ok": self.ok,
            "verdict": self.verdict,
            "checks": [c.to_json() for c in self.checks],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "OperatorReport":
        checks = [
            Check(**{k: v for k, v in c.items() if k != "verdict"})
            for c in data["checks"]
        ]
        isolated = bool(data.get("isolated", True))
        return cls(
            data["operator"], data["framework"], data["kernel"], checks, isolated
        )


def worst(checks: Iterable[Check]) -> list[Check]:
    """The weightiest check of every name and dtype, in order."""
    found: dict[tuple[str, str], Check] = {}
    for check in checks:
        key = check.name, check.dtype
        if key not in found or check.weight > found[key].weight:
            found[key] = check
    return list(found.values())
