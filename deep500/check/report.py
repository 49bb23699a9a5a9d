"""What a check found, for every noun: values, bounds and verdicts, in one place or in several."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..canonical import in_python
from ..schema import decoded, encoded, named, optional

WEIGHTS = ("not applicable", "ok", "not decided", "wrong")
LARGEST = 1e300  # numbers from here on are not written
# the names of checks of a network, in the order of a run
DIRECTIONS = ("forward", "backward", "step", "whole forward", "whole backward")


@dataclass(frozen=True)
class CheckResult:
    """One promise, tested on one case; `ok` is None if there is no verdict, and `text` says why.

    A check without a verdict does not apply, unless `decided` is False: then it should have had one. `regime` says how
    the inputs were made from those of the case; "" stands for the case's own. In the check of a network `case` is a
    node, a parameter or an output, `operator` that of the node, and `where` the framework.
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
    where: str = optional("")
    operator: str = optional("")
    kernel: str = optional("")

    def __post_init__(self) -> None:
        for name in ("ok", "value", "bound"):
            object.__setattr__(self, name, in_python(getattr(self, name)))

    @property
    def verdict(self) -> str:
        if self.ok is None:
            return "not applicable" if self.decided else "not decided"
        if self.ok:
            return "ok"
        return "wrong"

    @property
    def sentence(self) -> str:
        """The promise, the place and the numbers in one line."""
        words = (self.where, self.name, self.dtype, self.regime)
        text = " ".join(word for word in words if word)
        if self.case:
            text += f" {self.case!r}"
        if self.operator:
            text += f" ({self.operator})"
        if self.value is not None and self.bound is not None:
            text += f": error {self.value:.3g}, bound {self.bound:.3g}"
        if self.text:
            text += f"; {self.text}"
        return text

    @property
    def share(self) -> float:
        """The value relative to its bound."""
        value = self.value or 0.0
        if not self.bound:
            return value
        return value / self.bound

    @property
    def weight(self) -> tuple[int, float]:
        """Wrong before undecided before right before not applicable; then the one that used most of its bound."""
        share = math.inf if math.isnan(self.share) else self.share
        return WEIGHTS.index(self.verdict), share

    @property
    def finite(self) -> "CheckResult":
        """The check with None in place of numbers that cannot be written."""
        return replace(self, value=_finite(self.value), bound=_finite(self.bound))

    def to_json(self) -> dict[str, Any]:
        """The fields and the verdict."""
        return encoded(self.finite) | {"verdict": self.verdict}


def _finite(number: float | None) -> float | None:
    if number is None or not abs(number) < LARGEST:
        return None
    return number


@dataclass(frozen=True)
class CheckReport:
    """All checks of one subject in one place.

    `noun` is what is checked ("operator"), `subject` which one, `where` the framework or the kind of loops that it ran
    on. `kernel` says whose code ran: native, composed or the user's. `isolated` says whether that code ran in another
    process than the one that judged; `lost` says why the check did not get to its end, if it did not.
    """

    noun: str
    subject: str
    where: str = named("framework", default="")
    kernel: str = ""
    checks: list[CheckResult] = field(default_factory=list)
    isolated: bool = False
    lost: str = optional("")

    @property
    def wrong(self) -> list[CheckResult]:
        return [check for check in self.checks if check.ok is False]

    @property
    def undecided(self) -> list[CheckResult]:
        return [check for check in self.checks if not check.decided]

    @property
    def verdict(self) -> str:
        """It is "ok" if something was checked, nothing was wrong and nothing was left undecided."""
        if self.wrong:
            return "wrong"
        if self.undecided or self.lost:
            return "not decided"
        has_verdict = any(check.ok for check in self.checks)
        return "ok" if has_verdict else "not decided"

    @property
    def ok(self) -> bool:
        return self.verdict == "ok"

    def __bool__(self) -> bool:
        return self.ok

    @property
    def text(self) -> str:
        """The verdict in one line, with the first reason against it."""
        first = first_of(self.wrong)
        if first:
            return replace(first, where=self.where).sentence
        start = f"{self.where} " if self.where else ""
        if self.lost:
            return f"{start}not decided: {self.lost}"
        if self.undecided:
            first = replace(self.undecided[0], where="")
            count = len(self.undecided)
            number = f" ({count} in all)" if count > 1 else ""
            return f"{start}not decided: {first.sentence}{number}"
        return f"{start}{self.verdict}: {len(self.checks)} checks"

    def summary(self) -> list[CheckResult]:
        """The weightiest check of every name and dtype, in the order in which they were made."""
        return worst(self.checks)

    def to_json(self) -> dict[str, Any]:
        """The report with everything that follows from it."""
        checks = [check.to_json() for check in self.checks]
        verdict = {"ok": self.ok, "verdict": self.verdict}
        return self.document | verdict | {"checks": checks}

    @property
    def document(self) -> dict[str, Any]:
        """What was seen, without what follows from it; the subject stands under its noun."""
        finite = [check.finite for check in self.checks]
        document = encoded(replace(self, checks=finite))
        return {"noun": self.noun, self.noun: document.pop("subject"), **document}


def report_of(document: object, where: str) -> CheckReport:
    """The report of a document; one of version 0.1.0 does not say its noun, and calls everything an operator."""
    if isinstance(document, dict):
        noun = document.get("noun", "operator")
        subject = document.get(noun) if isinstance(noun, str) else None
        usual = {"noun": "operator", "isolated": True}
        document = {**usual, **document, "subject": subject}
    return decoded(CheckReport, document, where)


@dataclass(frozen=True)
class Reports:
    """The reports of one subject in every place where it was checked; it is true if all of them are right.

    `remarks` say what else is known of the subject; `files` (by name) help to reproduce what is wrong.
    """

    noun: str
    subject: str
    reports: Sequence[CheckReport]
    remarks: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def checks(self) -> list[CheckResult]:
        return _joined(report.checks for report in self.reports)

    @property
    def wrong(self) -> list[CheckResult]:
        return _joined(report.wrong for report in self.reports)

    @property
    def undecided(self) -> list[CheckResult]:
        return _joined(report.undecided for report in self.reports)

    @property
    def first(self) -> CheckResult | None:
        """The first wrong check: in a network, of the direction that comes first on any framework."""
        return first_of(self.wrong)

    @property
    def text(self) -> str:
        """A line for every place."""
        return "\n".join(report.text for report in self.reports)

    @property
    def verdict(self) -> str:
        verdicts = {report.verdict for report in self.reports}
        if "wrong" in verdicts:
            return "wrong"
        return "ok" if verdicts == {"ok"} else "not decided"

    @property
    def ok(self) -> bool:
        return self.verdict == "ok"

    def __bool__(self) -> bool:
        return self.ok

    def to_json(self) -> dict[str, Any]:
        first = self.first
        return {
            self.noun: self.subject,
            "ok": self.ok,
            "verdict": self.verdict,
            "first": first and first.to_json(),
            "remarks": list(self.remarks),
            "reports": [report.to_json() for report in self.reports],
        }


def _joined(lists: Iterable[Sequence[CheckResult]]) -> list[CheckResult]:
    joined: list[CheckResult] = []
    for checks in lists:
        joined += checks
    return joined


def first_of(checks: Iterable[CheckResult]) -> CheckResult | None:
    """The first of these; in a network, of those whose direction comes first in a run."""

    def direction(check: CheckResult) -> int:
        if check.name in DIRECTIONS:
            return DIRECTIONS.index(check.name)
        return 0

    return min(checks, key=direction, default=None)


def worst(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """The weightiest check of every name and dtype, in order."""
    weightiest: dict[tuple[str, str], CheckResult] = {}
    for check in checks:
        key = check.name, check.dtype
        if key not in weightiest or check.weight > weightiest[key].weight:
            weightiest[key] = check
    return list(weightiest.values())
