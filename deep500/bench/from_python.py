"""Benchmarks from Python: what `d5 bench operator`, `d5 bench network` and the others do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from ..contracts.result import Record
from ..measure.plan import Settings
from ..measure.running import Progress
from .network_benchmark import NetworkBenchmark
from .networks.jobs import MODES
from .notes import Says
from .operator_benchmark import OperatorBenchmark
from .operators.naming import operator_text
from .operators.rivals import rival_problems
from .pipeline import run_benchmark
from .threads import checked_threads


def bench_operator(
    operators: Any,
    shape: str | Sequence[str],
    *,
    attributes: Mapping[str, Any] | None = None,
    dtypes: Sequence[str] = ("float32",),
    frameworks: Sequence[str] = ("pytorch",),
    kernels: Sequence[str] = ("",),
    directions: Sequence[str] = ("forward",),
    threads: int | None = None,
    reference: Any = "",
    wait_for_quiet_s: float = 0.0,
    out: str | Path | None = None,
    progress: Progress | None = None,
    tell: Says | None = None,
    **settings: Unpack[Settings],
) -> Record:
    """Measure an operator, or several that are rivals, as `d5 bench operator` does; returns the record of the bundle.

    An operator is named as on the command line ("Gelu", "my.py:fused", "gelu.cpp:gelu"), or is a built-in operator, a
    class or a function that lies in a file. Without `threads`, every framework uses all CPUs. Notes for the user, such
    as that checks will take longer than the budget, go to `tell`. Settings: budget_s, precision, margin, level,
    processes, timeout_s, seed, cache.
    """
    several = operators if isinstance(operators, tuple | list) else [operators]
    shapes = [shape] if isinstance(shape, str) else shape
    judge = operator_text(reference) if reference else ""
    texts = [operator_text(operator) for operator in several]
    problems = rival_problems(texts, shapes, attributes or {}, judge)
    benchmark = OperatorBenchmark(
        tuple(problems),
        tuple(dtypes),
        tuple(frameworks),
        tuple(kernels),
        tuple(directions),
        checked_threads(threads),
        judge,
        cold=settings.get("cache") == "cold",
    )
    return run_benchmark(
        benchmark,
        wait_for_quiet_s=wait_for_quiet_s,
        out=out,
        progress=progress,
        tell=tell,
        **settings,
    )


def bench_network(
    model: str | Path,
    *,
    attributes: Mapping[str, Any] | None = None,
    frameworks: Sequence[str] = ("pytorch",),
    batches: Sequence[int] = (1,),
    train: bool = False,
    executions: Sequence[str] = (),
    threads: int | None = None,
    wait_for_quiet_s: float = 0.0,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Record:
    """Measure a network as `d5 bench network` does; returns the record of the bundle.

    The model is an ONNX file, the name of a built-in network, or `my.py:name`; `attributes` are what `--set` sets. With
    `train`, a training step is measured as well as an inference. Settings are those of `bench_operator`.
    """
    benchmark = NetworkBenchmark(
        str(model),
        attributes or {},
        tuple(frameworks),
        tuple(batches),
        MODES if train else MODES[:1],
        tuple(executions),
        checked_threads(threads),
        settings.get("cache") == "cold",
    )
    return run_benchmark(
        benchmark,
        wait_for_quiet_s=wait_for_quiet_s,
        out=out,
        progress=progress,
        **settings,
    )
