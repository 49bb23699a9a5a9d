"""pytest-benchmark: `pytest --benchmark-json=result.json`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..contracts.dossier import Dossier, ReportedNumber, SetupDescription
from ..contracts.log_format import LogFormat
from ..schema import Count, decoded


@dataclass(frozen=True)
class RoundStatistics:
    mean: float
    median: float
    rounds: Count
    iterations: Count = 1
    data: Sequence[float] | None = None  # with --benchmark-save-data


@dataclass(frozen=True)
class TimedTest:
    name: str
    stats: RoundStatistics


@dataclass(frozen=True)
class TimedTests:
    benchmarks: Sequence[TimedTest]
    machine_info: Mapping[str, Any] = field(default_factory=dict)
    commit_info: Mapping[str, Any] = field(default_factory=dict)


class PytestBenchmark(LogFormat):
    """A file of pytest-benchmark, whose table has minimum, mean, standard deviation and median."""

    def recognises(self, content: object) -> bool:
        return isinstance(content, dict) and {"benchmarks", "machine_info"} <= set(
            content
        )

    def dossier(self, content: object, file: str) -> Dossier:
        tests = decoded(TimedTests, content, file)
        numbers = []
        for index, test in enumerate(tests.benchmarks):
            number = ReportedNumber(
                name=test.name,
                kind="cost",
                value=test.stats.mean,
                unit="s",
                n=test.stats.rounds,
                raw_values=test.stats.data,
                interval="not an interval",
                summary="arithmetic mean",
                timed_calls=test.stats.iterations,
            )
            place = f"benchmarks/{index}/stats"
            numbers.append(
                number.at(file, place, value=f"{place}/mean", n=f"{place}/rounds")
            )
        return Dossier(number=numbers, setup=[_setup(tests, file)])


def _setup(tests: TimedTests, file: str) -> SetupDescription:
    machine = tests.machine_info
    cpu = machine.get("cpu")
    brand = cpu.get("brand_raw") if isinstance(cpu, Mapping) else None
    versions = [machine.get(key) for key in ("system", "release", "python_version")]
    runtime = " ".join(str(version) for version in versions if version)[:200]
    compiler, commit = machine.get("python_compiler"), tests.commit_info.get("id")
    setup = SetupDescription(
        name="the set-up",
        processor=str(brand)[:200] if brand else None,
        runtime=runtime or None,
        compiler=str(compiler)[:200] if compiler else None,
        source=str(commit)[:100] if commit else None,
    )
    return setup.at(file, "machine_info", source="commit_info/id")
