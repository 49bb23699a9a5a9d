"""Checks of an optimizer on a framework: every step against a float64 oracle, its state, and its framework's own."""

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
from ..checking.report import Check, OperatorReport
from ..isolation import Died, isolated
from .oracles import RULES, Oracle
from .problems import Arrays, Problem, problems
from .stepping import trajectory
from .subjects import load_optimizer

DTYPES = ("float64", "float32")
BOUNDS = {"float64": 1e-10, "float32": 1e-3}  # of the error, relative to the way gone
ULPS = 4.0  # of a parameter that each step may round
SAME_RULE = {  # where a framework's own optimizer has the formula of ours, and how near its steps are
    "pytorch": (
        {
            "SGD",
            "Momentum",
            "Nesterov",
            "AdaGrad",
            "RMSProp",
            "Adam",
            "AdamW",
            "AMSGrad",
        },
        1e-10,
    ),
    "jax": (
        {"SGD", "Momentum", "Nesterov", "RMSProp", "Adam", "AdamW", "Lion", "LAMB"},
        1e-10,
    ),
    "tensorflow": (
        {"SGD", "Momentum", "Nesterov"},
        1e-6,
    ),  # Keras holds the rate in float32
}
Say = Callable[[str], None]
Path = Sequence[Mapping[str, np.ndarray]]  # the parameters after every step


def check_optimizer(
    optimizer: Any,
    framework: str = "pytorch",
    reference: Optimizer | str | None = None,
    seed: int = 0,
    dtypes: Sequence[str] = DTYPES,
    steps: int = 100,
    progress: Say | None = None,
) -> OperatorReport:
    """Check an optimizer, step by step, as a framework runs it; the report is true if all is well.

    The optimizer is an instance, or a text such as "Adam" or "my_file.py:MyAdam". `reference` is the built-in rule
    that it should follow, with its settings: "Adam(0.01)"; a built-in optimizer is its own, and a framework's own one
    should follow the built-in one of its name. Without a reference, the same code on the reference framework in float64
    is what the steps are compared with.
    """
    subject = load_optimizer(optimizer) if isinstance(optimizer, str) else optimizer
    if not isinstance(subject, Optimizer | ThreeStepOptimizer):
        raise Deep500Error(
            f"{subject!r} is no optimizer: give an instance, as in SGD(0.1)"
        )
    rule = load_optimizer(reference) if isinstance(reference, str) else reference
    if rule is None and isinstance(subject, NativeOptimizer):
        rule = _same_rule(subject)
    if steps < 2:
        raise Deep500Error(f"{steps} steps are too few: give at least 2")
    runner = _Checks(subject, framework, rule, steps, progress or (lambda text: None))
    checks = []
    for dtype in dtypes:
        for problem in problems(seed):
            checks += runner.follow(problem, dtype)
        checks.append(runner.resume(problems(seed)[2], dtype))
    checks.append(runner.native(problems(seed)[2]))
    kernel = "user's" if isinstance(subject, ThreeStepOptimizer) else "formula"
    if isinstance(subject, Optimizer) and subject.native(framework):
        kernel = "native"
    return OperatorReport(type(subject).__name__, framework, kernel, checks)


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
    """The same in a fresh process with a deadline: code that crashes or never ends is wrong."""
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
        ended = Check("ends", False, text=one_line(error))
        return OperatorReport(optimizer, framework, "unknown", [ended], isolated=True)
    return OperatorReport.from_json(data)


def checked_in_child(
    optimizer: str, settings: Mapping[str, Any], progress: Say, **how: Any
) -> dict[str, Any]:
    """What the fresh process does."""
    subject = load_optimizer(optimizer, settings)
    data = check_optimizer(subject, progress=progress, **how).to_json()
    return data | {"isolated": True}


@dataclass(frozen=True)
class _Checks:
    """One optimizer on one framework."""

    optimizer: Any
    framework: str
    reference: Optimizer | None
    steps: int
    progress: Say

    def follow(self, problem: Problem, dtype: str) -> list[Check]:
        """Whether every step is the reference's, and whether parameters move at all."""
        self.progress(f"{problem.name}, {dtype}")
        place = (dtype, problem.name)
        try:
            gradients, truth = self._truth(problem)
            path = trajectory(
                self.framework, self.optimizer, problem.start, gradients, dtype
            )
        except Exception as error:  # whatever the optimizer does
            return [_check(place, "steps", False, text=one_line(error, kind=True))]
        value, step = deviation(path, truth, problem.start, dtype)
        bound = BOUNDS[dtype]
        text = "" if value <= bound else f"step {step} is the first that is too far off"
        follows = _check(place, "steps", value <= bound, value, bound, text)
        moves = self._moves(path, gradients, problem.start, place)
        return [follows, moves] if self._oracle_of() is None else [follows]

    def resume(self, problem: Problem, dtype: str) -> Check:
        """Whether a run that goes on from its saved state gives the bits of one that never stopped."""
        self.progress(f"resumption, {dtype}")
        place = (dtype, problem.name)
        try:
            different = self._differences_after_resuming(problem, dtype)
        except Exception as error:  # whatever the optimizer does
            return _check(place, "resumption", False, text=one_line(error, kind=True))
        text = f"{different[0]!r} is another" if different else ""
        return _check(
            place, "resumption", not different, float(len(different)), 0.0, text
        )

    def native(self, problem: Problem) -> Check:
        """Against the framework's own optimizer of the same rule, in float64."""
        rule = type(self.reference or self.optimizer).__name__
        place = ("float64", problem.name)
        rules, bound = SAME_RULE.get(self.framework, (set(), 0.0))
        theirs = native_optimizers(self.framework).get(f"{rule}Optimizer")
        if (
            rule not in rules
            or theirs is None
            or isinstance(self.optimizer, NativeOptimizer)
        ):
            text = f"{self.framework} has no {rule} of the same formula"
            return _check(place, "native", None, text=text)
        self.progress(f"{self.framework}'s own {rule}")
        settings = (self.reference or self.optimizer).settings
        shared = {key: settings[key] for key in _field_names(theirs)}
        changed = [key for key in settings if key not in shared and settings[key]]
        if changed:
            text = f"{self.framework}'s own {rule} has no {changed[0]}"
            return _check(place, "native", None, text=text)
        try:
            gradients, _ = self._truth(problem)
            run = partial(trajectory, self.framework)
            ours_path = run(self.optimizer, problem.start, gradients, "float64")
            theirs_path = run(theirs(**shared), problem.start, gradients, "float64")
        except Exception as error:  # whatever the optimizer does
            return _check(place, "native", False, text=one_line(error, kind=True))
        value, step = deviation(ours_path, theirs_path, problem.start, "float64")
        text = "" if value <= bound else f"step {step} is the first that is too far off"
        return _check(place, "native", value <= bound, value, bound, text)

    def _truth(self, problem: Problem) -> tuple[list[Arrays], Path]:
        """The gradients of every step, and the parameters after it."""
        oracle = self._oracle_of()
        if oracle is None:
            return self._own_path(problem)
        rule, settings, rate = oracle
        truth = Oracle(rule, settings, problem.start, rate)
        gradients, path = [], []
        for step in range(self.steps):
            gradients.append(problem.gradient(truth.params, step))
            path.append(truth.step(gradients[-1]))
        return gradients, path

    def _oracle_of(
        self,
    ) -> tuple[Any, Mapping[str, Any], Callable[[int], float]] | None:
        """The rule in float64 that this optimizer should follow; None where nobody has told which."""
        rule = self.reference
        if rule is None and _is_built_in(self.optimizer):
            rule = self.optimizer
        if rule is None or type(rule).__name__ not in RULES:
            return None
        rate = rule.settings["learning_rate"]

        def rate_at(step: int) -> float:
            return rate.number(step) if isinstance(rate, Schedule) else rate

        return RULES[type(rule).__name__], rule.settings, rate_at

    def _own_path(self, problem: Problem) -> tuple[list[Arrays], Path]:
        """Without a reference: what the same code gives on the reference framework in float64."""
        gradients = [
            problem.gradient(problem.start, step) for step in range(self.steps)
        ]
        path = trajectory(
            "reference", self.optimizer, problem.start, gradients, "float64"
        )
        return gradients, path

    def _moves(
        self,
        path: Path,
        gradients: Sequence[Arrays],
        start: Arrays,
        place: tuple[str, str],
    ) -> Check:
        stuck = []
        for name, value in start.items():
            has_gradient = any(given[name].any() for given in gradients)
            if has_gradient and np.array_equal(path[-1][name], value.astype(place[0])):
                stuck.append(name)
        text = f"{stuck[0]!r} has gradients and never changes" if stuck else ""
        return _check(place, "moves", not stuck, float(len(stuck)), 0.0, text)

    def _differences_after_resuming(self, problem: Problem, dtype: str) -> list[str]:
        """The parameters that are not the same bits at the end of a run with a break in its middle."""
        gradients = [problem.gradient(problem.start, step) for step in range(6)]
        batches = [batch_of(given, dtype) for given in gradients]
        whole = fed_executor(self.framework, problem.start, dtype)
        step = whole.training_step(self.optimizer)
        for batch in batches[:3]:
            step(batch)
        state, params = step.state(), whole.arrays()
        for batch in batches[3:]:
            step(batch)
        resumed = fed_executor(self.framework, params, dtype)
        again = resumed.training_step(self.optimizer)
        again.load_state(state)
        for batch in batches[3:]:
            again(batch)
        expected = whole.arrays()
        return [
            n for n, v in resumed.arrays().items() if not np.array_equal(v, expected[n])
        ]


def _check(
    place: tuple[str, str],
    name: str,
    ok: bool | None,
    value: float | None = None,
    bound: float | None = None,
    text: str = "",
) -> Check:
    """A check in one dtype on one problem."""
    dtype, case = place
    return Check(name, ok, value, bound, text, dtype, case)


def deviation(path: Path, truth: Path, start: Arrays, dtype: str) -> tuple[float, int]:
    """The largest error at any step, relative to how far its parameter has moved by then; and the first step with it.

    A parameter counts as moved by what makes a few roundings per step as large as the bound, so that tiny moves of
    large values are judged by what the dtype can hold.
    """
    worst, first = 0.0, 0
    bound = BOUNDS[dtype]
    moved = dict.fromkeys(start, 0.0)
    for step, (ours, theirs) in enumerate(zip(path, truth, strict=True), 1):
        for name, expected in theirs.items():
            moved[name] = max(moved[name], float(np.abs(expected - start[name]).max()))
            rounding = (
                ULPS * step * float(np.finfo(dtype).eps) * float(np.abs(expected).max())
            )
            error = float(np.abs(ours[name] - expected).max())
            if not np.isfinite(error):
                return float("inf"), step
            way = moved[name] + rounding / bound
            relative = error / way if way else error
            if relative > bound and worst <= bound:
                first = step
            worst = max(worst, relative)
    return worst, first


def _same_rule(native: NativeOptimizer) -> Optimizer:
    """The built-in optimizer that a framework's own one is named after, with its settings."""
    name = type(native).__name__.removesuffix("Optimizer")
    return load_optimizer(name, native.settings)


def _field_names(definition: type) -> list[str]:
    return [field.name for field in fields(definition)]


def _is_built_in(optimizer: Any) -> bool:
    module = type(optimizer).__module__
    return module.startswith(f"{__name__.split('.')[0]}.optimizers.")
