"""Benchmarks of elementary functions: how exact exp, log, tanh … are on each framework."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from ..errors import Deep500Error, unknown
from ..frameworks import framework
from .benchmark import Benchmark, Job, Subject, Trial, combinations
from .elementary.functions import (
    DTYPES,
    FUNCTIONS,
    KERNELS,
    exactness,
    not_measured,
)


class ElementaryJob(Job):
    """One function on one framework in one dtype."""

    function: str
    framework: str
    dtype: str
    n: int
    seed: int
    kernel: str = "own"
    hashed: int = 0

    @property
    def group(self) -> str:
        return self.framework

    @property
    def trial_text(self) -> str:
        own = "" if self.kernel == "own" else f" ({self.kernel})"
        return f"{self.function}{own} on {self.framework} in {self.dtype}"

    def name(self, result: Mapping[str, Any]) -> str:
        return self.trial_text

    def subject(self) -> "ElementarySubject":
        return ElementarySubject(self)

    def row(self, trial: Trial) -> dict[str, Any]:
        """Its line in the result."""
        if trial.state == "ok":
            return trial.result["row"]
        kernel = "" if self.kernel == "own" else self.kernel
        row = not_measured(
            self.function, self.framework, self.dtype, trial.text, kernel
        )
        return asdict(row)


class ElementarySubject(Subject):
    """Errors in units in the last place, which are the result: nothing is timed."""

    def __init__(self, job: ElementaryJob):
        self.job = job

    def check(self) -> None:
        pass

    def facts(self) -> dict[str, Any]:
        return {"row": asdict(exactness(**self.job.settings))}


class ElementaryBenchmark(Benchmark):
    """Elementary functions: errors in units in the last place, against mpmath."""

    kind: ClassVar[str] = "elementary"
    timed: ClassVar[bool] = False
    least_timeout_s: ClassVar[float] = 600.0

    functions: tuple[str, ...]
    frameworks: tuple[str, ...]
    dtypes: tuple[str, ...] = ("float32",)
    n: int = 1000
    seed: int = 0
    kernels: tuple[str, ...] = ("own",)
    hashed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for function in self.functions:
            if function not in FUNCTIONS:
                raise unknown("function", function, FUNCTIONS)
        for dtype in self.dtypes:
            if dtype not in DTYPES:
                raise unknown("dtype", dtype, DTYPES)
        if not 1 <= self.n <= 10**6:
            raise Deep500Error(f"n = {self.n} arguments: give 1 to 1000000")
        for kernel in self.kernels:
            if kernel not in KERNELS:
                raise unknown("kernel", kernel, KERNELS)
        if not 0 <= self.hashed <= 10**7:
            raise Deep500Error(
                f"hashed = {self.hashed} arguments: give 0 (none) to 10000000"
            )
        for name in self.frameworks:
            framework(name)

    def jobs(self) -> list[ElementaryJob]:
        jobs = []
        for levels in combinations(
            framework=self.frameworks,
            function=self.functions,
            dtype=self.dtypes,
            kernel=self.kernels,
        ):
            job = ElementaryJob(**levels, n=self.n, seed=self.seed, hashed=self.hashed)
            if FUNCTIONS[job.function].has_kernel(job.kernel, job.dtype):
                jobs.append(job)
        if not jobs:
            raise Deep500Error(
                "no function of these has fixed bits: there are "
                f"{', '.join(fixed_functions())}, in float32"
            )
        return jobs

    def block(self, group: str, trials: Sequence[Trial]) -> dict[str, Any]:
        rows = [trial.job.row(trial) for trial in trials]
        return {"framework": group, "rows": rows}


def fixed_functions() -> list[str]:
    """The functions that deep500/elementary has."""
    return [
        name for name, what in FUNCTIONS.items() if what.has_kernel("fixed", "float32")
    ]
