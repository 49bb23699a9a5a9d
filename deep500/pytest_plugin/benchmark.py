"""pytest-benchmark's fixture under our statistics, so that an existing suite runs unchanged."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from ..errors import Deep500Error
from ..measure.plan import Settings as PlanSettings
from ..measure.plan import make_plan
from ..measure.results import Result
from .fixture import bound_call, failing_in_one_line, function_name
from .pedantic import PedanticRounds
from .sample_statistics import SampleStatistics
from .suite_run import SuiteRun

# settings of the marker that our engine decides itself: it calibrates, warms up and turns the collector off as needed
DECIDED_HERE = {
    "baseline",
    "calibration_precision",
    "cprofile",
    "disable_gc",
    "min_rounds",
    "min_time",
    "timer",
    "warmup",
    "warmup_iterations",
}


class BenchmarkFixture:
    """Times one function per test: `benchmark(f, *args)`, or `benchmark.pedantic(f, rounds=…)`."""

    def __init__(self, run: SuiteRun, node: pytest.Item):
        self.run = run
        self.name = node.name
        self.fullname = node.nodeid
        callspec = getattr(node, "callspec", None)
        self.param = callspec.id if callspec else None
        self.params = callspec.params if callspec else None
        self.extra_info: dict[str, Any] = {}
        self.stats: SampleStatistics | None = None
        self.group: str | None = None
        self.max_time: float | None = None
        self.has_error = False
        self._measured = ""  # how it was used
        self._measurement = ""  # its name
        marker = node.get_closest_marker("benchmark")
        if marker:
            self._read(marker)

    @property
    def enabled(self) -> bool:
        return not self.run.settings.once

    @property
    def disabled(self) -> bool:
        return self.run.settings.once

    def __call__(
        self, function_to_benchmark: Callable, *args: Any, **kwargs: Any
    ) -> Any:
        """Time `function_to_benchmark(*args, **kwargs)` and return what it returns."""
        __tracebackhide__ = True  # of an error in the function
        self._use("benchmark(…)")
        call = bound_call(function_to_benchmark, args, kwargs)
        value = call()  # raises its own error, if it has one
        if self.disabled:
            return value
        label = function_name(function_to_benchmark, "function")
        settings: PlanSettings = {}
        if self.max_time is not None:
            settings["budget_s"] = self.max_time
        with failing_in_one_line():
            result = self.run.measure(
                self.fullname, "", {label: call}, self.group, **settings
            )
        self._keep(result)
        return call()

    def pedantic(
        self,
        target: Callable,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable | None = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
    ) -> Any:
        """Time exactly so many rounds of so many calls, each round after its own setup."""
        self._use("benchmark.pedantic(…)")
        asked = PedanticRounds(
            target, tuple(args), dict(kwargs or {}), setup, warmup_rounds, iterations
        )
        asked.check(rounds)
        if self.disabled:
            return asked.once()
        with failing_in_one_line():
            result, value = self._timed(asked, rounds)
        self._keep(result)
        return value

    def _timed(self, asked: PedanticRounds, rounds: int) -> tuple[Result, Any]:
        label = function_name(asked.target, "function")
        name = self.run.begin_name(self.fullname, "")
        begun = self.run.begun_before(name)
        settings: PlanSettings = {"seed": begun.seed} if begun else {}
        plan = make_plan({label: asked.target}, **settings)
        result = self.run.begin(name, plan, self.group)
        process = begun.block.process + 1 if begun else 0
        try:
            block, value = asked.timed(rounds, process, self.run.began_s[name])
        except BaseException:
            del self.run.results[name]
            raise
        self.run.add_times(name, block)
        return result, value

    def weave(self, target: Any, **kwargs: Any) -> None:
        """Patching of other code, which this alias does not do."""
        pytest.fail(
            "benchmark.weave needs pytest-benchmark and aspectlib: install both, or time the function itself",
            pytrace=False,
        )

    patch = weave

    def close(self) -> None:
        """Keep what the test has put into `extra_info`."""
        if self._measurement and self.extra_info:
            self.run.add_info(self._measurement, _as_json(self.extra_info))

    def _keep(self, result: Result) -> None:
        self._measurement = next(
            name for name, own in self.run.results.items() if own is result
        )
        self.stats = SampleStatistics(result)

    def _use(self, how: str) -> None:
        if self._measured:
            self.has_error = True
            pytest.fail(
                f"the fixture times one function per test, and was used as {self._measured} before: "
                "take d5.bench for several",
                pytrace=False,
            )
        self._measured = how

    def _read(self, marker: pytest.Mark) -> None:
        """The settings of the marker; the engine decides most of them itself."""
        if marker.args:
            raise pytest.UsageError(
                f"{self.fullname}: the marker benchmark has keywords only"
            )
        settings = dict(marker.kwargs)
        group = settings.pop("group", None)
        self.group = None if group is None else str(group)
        self.max_time = settings.pop("max_time", None)
        unknown = settings.keys() - DECIDED_HERE
        if unknown:
            raise pytest.UsageError(
                f"{self.fullname}: the marker benchmark has no setting {sorted(unknown)[0]!r}"
            )
        seconds = self.max_time
        if seconds is not None and not _is_time(seconds):
            raise pytest.UsageError(
                f"{self.fullname}: max_time={seconds!r} is no time in seconds"
            )


def _is_time(seconds: object) -> bool:
    return isinstance(seconds, int | float) and 0 < seconds < 1e6


def _as_json(info: Mapping[str, Any]) -> dict[str, Any]:
    """The notes of a test as a bundle can hold them: what is no JSON becomes its text."""
    from ..bundle import canonical

    kept = {}
    for key, value in info.items():
        try:
            canonical({"value": value})
            kept[str(key)] = value
        except (Deep500Error, TypeError, ValueError):
            kept[str(key)] = str(value)
    return kept
