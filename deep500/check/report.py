"""The results of checking an operator: values, bounds and verdicts."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class CheckResult:
    """One promise, tested for one dtype and one case; `ok` is None if there is no verdict, and `text` says why.

    A check without a verdict does not apply, unless `decided` is False: then it should have had one. `regime` says how
    the inputs were made from those of the case; "" stands for the case's own.
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
        if self.ok:
            return "ok"
        return "wrong"

    @property
    def weight(self) -> tuple[int, float]:
        """Wrong before undecided before right before not applicable; then the one that used most of its bound."""
        order = ("not applicable", "ok", "not decided", "wrong")
        used = self.value or 0.0
        if self.bound:
            used = used / self.bound
        if used != used:  # a NaN
            used = math.inf
        return order.index(self.verdict), used

    def to_json(self) -> dict[str, Any]:
        """The fields and the verdict; None in place of numbers that are not finite."""
        document = asdict(self)
        for name, value in document.items():
            if isinstance(value, float) and not abs(value) < math.inf:
                document[name] = None
        return document | {"verdict": self.verdict}


@dataclass(frozen=True)
class OperatorReport:
    """All checks of one operator on one framework; `kernel` says whose code ran: native, composed or the user's.

    `isolated` says whether that code ran in another process than the one that judged.
    """

    operator: str
    framework: str
    kernel: str
    checks: list[CheckResult] = field(default_factory=list)
    isolated: bool = False

    @property
    def ok(self) -> bool:
        """Whether something was checked, nothing was wrong and nothing was left undecided."""
        if self.wrong or self.undecided:
            return False
        return any(check.ok for check in self.checks)

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "wrong"
        return "ok" if self.ok else "not decided"

    def __bool__(self) -> bool:
        return self.ok

    @property
    def wrong(self) -> list[CheckResult]:
        return [check for check in self.checks if check.ok is False]

    @property
    def undecided(self) -> list[CheckResult]:
        return [check for check in self.checks if not check.decided]

    def summary(self) -> list[CheckResult]:
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
            "checks": [check.to_json() for check in self.checks],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "OperatorReport":
        checks = []
        for document in data["checks"]:
            fields = {k: v for k, v in document.items() if k != "verdict"}
            checks.append(CheckResult(**fields))
        operator, framework, kernel = (
            data["operator"],
            data["framework"],
            data["kernel"],
        )
        isolated = bool(data.get("isolated", True))
        return cls(operator, framework, kernel, checks, isolated)


def worst(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """The weightiest check of every name and dtype, in order."""
    weightiest: dict[tuple[str, str], CheckResult] = {}
    for check in checks:
        key = check.name, check.dtype
        if key not in weightiest or check.weight > weightiest[key].weight:
            weightiest[key] = check
    return list(weightiest.values())
