"""The report of a check of a network: a verdict for every node, direction and framework, and the first divergence."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# the "framework" of the comparison of two networks themselves
FLOAT64 = "float64"
DIFFERENCE = "at node "  # begins the text of a check that tells what differs
DIRECTIONS = ("forward", "backward", "step", "whole forward", "whole backward")


@dataclass(frozen=True)
class NodeCheck:
    """The check of one node on one framework in one direction.

    `node` is a parameter in the check of a step, and a value in that of the whole network. `ok` is None if there is no
    verdict, and `text` says why; `decided` is False if there should have been one.
    """

    framework: str
    direction: str
    node: str
    operator: str = ""
    ok: bool | None = True
    error: float | None = None
    bound: float | None = None
    text: str = ""
    kernel: str = ""
    decided: bool = True

    @property
    def verdict(self) -> str:
        if self.ok is None:
            return "not applicable" if self.decided else "unavailable"
        return "ok" if self.ok else "wrong"

    @property
    def share(self) -> float:
        """The error relative to its bound."""
        error = self.error or 0.0
        if not self.bound:
            return error
        return error / self.bound

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        for name in ("error", "bound"):
            value = data[name]
            if value is not None and not abs(value) < float("inf"):
                data[name] = None
        return data

    @property
    def sentence(self) -> str:
        """What is wrong, in one line."""
        sentence = f"{self.framework} {self.direction} {self.node!r}"
        if self.operator:
            sentence += f" ({self.operator})"
        if self.error is not None and self.bound is not None:
            sentence += f": error {self.error:.3g}, bound {self.bound:.3g}"
        if self.text:
            sentence += f"; {self.text}"
        return sentence


@dataclass(frozen=True)
class Side:
    """All checks on one framework; `lost` says why it did not get to the end, if it did not."""

    framework: str
    checks: list[NodeCheck] = field(default_factory=list)
    lost: str = ""
    isolated: bool = True

    @property
    def wrong(self) -> list[NodeCheck]:
        return [check for check in self.checks if check.ok is False]

    @property
    def undecided(self) -> list[NodeCheck]:
        return [check for check in self.checks if not check.decided]

    @property
    def first(self) -> NodeCheck | None:
        """The first divergence: forward before backward, each in the order of a run."""
        return first_of(self.wrong)

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "wrong"
        if self.undecided or self.lost:
            return "not decided"
        has_verdict = any(check.ok for check in self.checks)
        return "ok" if has_verdict else "not decided"

    def worst(self, direction: str) -> NodeCheck | None:
        """The passed check in this direction whose error is nearest to its bound."""
        passed = []
        for check in self.checks:
            if check.direction == direction and check.ok:
                passed.append(check)
        return max(passed, key=lambda check: check.share, default=None)

    def to_json(self) -> dict[str, Any]:
        checks = [check.to_json() for check in self.checks]
        return {
            "framework": self.framework,
            "isolated": self.isolated,
            "lost": self.lost,
            "checks": checks,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Side":
        checks = [NodeCheck(**check) for check in data["checks"]]
        return cls(data["framework"], checks, data["lost"], data["isolated"])


@dataclass(frozen=True)
class NetworkReport:
    """The checks on every framework; `remarks` say what the network lost when it was exported."""

    network: str
    sides: list[Side]
    remarks: list[str] = field(default_factory=list)
    # by name, to reproduce the first divergence
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        if not self.sides:
            return False
        return all(side.verdict == "ok" for side in self.sides)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def first(self) -> NodeCheck | None:
        """The first divergence on any framework."""
        return first_of(side.first for side in self.sides)

    @property
    def nodes(self) -> list[NodeCheck]:
        """The checks of every node, direction and framework."""
        checks: list[NodeCheck] = []
        for side in self.sides:
            checks += side.checks
        return checks

    @property
    def text(self) -> str:
        """A line for every framework."""
        return "\n".join(map(summary, self.sides))

    def to_json(self) -> dict[str, Any]:
        first = self.first
        return {
            "network": self.network,
            "ok": self.ok,
            "remarks": self.remarks,
            "first": first and first.to_json(),
            "sides": [side.to_json() for side in self.sides],
        }


def first_of(checks: Iterable[NodeCheck | None]) -> NodeCheck | None:
    """The check whose direction comes first, of those that are not None."""
    present = [check for check in checks if check is not None]
    return min(present, key=_direction_index, default=None)


def _direction_index(check: NodeCheck) -> int:
    return DIRECTIONS.index(check.direction)


def summary(side: Side) -> str:
    """The result on one framework in one line."""
    if side.first:
        return side.first.sentence
    if side.lost:
        return f"{side.framework} not decided: {side.lost}"
    if side.undecided:
        first = side.undecided[0]
        place = f"{first.direction} {first.node!r}"
        count = len(side.undecided)
        number = f" ({count} in all)" if count > 1 else ""
        return f"{side.framework} unavailable: {place}: {first.text}{number}"
    return f"{side.framework} ok: {len(side.checks)} checks"
