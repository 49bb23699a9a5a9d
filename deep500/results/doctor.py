"""What `d5 doctor` saw: the machine, its noise, what is installed, and what to fix."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..errors import Deep500Error, Refused
from ..measure.machine import Environment
from ..measure.results import Result
from ..measure.samples import check_blocks, check_plan
from ..reports.blocks import Block, Bullets, Problems, Report, Section, Table
from ..reports.surroundings import facts_of, raw_data
from ..reports.tables import NOTHING, is_number, percent, ratio, seconds
from ..reports.text import Text, clean, plain

FACTS_SHOWN = (
    ("hardware compute", "cpu model"),
    ("benchmark measurement setup", "usable cpus"),
    ("hardware compute", "hypervisor"),
    ("hardware compute", "frequency governor"),
    ("hardware memory", "memory size (GiB)"),
    ("software runtime", "kernel"),
    ("software runtime", "python"),
    ("software runtime", "blas of numpy"),
    ("software compiler", "c++ compiler"),
)
EXTRAS = {  # what of Deep500 installs it
    "jax": "jax",
    "mpi": "mpi",
    "onnxruntime": "onnx",
    "pytorch": "pytorch",
    "tensorflow": "tensorflow",
}
LARGE_SPREAD = 0.1
FIT = "nothing: this machine is fit for measuring"


@dataclass(frozen=True)
class Noise:
    """The same statement against itself: what this machine adds to every number."""

    n: int
    median_s: float
    spread: float  # (p75 - p25) / median of single calls
    between_processes: (
        float | None
    )  # standard deviation of the process medians / median
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str


class Doctor(ResultKind):
    """Blocks of a benchmark of one statement against itself; the noise follows from them."""

    measurement = False

    def check_plan(self, plan: object) -> dict[str, Any]:
        checked = check_plan(plan)
        installed, advice = checked.get("installed"), checked.get("advice")
        if not isinstance(installed, dict) or not isinstance(
            checked.get("clock"), dict
        ):
            raise Deep500Error(
                "plan.json does not say what is installed, or which clock there is"
            )
        if not isinstance(advice, list) or not all(
            isinstance(line, str) for line in advice
        ):
            raise Deep500Error("plan.json: its advice is not a list of sentences")
        if [entry["name"] for entry in checked["entries"]] != ["a", "b"]:
            raise Deep500Error(
                "plan.json: noise is measured between the entries a and b"
            )
        return checked

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        return check_blocks(plan, blocks)

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        noise = measure_noise(Result(plan, list(blocks)))  # type: ignore[arg-type]
        return {
            "noise": asdict(noise),
            "advice": [*plan["advice"], *_noise_advice(noise)],
        }

    def report(self, record: Record) -> Report:
        derived = record.derived or {}
        advice = [clean(line) for line in derived.get("advice", record.plan["advice"])]
        blocks: list[Block] = [
            Section("This machine", [_machine(record)]),
            *_noise_section(derived.get("noise")),
            Section("Installed", [_installed(record.plan["installed"])]),
            Section("Sensors", [_sensors(record.sensors or {})]),
            Section("What to fix", [Bullets(advice or [FIT])]),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 doctor", "This machine", blocks)

    def numbers(self, record: Record) -> dict[str, Any]:
        """Everything the doctor saw, as data."""
        surroundings = Environment.from_json(record.environment)
        return {
            "environment": surroundings.to_json(),
            "completeness": surroundings.completeness.fraction,
            "clock": record.plan["clock"],
            "installed": record.plan["installed"],
            "sensors": record.sensors,
            **(record.derived or {}),
        }


def measure_noise(result: Result) -> Noise:
    """What the samples of a statement against itself say of the machine."""
    series = [process.seconds[0] for process in result.processes]
    low, median, high = np.quantile(np.concatenate(series), [0.25, 0.5, 0.75])
    medians = [float(np.median(values)) for values in series]
    between = float(np.std(medians, ddof=1) / median) if len(medians) > 1 else None
    try:
        null = result.compare("a", "b")
        answer: tuple[float | None, float | None, float | None, str] = (
            null.ratio,
            null.low,
            null.high,
            null.verdict,
        )
    except Refused:
        answer = (None, None, None, "inconclusive")
    spread = float((high - low) / median)
    return Noise(sum(map(len, series)), float(median), spread, between, *answer)


def _noise_advice(noise: Noise) -> list[str]:
    said = []
    if noise.ratio is not None and noise.verdict in ("slower", "faster"):
        said.append(
            f"the same code differs from itself by {noise.ratio:.3f} ×: raise --margin, or quieten "
            "the machine"
        )
    if noise.spread > LARGE_SPREAD:
        said.append(
            f"single calls spread by {noise.spread:.0%}: close other programs, or give a larger "
            "--budget"
        )
    return said


def _machine(record: Record) -> Table:
    surroundings = Environment.from_json(record.environment)
    rows = [
        [name, clean(surroundings.fact(group, name))] for group, name in FACTS_SHOWN
    ]
    clock, complete = record.plan["clock"], surroundings.completeness
    rows.append(["clock", _clock(clock)])
    known = f"{complete.known} of {complete.total} facts ({percent(complete.fraction)})"
    return Table(["fact", "value"], [*rows, ["environment known", known]])


def _clock(clock: Mapping[str, Any]) -> str:
    overhead, resolution = (
        plain(clock.get(key)) for key in ("overhead_ns", "resolution_ns")
    )
    name = plain(clock.get("name"))
    return f"{name}: reading it costs {overhead} ns, it steps by {resolution} ns"


def _noise_section(noise: Mapping[str, Any] | None) -> list[Block]:
    if noise is None:
        return [Problems(["unfinished: no noise was measured before it ended"])]
    compared = ratio(noise["ratio"], noise["low"], noise["high"], noise["n"])
    rows: list[list[Text]] = [
        ["single calls, p25 to p75", _share(noise["spread"])],
        ["between processes, sd", _share(noise["between_processes"])],
        ["the same code against itself", [compared, f": {noise['verdict']}"]],
    ]
    title = f"Noise (a call of {seconds(noise['median_s'])}, n = {noise['n']})"
    return [Section(title, [Table(["what", "how much"], rows)])]


def _share(value: object) -> str:
    return percent(value) if is_number(value) and math.isfinite(value) else NOTHING


def _installed(installed: Mapping[str, Any]) -> Table:
    rows = []
    for name, version in installed.items():
        rows.append([clean(name), plain(version) if version else _missing(name)])
    return Table(["framework", "version"], rows)


def _missing(name: str) -> str:
    if name not in EXTRAS:
        return "not installed"
    return f"not installed: pip install 'deep500-bench[{EXTRAS[name]}]'"


def _sensors(readings: Mapping[str, Any]) -> Table:
    rows = []
    for name, _, source, unknown in facts_of(readings):
        rows.append(
            [name, f"unavailable: {unknown}" if unknown else "yes", source or NOTHING]
        )
    return Table(["sensor", "available", "source"], rows, "ltt")
