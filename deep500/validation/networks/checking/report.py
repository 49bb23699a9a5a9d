"""What checking a network found: a verdict for every node, direction and framework, and the first that diverges."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

DIRECTIONS = ("forward", "backward", "step", "whole forward", "whole backward")


@dataclass(frozen=True)
class NodeCheck:
    """One node on one framework, in one direction; of a step, `node` is a parameter, of the whole, a value.

    `ok` is None where there is no verdict, and `text` says why; `decided` is False where there should have been one.
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
        """How much of its bound the error takes."""
        error = self.error or 0.0
        return error / self.bound if self.bound else error

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        for name in ("error", "bound"):
            value = found[name]
            if value is not None and not abs(value) < float("inf"):
                found[name] = None
        return found

    @property
    def sentence(self) -> str:
        """What is wrong, in one line."""
        what = f"{self.node!r} ({self.operator})" if self.operator else repr(self.node)
        numbers = ""
        if self.error is not None and self.bound is not None:
            numbers = f": error {self.error:.3g}, bound {self.bound:.3g}"
        more = f"; {self.text}" if self.text else ""
        return f"{self.framework} {self.direction} {what}{numbers}{more}"


@dataclass(frozen=True)
class Side:
    """All checks on one framework; `lost` says why it did not get to the end."""

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
        """The first that diverges: forward before backward, each in the order in which a run comes by."""
        return min(
            self.wrong,
            key=lambda check: DIRECTIONS.index(check.direction),
            default=None,
        )

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "wrong"
        judged = any(check.ok for check in self.checks)
        return (
            "ok" if judged and not self.undecided and not self.lost else "not decided"
        )

    def worst(self, direction: str) -> NodeCheck | None:
        """The check in this direction that took most of its bound."""
        found = [
            check for check in self.checks if check.direction == direction and check.ok
        ]
        return max(found, key=lambda check: check.share, default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "framework": self.framework,
            "isolated": self.isolated,
            "lost": self.lost,
            "checks": [check.to_json() for check in self.checks],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Side":
        checks = [NodeCheck(**check) for check in data["checks"]]
        return cls(data["framework"], checks, data["lost"], data["isolated"])


@dataclass(frozen=True)
class NetworkReport:
    """What was found on every framework; `remarks` say what the network lost before it came here."""

    network: str
    sides: list[Side]
    remarks: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(
        default_factory=dict
    )  # that show the first divergence

    @property
    def ok(self) -> bool:
        return bool(self.sides) and all(side.verdict == "ok" for side in self.sides)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def first(self) -> NodeCheck | None:
        """The first divergence: by node, whichever framework it is on."""
        return first_of(side.first for side in self.sides)

    @property
    def nodes(self) -> list[NodeCheck]:
        """Every node, direction and framework."""
        return [check for side in self.sides for check in side.checks]

    @property
    def text(self) -> str:
        """A line for every framework."""
        return "\n".join(map(summary, self.sides))

    def to_json(self) -> dict[str, Any]:
        first = self.first
        sides = [side.to_json() for side in self.sides]
        facts = {"network": self.network, "ok": self.ok, "remarks": self.remarks}
        return facts | {"first": first and first.to_json(), "sides": sides}


def first_of(found: Iterable[NodeCheck | None]) -> NodeCheck | None:
    """The first divergence of several sides."""
    wrong = [check for check in found if check is not None]
    return min(wrong, key=lambda check: DIRECTIONS.index(check.direction), default=None)


def summary(side: Side) -> str:
    """A framework in one line."""
    if side.first:
        return side.first.sentence
    if side.lost:
        return f"{side.framework} not decided: {side.lost}"
    if side.undecided:
        first = side.undecided[0]
        many = f" ({len(side.undecided)} in all)" if len(side.undecided) > 1 else ""
        return f"{side.framework} unavailable: {first.direction} {first.node!r}: {first.text}{many}"
    return f"{side.framework} ok: {len(side.checks)} checks"
