"""Nested regions whose seconds are read after every step of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from threading import get_ident
from time import perf_counter
from types import TracebackType

from ...errors import Deep500Error

SEPARATOR = "/"  # between the names of nested regions
MOST_REGIONS = 256


class StepRegion:
    """One region below the regions that were open when it was first asked for; a with-block times it."""

    __slots__ = ("children", "owner", "parent", "path", "seconds", "start")

    def __init__(self, owner: StepRegions, parent: StepRegion | None, path: str):
        self.owner = owner
        self.parent = parent
        self.path = path
        self.children: dict[str, StepRegion] = {}
        self.seconds = 0.0  # since it was last read
        self.start = 0.0

    def __enter__(self) -> None:
        self.owner.innermost = self
        self.start = perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds += perf_counter() - self.start
        self.owner.innermost = self.parent or self.owner.root


class StepRegions:
    """All regions of one loop. They belong to the thread that runs it: another thread is refused."""

    def __init__(self) -> None:
        self.root = StepRegion(self, None, "")
        self.innermost = self.root
        self.all: list[StepRegion] = []
        self.thread = get_ident()

    def region(self, name: str) -> StepRegion:
        """The region of that name inside the innermost open one."""
        if get_ident() != self.thread:
            raise Deep500Error(
                f"region({name!r}) of a run was used in another thread: "
                "there, use deep500.measure.region"
            )
        region = self.innermost.children.get(name)
        return self._add(name) if region is None else region

    def take(self) -> list[float]:
        """The seconds of every region since the last call, in the order in which they were first used."""
        for region in self._open():
            moment = perf_counter()
            region.seconds += moment - region.start
            region.start = moment
        seconds = [region.seconds for region in self.all]
        for region in self.all:
            region.seconds = 0.0
        return seconds

    @property
    def paths(self) -> list[str]:
        return [region.path for region in self.all]

    def _open(self) -> Iterator[StepRegion]:
        region = self.innermost
        while region.parent is not None:
            yield region
            region = region.parent

    def _add(self, name: str) -> StepRegion:
        if not isinstance(name, str) or not name or SEPARATOR in name:
            raise Deep500Error(
                f"region({name!r}): give a name without {SEPARATOR!r}, such as 'forward'"
            )
        if len(self.all) >= MOST_REGIONS:
            raise Deep500Error(
                f"region({name!r}) would be one more than the {MOST_REGIONS} that a run may have: "
                "name what is done, and leave counters out of the name"
            )
        parent = self.innermost
        path = name
        if parent is not self.root:
            path = f"{parent.path}{SEPARATOR}{name}"
        region = StepRegion(self, parent, path)
        parent.children[name] = region
        self.all.append(region)
        return region
