"""Checks an optimizer on a framework: every step against a float64 oracle, its state, and the framework's own rule."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from ...contracts.native_optimizer import NativeOptimizer
from ...contracts.optimizer import Optimizer
from ...contracts.schedule import Schedule
from ...contracts.three_step import ThreeStepOptimizer
from ...errors import Deep500Error, one_line
from ...frameworks import native_optimizers
from ...training.given_gradients import batch_of, fed_executor
from ..checking.report import CheckResult, OperatorReport
from ..isolation import Died, isolated
from .oracles import RULES, Oracle
from .problems import Arrays, TrainingProblem, problems
from .stepping import trajectory
from .subjects import load_optimizer

DTYPES = ("float64", "float32")
# of the error, relative to the distance that the parameter has moved
BOUNDS = {"float64": 1e-10, "float32": 1e-3}
ULPS = 4.0  # the rounding of a parameter that each step may add
COMMON_RULES = {"SGD", "Momentum", "Nesterov"}
# the framework's own optimizers that have the same formula as ours, and the bound for their steps
SAME_RULE = {
    "pytorch": (
        COMMON_RULES | {"AdaGrad", "RMSProp", "Adam", "AdamW", "AMSGrad"},
        1e-10,
    ),
    "jax": (COMMON_RULES | {"RMSProp", "Adam", "AdamW", "Lion", "LAMB"}, 1e-10),
    "tensorflow": (COMMON_RULES, 1e-6),  # Keras holds the rate in float32
}
Progress = Callable[[str], None]
Path = Sequence[Mapping[str, np.ndarray]]  # the parameters after every step


def check_optimizer(
    optimizer: Any,
    framework: str = "pytorch",
    reference: Optimizer | str | None = None,
    seed: int = 0,
    dtypes: Sequence[str] = DTYPES,
    steps: int = 100,
    progress: Progress | None = None,
) -> OperatorReport:
    """Check an optimizer, step by step, as a framework runs it; the report is true if every check passes.

    The optimizer is an instance, or a text such as "Adam" or "my_file.py:MyAdam". `reference` is the built-in rule
    that it should follow, with its settings: "Adam(0.01)". A built-in optimizer is its own reference, and that of a
    framework's own optimizer is the built-in one of the same name. Without a reference, the steps are compared with
    those of the same code on the reference framework in float64.
    """
    subject = (
        load_optimizer(optimizer) if isinstance(optimizer, str) else optimizer
    )
    if not isinstance(subject, Optimizer | ThreeStepOptimizer):
        raise Deep500Error(
            f"{subject!r} is no optimizer: give an instance, as in SGD(0.1)"
        )
    rule = (
        load_optimizer(reference) if isinstance(reference, str) else reference
    )
    if rule is None and isinstance(subject, NativeOptimizer):
        rule = _same_rule(subject)
    if steps < 2:
        raise Deep500Error(f"{steps} steps are too few: give at least 2")
    report_progress = progress or (lambda text: None)
    runner = _Checks(subject, framework, rule, steps, report_progress)
    checks = []
    for dtype in dtypes:
        for problem in problems(seed):
            checks += runner.follow(problem, dtype)
        small_network = problems(seed)[2]
        checks.append(runner.resume(small_network, dtype))
    small_network = problems(seed)[2]
    checks.append(runner.native(small_network))
    name = type(subject).__name__
    return OperatorReport(name, framework, _kernel(subject, framework), checks)


def _kernel(optimizer: Optimizer | ThreeStepOptimizer, framework: str) -> str:
    """What runs the steps on this framework."""
    if isinstance(optimizer, ThreeStepOptimizer):
        return "user's"
    if optimizer.native(framework):
        return "native"
    return "formula"


def check_optimizer_elsewhere(
    optimizer: str,
    settings: Mapping[str, Any],
    framework: str,
    reference: str | None,
    seed: int,
    dtypes: Sequence[str],
    steps: int,
    timeout_s: float,
) -> OperatorReport:
    """As `check_optimizer`, in a fresh process with a deadline: code that crashes or never ends is wrong."""
    request = {
        "optimizer": optimizer,
        "settings": dict(settings),
        "framework": framework,
        "reference": reference,
        "seed": seed,
        "dtypes": list(dtypes),
        "steps": steps,
    }
    try:
        data = isolated(f"{__name__}:checked_in_child", request, timeout_s)
    except Died as error:
        ended = CheckResult("ends", False, text=one_line(error))
        return OperatorReport(
            optimizer, framework, "unknown", [ended], isolated=True
        )
    return OperatorReport.from_json(data)


def checked_in_child(
    optimizer: str,
    settings: Mapping[str, Any],
    progress: Progress,
    **options: Any,
) -> dict[str, Any]:
    """Check an optimizer in the fresh process, and return its report as JSON."""
    subject = load_optimizer(optimizer, settings)
    report = check_optimizer(subject, progress=progress, **options)
    return report.to_json() | {"isolated": True}


@dataclass(frozen=True)
class _Checks:
    """The checks of one optimizer on one framework."""

    optimizer: Any
    framework: str
    reference: Optimizer | None
    steps: int
    progress: Progress

    def follow(self, problem: TrainingProblem, dtype: str) -> list[CheckResult]:
        """Whether every step agrees with the reference; without one, also whether the parameters change at all."""
        self.progress(f"{problem.name}, {dtype}")
        place = (dtype, problem.name)
        try:
            gradients, truth = self._truth(problem)
            path = trajectory(
                self.framework, self.optimizer, problem.start, gradients, dtype
            )
        except Exception as error:  # whatever the optimizer does
            return [
                _check(place, "steps", False, text=one_line(error, kind=True))
            ]
        value, step = deviation(path, truth, problem.start, dtype)
        follows = _within(place, "steps", value, BOUNDS[dtype], step)
        if self._oracle_of() is not None:
            return [follows]
        moves = self._moves(path, gradients, problem.start, place)
        return [follows, moves]

    def resume(self, problem: TrainingProblem, dtype: str) -> CheckResult:
        """Whether a run that resumes from a saved state gives the same bits as one that never stopped."""
        self.progress(f"resumption, {dtype}")
        place = (dtype, problem.name)
        try:
            different = self._differences_after_resuming(problem, dtype)
        except Exception as error:  # whatever the optimizer does
            return _check(
                place, "resumption", False, text=one_line(error, kind=True)
            )
        count = float(len(different))
        text = f"{different[0]!r} is another" if different else ""
        return _check(place, "resumption", not different, count, 0.0, text)

    def native(self, problem: TrainingProblem) -> CheckResult:
        """Compare with the framework's own optimizer of the same rule, in float64."""
        followed = self.reference or self.optimizer
        rule = type(followed).__name__
        place = ("float64", problem.name)
        rules, bound = SAME_RULE.get(self.framework, (set(), 0.0))
        theirs = native_optimizers(self.framework).get(f"{rule}Optimizer")
        is_native = isinstance(self.optimizer, NativeOptimizer)
        if rule not in rules or theirs is None or is_native:
            text = f"{self.framework} has no {rule} of the same formula"
            return _check(place, "native", None, text=text)
        self.progress(f"{self.framework}'s own {rule}")
        settings = followed.settings
        shared = {key: settings[key] for key in _field_names(theirs)}
        for key, setting in settings.items():
            if key not in shared and setting:
                text = f"{self.framework}'s own {rule} has no {key}"
                return _check(place, "native", None, text=text)
        try:
            value, step = self._deviation_from_native(theirs(**shared), problem)
        except Exception as error:  # whatever the optimizer does
            return _check(
                place, "native", False, text=one_line(error, kind=True)
            )
        return _within(place, "native", value, bound, step)

    def _deviation_from_native(
        self, native: NativeOptimizer, problem: TrainingProblem
    ) -> tuple[float, int]:
        gradients, _ = self._truth(problem)
        run = partial(trajectory, self.framework)
        path = run(self.optimizer, problem.start, gradients, "float64")
        native_path = run(native, problem.start, gradients, "float64")
        return deviation(path, native_path, problem.start, "float64")

    def _truth(self, problem: TrainingProblem) -> tuple[list[Arrays], Path]:
        """The gradients of every step and the expected parameters after it."""
        oracle = self._oracle_of()
        if oracle is None:
            return self._reference_path(problem)
        rule, settings, rate = oracle
        truth = Oracle(rule, settings, problem.start, rate)
        gradients, path = [], []
        for step in range(self.steps):
            step_gradients = problem.gradient(truth.params, step)
            gradients.append(step_gradients)
            path.append(truth.step(step_gradients))
        return gradients, path

    def _oracle_of(
        self,
    ) -> tuple[Any, Mapping[str, Any], Callable[[int], float]] | None:
        """The rule in float64 that this optimizer should follow, its settings and its rate; None if it is not known."""
        rule = self.reference
        if rule is None and _is_built_in(self.optimizer):
            rule = self.optimizer
        if rule is None or type(rule).__name__ not in RULES:
            return None
        rate = rule.settings["learning_rate"]

        def rate_at(step: int) -> float:
            return rate.number(step) if isinstance(rate, Schedule) else rate

        return RULES[type(rule).__name__], rule.settings, rate_at

    def _reference_path(
        self, problem: TrainingProblem
    ) -> tuple[list[Arrays], Path]:
        """The steps of the same code on the reference framework in float64."""
        start = problem.start
        gradients = [
            problem.gradient(start, step) for step in range(self.steps)
        ]
        path = trajectory(
            "reference", self.optimizer, start, gradients, "float64"
        )
        return gradients, path

    def _moves(
        self,
        path: Path,
        gradients: Sequence[Arrays],
        start: Arrays,
        place: tuple[str, str],
    ) -> CheckResult:
        """Whether every parameter that has gradients has changed in the end."""
        dtype, _ = place
        end = path[-1]
        stuck = []
        for name, value in start.items():
            has_gradient = any(arrays[name].any() for arrays in gradients)
            if has_gradient and np.array_equal(end[name], value.astype(dtype)):
                stuck.append(name)
        count = float(len(stuck))
        text = f"{stuck[0]!r} has gradients and never changes" if stuck else ""
        return _check(place, "moves", not stuck, count, 0.0, text)

    def _differences_after_resuming(
        self, problem: TrainingProblem, dtype: str
    ) -> list[str]:
        """The parameters that have other bits at the end of a run that was resumed in the middle."""
        batches = []
        for number in range(6):
            gradients = problem.gradient(problem.start, number)
            batches.append(batch_of(gradients, dtype))
        whole = fed_executor(self.framework, problem.start, dtype)
        step = whole.training_step(self.optimizer)
        for batch in batches[:3]:
            step(batch)
        state = step.state()
        params = whole.arrays()
        for batch in batches[3:]:
            step(batch)
        resumed = fed_executor(self.framework, params, dtype)
        resumed_step = resumed.training_step(self.optimizer)
        resumed_step.load_state(state)
        for batch in batches[3:]:
            resumed_step(batch)
        expected = whole.arrays()
        different = []
        for name, value in resumed.arrays().items():
            if not np.array_equal(value, expected[name]):
                different.append(name)
        return different


def _check(
    place: tuple[str, str],
    name: str,
    ok: bool | None,
    value: float | None = None,
    bound: float | None = None,
    text: str = "",
) -> CheckResult:
    """A check at a place: in one dtype on one problem."""
    dtype, case = place
    return CheckResult(name, ok, value, bound, text, dtype, case)


def _within(
    place: tuple[str, str], name: str, value: float, bound: float, step: int
) -> CheckResult:
    """A check that the deviation is within its bound; `step` is the first at which it is not."""
    if value <= bound:
        return _check(place, name, True, value, bound)
    text = f"step {step} is the first that is too far off"
    return _check(place, name, False, value, bound, text)


def deviation(
    path: Path, truth: Path, start: Arrays, dtype: str
) -> tuple[float, int]:
    """The largest error at any step, relative to how far its parameter has moved by then, and the first step above
    the bound.

    A few roundings per step always count as movement, so that tiny moves of large values are judged by the precision
    of the dtype.
    """
    worst, first = 0.0, 0
    bound = BOUNDS[dtype]
    epsilon = float(np.finfo(dtype).eps)
    moved = dict.fromkeys(start, 0.0)
    for step, (ours, theirs) in enumerate(zip(path, truth, strict=True), 1):
        for name, expected in theirs.items():
            distance = _largest(expected - start[name])
            moved[name] = max(moved[name], distance)
            rounding = ULPS * step * epsilon * _largest(expected)
            error = _largest(ours[name] - expected)
            if not np.isfinite(error):
                return float("inf"), step
            movement = moved[name] + rounding / bound
            relative = error / movement if movement else error
            if relative > bound and worst <= bound:
                first = step
            worst = max(worst, relative)
    return worst, first


def _largest(array: np.ndarray) -> float:
    return float(np.abs(array).max())


def _same_rule(native: NativeOptimizer) -> Optimizer:
    """The built-in optimizer of the same name and settings as a framework's own one."""
    name = type(native).__name__.removesuffix("Optimizer")
    return load_optimizer(name, native.settings)


def _field_names(definition: type) -> list[str]:
    return [field.name for field in fields(definition)]


def _is_built_in(optimizer: Any) -> bool:
    package = __name__.split(".")[0]
    module = type(optimizer).__module__
    return module.startswith(f"{package}.optimizers.")
