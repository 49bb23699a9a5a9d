"""What the report of a measurement is made from: plain data of a bundle, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import Deep500Error
from ...reports.canvas import numbered

if TYPE_CHECKING:
    import numpy as np

Entry: TypeAlias = Mapping[str, Any]  # one of the entries in derived.json
# one of the comparisons in derived.json
Comparison: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class ReportData:
    """What a report shows; `samples` and `discarded` hold seconds per call, one array per process, for drawing only.

    `discarded` are the values that the warm-up cut removed, in front of those in `samples`.
    """

    title: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    derived: Mapping[str, Any]
    samples: Mapping[str, Sequence["np.ndarray"]] = field(default_factory=dict)
    bundle: str | None = None
    hash: str | None = None
    problems: Sequence[str] = ()
    sensors: Mapping[str, Any] | None = None
    discarded: Mapping[str, Sequence["np.ndarray"]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be rendered, so that a hostile bundle ends in one line and not in a traceback."""
        _check("plan.json", self.plan, _PLAN)
        _check("derived.json", self.derived, _DERIVED)
        for key, shape in (("entries", _ENTRY), ("comparisons", _COMPARISON)):
            for row in _rows(self.derived, key):
                _check(f"one of the {key} in derived.json", row, shape)
                _rows(row, "modes")
                _rows(row, "quantiles")

    @cached_property
    def entries(self) -> list[Entry]:
        return _rows(self.derived, "entries")

    @cached_property
    def comparisons(self) -> list[Comparison]:
        return _rows(self.derived, "comparisons")

    @property
    def interference(self) -> Mapping[str, Any]:
        """What others used of the machine, or nothing where it was not recorded."""
        return self.derived.get("interference") or {}

    def entry(self, name: str) -> Entry:
        """The entry of that name, or an empty one."""
        position = self.positions.get(name)
        if position is None:
            return {}
        return self.entries[position]

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of the first entry of each name."""
        positions: dict[str, int] = {}
        for position, entry in enumerate(self.entries):
            positions.setdefault(entry["name"], position)
        return positions

    @cached_property
    def is_numbered(self) -> bool:
        """Whether entries have numbers, because pictures must shorten a name."""
        return numbered(list(self.positions))


Shape: TypeAlias = Mapping[str, type]
_PLAN: Shape = {"entries": list, "factors": Mapping}
_DERIVED: Shape = {
    "notes": list,
    "control": Mapping,
    "stopped": str,
    "interference": Mapping,
}
_ENTRY: Shape = {
    "name": str,
    "levels": Mapping,
    "warmup": Mapping,
    "notes": list,
    "drift": Mapping,
}
_COMPARISON: Shape = {
    "base": str,
    "other": str,
    "notes": list,
    "drift": Mapping,
}
_NEEDED = ("name", "base", "other")


def _check(where: str, document: Mapping[str, Any], shape: Shape) -> None:
    """Raise a Deep500Error if a value has another type than in `shape`, or if a name is missing."""
    for key, kind in shape.items():
        value = document.get(key)
        may_be_absent = value is None and key not in _NEEDED
        if not isinstance(value, kind) and not may_be_absent:
            raise Deep500Error(
                f"{where} has no usable {key!r}: see what is wrong with `d5 verify`"
            )


def _rows(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = document.get(key) or []
    is_list = isinstance(rows, list)
    if not is_list or not all(isinstance(row, Mapping) for row in rows):
        raise Deep500Error(
            f"{key!r} in derived.json is not a list of objects: see what is wrong with `d5 verify`"
        )
    return rows
