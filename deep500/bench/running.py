"""Benchmarks of operators and networks from Python: what `d5 bench operator` and `d5 bench network` do."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from .. import registry
from ..contracts.operator import Operator
from ..contracts.result import Record
from ..custom.cpp import CppOp
from ..custom.operators import CustomOp
from ..errors import Deep500Error
from ..evidence.recording import Recording, recorded_run
from ..measure.bounds.roofline import refute_peak
from ..measure.plan import Plan, Settings
from ..measure.quiet import Moment, wait_for_quiet
from ..measure.running import Progress
from ..measure.sensing.others import allowed_cpus
from .networks.jobs import MODES
from .networks.planning import (
    NetworkBenchRequest,
    breakdown_blocks,
    network_plan,
)
from .operators.jobs import BenchProblem
from .operators.planning import BenchFactors, operator_plan
from .operators.rivals import rival_problems
from .operators.truth import shared_truths

BREAKDOWN_SHARE = 0.25  # of the budget, for the operators one by one
BREAKDOWN_PROCESSES = 3  # as many as an interval needs
Says = Callable[[str], None]
Quiet = Callable[[], Moment]  # waits for a quiet machine


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
    processes, timeout_s, seed.
    """
    several = operators if isinstance(operators, tuple | list) else [operators]
    shapes = [shape] if isinstance(shape, str) else shape
    judge = operator_text(reference) if reference else ""
    texts = [operator_text(operator) for operator in several]
    problems = rival_problems(texts, shapes, attributes or {}, judge)
    factors = BenchFactors(
        dtypes, frameworks, kernels, directions, _threads(threads), judge
    )
    return measured_operators(
        problems,
        factors,
        quiet=lambda: wait_for_quiet(wait_for_quiet_s, progress),
        out=out,
        progress=progress,
        tell=tell,
        **settings,
    )


def measured_operators(
    problems: Sequence[BenchProblem],
    over: BenchFactors,
    scope: str = "",
    *,
    quiet: Quiet,
    out: str | Path | None = None,
    progress: Progress | None = None,
    tell: Says | None = None,
    **settings: Unpack[Settings],
) -> Record:
    """Check every combination of problems and factors, wait for a quiet machine, and measure."""
    tell = tell or _say_nothing
    with shared_truths():
        plan = operator_plan(
            problems, over, scope, _texts(progress), tell, **settings
        )
        record = recorded_run(_at_moment(plan, quiet()), out, progress)
    _refute_peaks(record, tell)
    return record


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
    request = NetworkBenchRequest(
        str(model),
        attributes or {},
        frameworks,
        batches,
        MODES if train else MODES[:1],
        executions,
        _threads(threads),
    )
    return measured_network(
        request,
        quiet=lambda: wait_for_quiet(wait_for_quiet_s, progress),
        out=out,
        progress=progress,
        **settings,
    )


def measured_network(
    request: NetworkBenchRequest,
    *,
    quiet: Quiet,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Record:
    """Check every job, wait for a quiet machine, and measure: first networks, then their operators one by one."""
    plan = network_plan(request, _texts(progress), **settings)
    plan = _at_moment(plan, quiet())

    def append_breakdown(record: Recording) -> None:
        seconds = BREAKDOWN_SHARE * settings.get("budget_s", plan.budget_s)
        for block in breakdown_blocks(
            plan, seconds, BREAKDOWN_PROCESSES, _texts(progress, 1.0)
        ):
            record.append(block)

    return recorded_run(
        plan, out, progress, kind="network_bench", more=append_breakdown
    )


def operator_text(operator: Any) -> str:
    """An operator or a function as a command line names it: other processes load it by that."""
    if isinstance(operator, str):
        return operator
    if isinstance(operator, CppOp):
        place = f"{operator.source}:{operator.name}"
        return _with_settings(place, operator.definitions)
    if isinstance(operator, CustomOp):
        return _with_settings(_place(type(operator)), operator.attributes)
    if isinstance(operator, Operator):
        return _with_settings(_place(type(operator)), operator.settings)
    if inspect.isclass(operator) or inspect.isfunction(operator):
        return _place(operator)
    raise _not_found(operator)


def _with_settings(place: str, settings: Mapping[str, Any]) -> str:
    if not settings:
        return place
    pairs = [f"{name}={value!r}" for name, value in settings.items()]
    return f"{place}({', '.join(pairs)})"


def _place(code: Any) -> str:
    """The name of a built-in operator, or the file and the name of a class or a function at its top."""
    name = code.__name__
    is_built_in = name in registry.known("operators")
    if is_built_in and registry.find("operators", name) is code:
        return str(name)
    # the running script would run again wherever it is imported
    if code.__qualname__.isidentifier() and code.__module__ != "__main__":
        file = inspect.getsourcefile(code)
        if file and Path(file).is_file():
            return f"{file}:{name}"
    raise _not_found(code)


def _not_found(operator: Any) -> Deep500Error:
    name = getattr(operator, "__qualname__", None) or repr(operator)
    return Deep500Error(
        f"{name} cannot be found by the processes that time it: define it at the top of a file that is imported, or "
        "give its name, as in my.py:name"
    )


def _threads(requested: int | None) -> int:
    if requested is None:
        return len(allowed_cpus())
    if not 0 <= requested <= 4096:
        raise Deep500Error(
            f"threads is {requested}: give 1 or more, or 0 for each framework's own choice"
        )
    return requested


def _texts(progress: Progress | None, share: float = 0.0) -> Says:
    """A function that says what is being done."""
    if progress is None:
        return _say_nothing
    return lambda text: progress(share, text)


def _say_nothing(text: str) -> None:
    pass


def _at_moment(plan: Plan, moment: Moment) -> Plan:
    return replace(plan, about={**plan.about, "moment": moment.to_json()})


def _refute_peaks(record: Record, tell: Says) -> None:
    """Discard stored peaks of the machine that a measurement has exceeded, and tell."""
    planned_entries = record.plan["entries"]
    entries = (record.derived or {})["entries"]
    for planned, entry in zip(planned_entries, entries, strict=True):
        roofline = entry["rates"].get("roofline") or {}
        if not roofline.get("alarm") or roofline["limited_by"] != "compute":
            continue
        dtype, rate = planned["work"]["dtype"], entry["rates"]["flops"]["value"]
        if refute_peak(dtype, rate):
            tell(
                f"{entry['name']!r} ran at {rate / 1e9:.3g} GFLOP/s, above the kept peak of {dtype}: the peaks will be "
                "measured again at their next use"
            )
