"""Google Benchmark: `--benchmark_format=json`."""

from collections.abc import Sequence
from dataclasses import dataclass

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
        for index, function in enumerate(timed.benchmarks):
            if function.real_time is None or function.aggregate_name in (
                "stddev",
                "cv",
            ):
                continue
            is_aggregate = function.run_type == "aggregate"
            number = ReportedNumber(
                name=function.name,
                kind="cost",
                value=function.real_time,
                unit=function.time_unit,
                n=function.repetitions if is_aggregate else 1,
                interval="not an interval",
                summary=SUMMARIES.get(function.aggregate_name, "arithmetic mean"),
                timed_calls=function.iterations,
            )
            place = f"benchmarks/{index}"
            numbers.append(number.at(file, place, value=f"{place}/real_time"))
        context = timed.context
        return Dossier(
            number=numbers,
            setup=[_setup(context, file)],
            measurement=[_conduct(context, file)],
        )


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


def _conduct(context: BenchmarkContext, file: str) -> MeasurementConduct:
    remarks = []
    if context.cpu_scaling_enabled:
        remarks.append("the frequency of the CPUs was scaled while it ran")
    if context.library_build_type == "debug":
        remarks.append("the library was built for debugging")
    load = None
    if context.load_avg and context.num_cpus:
        load = min(1.0, max(0.0, (context.load_avg[0] - 1) / context.num_cpus))
    conduct = MeasurementConduct(
        name="the measurement", complete=True, remarks=remarks, load=load
    )
    return conduct.at(file, "context", load="context/load_avg")
