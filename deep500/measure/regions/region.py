"""Time one's own code in place: `with region("forward"): …` or `@region("forward")`, read by `breakdown()`.

A generator or coroutine that is suspended inside a region leaves it out of order; that is counted, and told.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from time import perf_counter
from types import TracebackType
from typing import ParamSpec, TypeVar

from ...errors import Deep500Error
from .breakdowns import Breakdown, make_breakdown
from .forest import (
    MAX_PATHS,
    OTHER,
    RegionNode,
    Unlisted,
    forest,
    here,
)

P = ParamSpec("P")
R = TypeVar("R")

# Durations that a node collects before they are counted and thinned in one go.
PENDING = 256


class Region:
    """A name to time under; it may be open many times at once, in many threads."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name or name == OTHER:
            raise Deep500Error(
                f'region({name!r}) is no name for a region: with region("forward"): …'
            )
        self.name = name

    # These two methods are all that a region costs. The clock is read as a float, which is cheaper than as
    # nanoseconds and as fine for 50 days of uptime; counting waits until PENDING durations are together.

    def __enter__(self) -> None:
        cursor = here.cursor
        node = cursor.node[self.name]
        node.start = perf_counter()
        cursor.node = node

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end = perf_counter()
        cursor = here.cursor
        node = cursor.node
        if node.name != self.name:
            node = self._open_node(node)
        cursor.node = node.parent
        pending = node.pending
        pending.append(end - node.start)
        if kind is not None:
            node.durations.raised += 1
        if len(pending) >= PENDING:
            node.fold()

    def _open_node(self, innermost: RegionNode) -> RegionNode:
        """The open node of this region, when the innermost one has another name."""
        if isinstance(innermost, Unlisted) and innermost.name == OTHER:
            return innermost
        innermost.tree.out_of_order += 1
        node = innermost
        while node is not node.parent:
            if node.name == self.name:
                # those inside of it were never left, and are dropped
                return node
            node = node.parent
        # not open: nothing is timed, the innermost stays
        return Unlisted(node.tree, innermost, (self.name,))

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function; a generator or coroutine is refused."""
        if not callable(function) or isinstance(function, type):
            raise Deep500Error(
                f"@region('{self.name}') decorates functions, not {function!r}: use a with-block"
            )
        suspends = (
            inspect.isgeneratorfunction,
            inspect.iscoroutinefunction,
            inspect.isasyncgenfunction,
        )
        if any(test(function) for test in suspends):
            raise Deep500Error(
                f"@region('{self.name}') cannot time {function!r}: a generator or coroutine works after its "
                "call has returned; put with-blocks around those parts of it that hold no yield and no await"
            )

        @functools.wraps(function)
        def timed(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return timed


class SyncedRegion(Region):
    """A region that waits for a device before each reading of the clock."""

    __slots__ = ("sync",)

    def __init__(self, name: str, sync: Callable[[], object]) -> None:
        super().__init__(name)
        if not callable(sync):
            raise Deep500Error(
                f"region({name!r}, sync={sync!r}): give a function without arguments"
            )
        self.sync = sync

    def __enter__(self) -> None:
        self.sync()
        super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.sync()
        except BaseException:
            super().__exit__(*sys.exc_info())
            raise
        super().__exit__(kind, error, trace)


class Regions(dict[str, Region]):
    """A cache of the regions without sync by name, of at most MAX_PATHS."""

    def __missing__(self, name: str) -> Region:
        region = Region(name)
        if len(self) < MAX_PATHS:
            self[name] = region
        return region


_regions = Regions()


def region(name: str, sync: Callable[[], object] | None = None) -> Region:
    """Time a with-block or, as a decorator, a function; `sync` is called before each reading of the clock."""
    if sync is None:
        return _regions[name]
    return SyncedRegion(name, sync)


def breakdown() -> Breakdown:
    """The time spent in all regions of all threads; calls that are still open count until now."""
    durations, out_of_order = forest.read()
    notes = []
    if any(path[-1] == OTHER for path in durations):
        notes.append(
            f"more than {MAX_PATHS} paths: later ones are in {OTHER}, what is inside unlisted"
        )
    if out_of_order:
        notes.append(
            f"{out_of_order} regions ended out of order (a generator or coroutine was suspended inside one): "
            "do not trust paths and times around them"
        )
    return make_breakdown(durations, notes)


def clear_regions() -> None:
    """Forget what was timed; open regions start anew, one being entered by another thread may be lost."""
    forest.clear()
