"""Checks an optimizer on a framework: every step, its direction, its state, and the framework's own rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from ...contracts.native_optimizer import LibraryOptimizer, NativeOptimizer
from ...contracts.optimizer import Optimizer
from ...contracts.three_step import ThreeStepOptimizer
from ...errors import (
    Deep500Error,
    Incomplete,
    InternalError,
    raise_if_internal,
    with_place,
)
from ...frameworks import framework as find_framework
from ...frameworks import framework_names, native_optimizers
from ...supervision.serving import Progress, silent
from ..operators.formats import checked_dtypes
from ..report import CheckReport, CheckResult, Reports
from .namesakes import namesakes
from .oracles import RULES
from .origins import origin_of
from .problems import Arrays, TrainingProblem, problems, slope
from .resuming import resumed_elsewhere, resumed_run, whole_run
from .stepping import trajectory
from .subjects import as_optimizer, load_optimizer
from .truths import (
    EXACT,
    OwnTruth,
    Path,
    StepTruth,
    home,
    is_built_in,
    optimizer_name,
    precision,
    truth_of,
)
from .unjudged_checks import FORMULA, NEW_PROCESS, NOT_INDEPENDENT, SAME_PROCESS

DTYPES = ("float64", "float32")
# bounds of the error, relative to the distance that the parameter has moved
BOUNDS = {"float64": EXACT, "float32": 1e-3}
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


def check_optimizer(
    optimizer: Any,
    framework: str | Sequence[str] = "pytorch",
    *,
    reference: Any = None,
    seed: int = 0,
    dtypes: Sequence[str] | str = DTYPES,
    steps: int = 100,
    progress: Progress | None = None,
) -> Reports:
    """Check an optimizer, step by step, as frameworks run it; the report is true if every check passes.

    The optimizer is an instance, a text such as "Adam(0.01)", "my_file.py:MyAdam" or "torch.optim.Adam(lr=0.01)", or
    a class or object of torch.optim, optax or Keras. `reference` is what it should compute, given in the same ways. A
    built-in optimizer is its own reference, and that of any other one is the built-in or the framework's own of the
    same name. Without all these, its steps are compared with those of the same code in float64, and the check
    "formula" says so.
    """
    dtypes = checked_dtypes(dtypes, BOUNDS)
    subject = as_optimizer(optimizer)
    rule = None if reference is None else as_optimizer(reference)
    origin = origin_of(subject)
    reports = []
    for name in framework_names(framework):
        report = check_steps(
            subject, name, rule, origin, seed, dtypes, steps, progress or silent
        )
        reports.append(report)
    return Reports("optimizer", optimizer_name(subject), reports)


def check_steps(
    subject: Any,
    framework: str,
    reference: Any,
    origin: Mapping[str, Any] | None,
    seed: int,
    dtypes: Sequence[str],
    steps: int,
    progress: Progress,
) -> CheckReport:
    """As `check_optimizer`; `origin` is how a new process makes the optimizer, which it must to resume a run."""
    if steps < 2:
        raise Deep500Error(f"{steps} steps are too few: give at least 2")
    _check_framework(subject, framework)
    progress("what it is compared with")
    truth, formula = _chosen_truth(subject, framework, reference, seed)
    runner = _Checks(subject, framework, truth, steps, seed, progress)
    checks = [formula]
    for dtype in dtypes:
        for problem in problems(seed):
            checks += runner.follow(problem, dtype)
    checks.append(runner.descends(dtypes[0]))
    checks += runner.resume(dtypes, origin)
    checks.append(runner.native(problems(seed)[2], reference))
    name = optimizer_name(subject)
    kernel = _kernel(subject, framework)
    return CheckReport("optimizer", name, framework, kernel, checks)


def _check_framework(subject: Any, framework: str) -> None:
    find_framework(framework)  # raises for an unknown name
    if isinstance(subject, Optimizer):
        subject.check_framework(framework)


def _chosen_truth(
    subject: Any, framework: str, reference: Any, seed: int
) -> tuple[StepTruth, CheckResult]:
    """What the steps are compared with, and the check that says so."""
    if reference is not None:
        return _told(truth_of(reference))
    if is_built_in(subject) and type(subject).__name__ in RULES:
        return _told(truth_of(subject))
    is_native = isinstance(subject, NativeOptimizer)
    if is_native and not isinstance(subject, LibraryOptimizer):
        return _told(truth_of(_same_rule(subject)))
    own = OwnTruth(subject)
    remarks = []
    for namesake in namesakes(subject, framework):
        step = _first_difference(subject, namesake.truth, seed)
        if step is None or namesake.binding:
            return _told(namesake.truth)
        where = "could not be compared" if step == 0 else f"differs from step {step} on"
        remarks.append(f"{namesake.name} of the same name {where}")
    text = "; ".join([NOT_INDEPENDENT, *remarks])
    return own, CheckResult(FORMULA, None, text=text)


def _told(truth: StepTruth) -> tuple[StepTruth, CheckResult]:
    """The truth, and the check that names it; whether it holds is what the check "steps" says."""
    return truth, CheckResult(FORMULA, True, text=f"compared with {truth.text}")


def _first_difference(subject: Any, truth: StepTruth, seed: int) -> int | None:
    """The first step that differs from a truth in float64; None if there is none, 0 if it cannot be run."""
    problem = problems(seed)[2]
    bound = max(precision(subject), truth.bound)
    try:
        gradients, path = truth.path(problem, 10)
        ours = trajectory(home(subject), subject, problem.start, gradients, "float64")
    except Exception:  # whatever the optimizer does; it shows again later
        return 0
    value, step = deviation(ours, path, problem.start, "float64", bound)
    return None if value <= bound else step


def _kernel(optimizer: Optimizer | ThreeStepOptimizer, framework: str) -> str:
    """What runs the steps on this framework."""
    if isinstance(optimizer, ThreeStepOptimizer):
        return "user's"
    if optimizer.native(framework):
        return "native"
    return "formula"


@dataclass(frozen=True)
class _Checks:
    """The checks of one optimizer on one framework."""

    optimizer: Any
    framework: str
    truth: StepTruth
    steps: int
    seed: int
    progress: Progress

    def follow(self, problem: TrainingProblem, dtype: str) -> list[CheckResult]:
        """Whether every step agrees with the truth; if that is its own, also whether the parameters change at all."""
        self.progress(f"{problem.name}, {dtype}")
        place = (dtype, problem.name)
        bound = self._bound(dtype)
        try:
            gradients, truth = self.truth.path(problem, self.steps)
        except Exception as error:  # whatever the reference does
            self._raise_if_ours(error)
            if self.truth.independent:
                raise Deep500Error(
                    f"the reference, {self.truth.text}, cannot be run: {with_place(error)}"
                ) from error
            return [_check(place, "steps", False, text=with_place(error))]
        try:
            path = trajectory(
                self.framework, self.optimizer, problem.start, gradients, dtype
            )
        except Exception as error:  # whatever the optimizer does
            self._raise_if_ours(error)
            return [_check(place, "steps", False, text=with_place(error))]
        value, step = deviation(path, truth, problem.start, dtype, bound)
        follows = _within(place, "steps", value, bound, step)
        if self.truth.independent:
            return [follows]
        moves = self._moves(path, gradients, problem.start, place)
        return [follows, moves]

    def descends(self, dtype: str) -> CheckResult:
        """Whether every tensor moves against its gradient on a slope, whose gradient is the same in every step."""
        self.progress("direction")
        problem = slope(self.seed)
        place = (dtype, problem.name)
        gradient = problem.gradient(problem.start, 0)
        gradients = [gradient] * self.steps
        try:
            path = trajectory(
                self.framework, self.optimizer, problem.start, gradients, dtype
            )
        except Exception as error:  # whatever the optimizer does
            self._raise_if_ours(error)
            return _check(place, "descends", False, text=with_place(error))
        climbs = []
        largest = 0.0
        for name, value in path[-1].items():
            move = value - problem.start[name].astype(dtype)
            rise = float((move * gradient[name]).sum())
            largest = max(largest, rise)
            if not rise <= 0:
                climbs.append(name)
        if not climbs:
            return _check(place, "descends", True, largest, 0.0)
        text = (
            f"{climbs[0]!r} moves along its gradient, so that the loss of a convex problem rises: "
            "is the sign of the step right?"
        )
        return _check(place, "descends", False, largest, 0.0, text)

    def resume(
        self, dtypes: Sequence[str], origin: Mapping[str, Any] | None
    ) -> list[CheckResult]:
        """Whether a run that is resumed in a new process gives the same bits as one that never stopped."""
        self.progress("resumption")
        problem = problems(self.seed)[2].name
        checkpoints, ends = {}, {}
        try:
            for dtype in dtypes:
                checkpoints[dtype], ends[dtype] = whole_run(
                    self.framework, self.optimizer, self.seed, dtype
                )
            resumed = None
            if origin is not None:
                resumed = resumed_elsewhere(
                    self.framework, origin, self.seed, checkpoints
                )
            is_new_process = resumed is not None
            if resumed is None:
                resumed = self._resumed_here(checkpoints)
        except Exception as error:  # whatever the optimizer does
            self._raise_if_ours(error)
            place = (dtypes[0], problem)
            return [_check(place, "resumption", False, text=with_place(error))]
        where = "a new" if is_new_process else "the same"
        checks = []
        for dtype in dtypes:
            place = (dtype, problem)
            check = _same_ends(place, ends[dtype], resumed[dtype], where)
            checks.append(check)
        if not is_new_process:
            text = SAME_PROCESS.format(name=optimizer_name(self.optimizer))
            checks.append(CheckResult(NEW_PROCESS, None, text=text))
        return checks

    def _resumed_here(
        self, checkpoints: Mapping[str, Any]
    ) -> dict[str, dict[int, Mapping[str, np.ndarray]]]:
        """The last parameters by dtype and point, in this process: no other can make the optimizer."""
        ends: dict[str, dict[int, Mapping[str, np.ndarray]]] = {}
        for dtype, by_point in checkpoints.items():
            ends[dtype] = {}
            for point, checkpoint in by_point.items():
                ends[dtype][point] = resumed_run(
                    self.framework,
                    self.optimizer,
                    self.seed,
                    dtype,
                    point,
                    checkpoint,
                )
        return ends

    def native(self, problem: TrainingProblem, reference: Any) -> CheckResult:
        """Compare with the framework's own optimizer of the same rule, in float64."""
        followed = self.optimizer if reference is None else reference
        rule = type(followed).__name__
        place = ("float64", problem.name)
        rules, bound = SAME_RULE.get(self.framework, (set(), 0.0))
        theirs = native_optimizers(self.framework).get(f"{rule}Optimizer")
        is_native = isinstance(self.optimizer, NativeOptimizer)
        is_ours = is_built_in(followed)
        if rule not in rules or theirs is None or is_native or not is_ours:
            name = rule if is_ours else type(self.optimizer).__name__
            text = f"{self.framework} has no {name} of the same formula"
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
            self._raise_if_ours(error)
            return _check(place, "native", False, text=with_place(error))
        return _within(place, "native", value, bound, step)

    def _deviation_from_native(
        self, native: NativeOptimizer, problem: TrainingProblem
    ) -> tuple[float, int]:
        gradients, _ = self.truth.path(problem, self.steps)
        run = partial(trajectory, self.framework)
        path = run(self.optimizer, problem.start, gradients, "float64")
        native_path = run(native, problem.start, gradients, "float64")
        return deviation(path, native_path, problem.start, "float64")

    def _raise_if_ours(self, error: Exception) -> None:
        """Raise an InternalError for a defect of Deep500, and what says that the optimizer is incomplete.

        What a user's optimizer returns may fail in our code, too.
        """
        if isinstance(error, Incomplete):
            raise error
        if is_built_in(self.optimizer) or isinstance(error, InternalError):
            raise_if_internal(error)

    def _bound(self, dtype: str) -> float:
        """What the steps may differ by: the bound of the dtype, or what optimizer and truth are known to."""
        known = max(precision(self.optimizer), self.truth.bound)
        return max(BOUNDS[dtype], known)

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


def _same_ends(
    place: tuple[str, str],
    end: Mapping[str, np.ndarray],
    resumed: Mapping[int, Mapping[str, np.ndarray]],
    where: str,
) -> CheckResult:
    """Whether all runs that were resumed in a new or the same process ended with the same bits as the whole run."""
    different = []
    for point, arrays in resumed.items():
        for name, value in arrays.items():
            if not np.array_equal(value, end[name], equal_nan=True):
                different.append(f"{name!r} after step {point}")
    count = float(len(different))
    text = (
        f"resumed in {where} process, {different[0]}, is another" if different else ""
    )
    return _check(place, "resumption", not different, count, 0.0, text)


def _within(
    place: tuple[str, str], name: str, value: float, bound: float, step: int
) -> CheckResult:
    """A check that the deviation is within its bound; `step` is the first at which it is not."""
    if value <= bound:
        return _check(place, name, True, value, bound)
    text = f"step {step} is the first that is too far off"
    return _check(place, name, False, value, bound, text)


def deviation(
    path: Path,
    truth: Path,
    start: Arrays,
    dtype: str,
    bound: float | None = None,
) -> tuple[float, int]:
    """The largest error at any step, relative to how far its parameter has moved by then, and the first step above
    the bound.

    A few roundings per step always count as movement, so that tiny moves of large values are judged by the precision
    of the dtype.
    """
    worst, first = 0.0, 0
    if bound is None:
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
