"""Google Benchmark: `--benchmark_format=json`."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ..contracts.dossier import (
    Dossier,
    MeasurementConduct,
    ReportedNumber,
    SetupDescription,
    Summary,
)
from ..contracts.log_format import LogFormat
from ..schema import Count, decoded

SUMMARIES: dict[str, Summary] = {"mean": "arithmetic mean", "median": "median"}


@dataclass(frozen=True)
class TimedFunction:
    name: str
    real_time: float | None = None
    time_unit: str = "ns"
    run_type: str = "iteration"
    aggregate_name: str = ""
    repetitions: Count = 1
    iterations: Count = 1
    error_occurred: bool = False
    error_message: str = ""


@dataclass(frozen=True)
class BenchmarkContext:
    num_cpus: Count | None = None
    mhz_per_cpu: float | None = None
    cpu_scaling_enabled: bool | None = None
    library_build_type: str | None = None
    executable: str | None = None
    load_avg: Sequence[float] = ()


@dataclass(frozen=True)
class TimedFunctions:
    context: BenchmarkContext
    benchmarks: Sequence[TimedFunction]


class GoogleBenchmark(LogFormat):
    """A file of Google Benchmark: means over iterations, and over repetitions if there are any."""

    def recognises(self, content: object) -> bool:
        return isinstance(content, dict) and {"context", "benchmarks"} <= set(content)

    def dossier(self, content: object, file: str) -> Dossier:
        timed = decoded(TimedFunctions, content, file)
        numbers = []
        for places in _same(timed.benchmarks):
            numbers.append(_number(timed.benchmarks, places, file))
        failures = [
            f"{function.name[:60]}: {function.error_message[:60] or 'failed'}"
            for function in timed.benchmarks
            if function.error_occurred
        ]
        context = timed.context
        return Dossier(
            number=numbers,
            setup=[_setup(context, file)],
            measurement=[_conduct(context, failures, file)],
        )


def _same(functions: Sequence[TimedFunction]) -> list[list[int]]:
    """The places of what has a time: the repetitions of a function together, everything else by itself."""
    groups: dict[object, list[int]] = {}
    for index, function in enumerate(functions):
        is_spread = function.aggregate_name in ("stddev", "cv")
        if function.real_time is None or function.error_occurred or is_spread:
            continue
        is_repetition = function.run_type == "iteration" and function.repetitions > 1
        key = function.name if is_repetition else index
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _number(
    functions: Sequence[TimedFunction], places: Sequence[int], file: str
) -> ReportedNumber:
    """The time of a function, or of an aggregate over its repetitions."""
    first = functions[places[0]]
    times = [functions[index].real_time or 0.0 for index in places]
    is_aggregate = first.run_type == "aggregate"
    number = ReportedNumber(
        name=first.name,
        kind="cost",
        value=fmean(times),
        unit=first.time_unit,
        n=first.repetitions if is_aggregate else len(times),
        raw_values=times if len(times) > 1 else None,
        interval="not an interval",
        summary=SUMMARIES.get(first.aggregate_name, "arithmetic mean"),
        timed_calls=first.iterations,
    )
    place = f"benchmarks/{places[0]}"
    return number.at(file, place, value=f"{place}/real_time")


def _setup(context: BenchmarkContext, file: str) -> SetupDescription:
    processor = None
    if context.num_cpus and context.mhz_per_cpu:
        processor = f"{context.num_cpus} CPUs of {context.mhz_per_cpu:g} MHz"
    setup = SetupDescription(
        name="the set-up",
        processor=processor,
        inputs=context.executable,
        measurement=context.library_build_type,
    )
    return setup.at(file, "context")


def _conduct(
    context: BenchmarkContext, failures: Sequence[str], file: str
) -> MeasurementConduct:
    remarks = []
    if context.cpu_scaling_enabled:
        remarks.append("the frequency of the CPUs was scaled while it ran")
    if context.library_build_type == "debug":
        remarks.append("the library was built for debugging")
    load = None
    if context.load_avg and context.num_cpus:
        load = min(1.0, max(0.0, (context.load_avg[0] - 1) / context.num_cpus))
    conduct = MeasurementConduct(
        name="the measurement",
        complete=True,
        failures=failures,
        remarks=remarks,
        load=load,
    )
    return conduct.at(file, "context", load="context/load_avg", failures="benchmarks")
