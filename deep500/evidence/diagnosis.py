"""Is this machine fit for measuring: what it is, how noisy it is, what is installed, what to fix."""

from dataclasses import asdict, dataclass
from importlib import metadata

import numpy as np

from ..errors import Refused
from ..measure.clock import Clock, calibrate
from ..measure.machine import Environment, advice, environment
from ..measure.results import Result
from ..measure.running import run
from ..measure.sensing import Reading, sensors

FRAMEWORKS = {
    "pytorch": "torch",
    "jax": "jax",
    "tensorflow": "tensorflow-cpu",
    "onnxruntime": "onnxruntime",
    "mpi": "mpi4py",
}
PROCESSES = 6
PROBE = "sum(range(30_000))"  # about half a millisecond of pure interpreter


@dataclass(frozen=True)
class Noise:
    """The same statement against itself: what this machine adds to every number."""

    n: int
    median_s: float
    spread: float  # (p75 - p25) / median of single calls
    between_processes: float  # standard deviation of the process medians / median
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True)
class Diagnosis:
    environment: Environment
    clock: Clock
    noise: Noise
    installed: dict[str, str | None]
    sensors: dict[str, Reading]
    advice: tuple[str, ...]

    def to_json(self) -> dict:
        return {
            "environment": self.environment.to_json(),
            "completeness": self.environment.completeness.fraction,
            "clock": asdict(self.clock),
            "noise": asdict(self.noise),
            "installed": self.installed,
            "sensors": {name: asdict(r) for name, r in self.sensors.items()},
            "advice": list(self.advice),
        }


def diagnose(budget_s: float = 2.0) -> Diagnosis:
    """Look at everything that bears on measuring here."""
    found = environment()
    with sensors() as sensing:
        noise = _noise(run({"a": PROBE, "b": PROBE}, budget_s=budget_s, processes=PROCESSES))
    return Diagnosis(
        found,
        calibrate(),
        noise,
        {name: _version(package) for name, package in FRAMEWORKS.items()},
        sensing.readings(),
        tuple(_advice(found, noise)),
    )


def _noise(result: Result) -> Noise:
    series = [p.seconds[0] for p in result.processes]
    low, median, high = np.quantile(np.concatenate(series), [0.25, 0.5, 0.75])
    medians = [float(np.median(s)) for s in series]
    try:
        null = result.compare("a", "b")
    except Refused:
        null = None
    return Noise(
        sum(map(len, series)),
        float(median),
        float((high - low) / median),
        float(np.std(medians, ddof=1) / median),
        *(
            (null.ratio, null.low, null.high, null.verdict)
            if null
            else (None, None, None, "inconclusive")
        ),
    )


def _advice(found: Environment, noise: Noise) -> list[str]:
    said = advice(found)
    if noise.verdict in ("slower", "faster"):
        said.append(
            f"the same code differs from itself by {noise.ratio:.3f} ×: raise --margin, or quieten the machine"
        )
    if noise.spread > 0.1:
        said.append(
            f"single calls spread by {noise.spread:.0%}: close other programs, or give a larger --budget"
        )
    return said


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
