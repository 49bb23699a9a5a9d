"""Checks one step of an optimizer on every framework, along the same gradients."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from ...contracts.native_optimizer import NativeOptimizer
from ...contracts.network import Network
from ...contracts.optimizer import Optimizer
from ...contracts.three_step import ThreeStepOptimizer
from ...errors import errors_of_user_code
from ..operators.array_checks import deviation
from ..operators.bounds import allowed
from ..operators.examples import XP
from ..operators.formats import wide
from ..operators.moves import MOVES, moved
from ..operators.rounding import PerturbedRun, RoundedNamespace
from ..optimizers.origins import origin_of
from ..optimizers.stepping import trajectory
from ..optimizers.truths import home, optimizer_name
from ..report import CheckResult
from .accumulated import Arrays, coarsest
from .divergence import node_check
from .nodes import Panel
from .processes import Process
from .truth import Truth
from .whole import settled

OPERATIONS = 16.0  # per element, of the longest rule
AnyOptimizer = Optimizer | ThreeStepOptimizer


def check_step(
    panel: Panel,
    subject: Network,
    truth: Truth,
    data: Mapping[str, Any],
    optimizer: AnyOptimizer,
) -> None:
    """Compare every parameter after the step with the rule in float64.

    Raises a `Deep500Error` with file and line if a user's optimizer fails in float64.
    """
    rule = optimizer_name(optimizer)
    params = {name: subject.params[name] for name in truth.trainable}
    gradients = {name: truth.gradient(name) for name in truth.trainable}
    with errors_of_user_code(f"a step of {rule}"):
        expected, bounds = _expected(optimizer, params, gradients)
    origin = origin_of(optimizer)
    doing = f"a step of {rule}"

    def question(process: Process) -> list[CheckResult]:
        def step_and_compare() -> list[CheckResult]:
            sent = origin if process.isolated else optimizer
            stepped = process.ask(
                "step", doing, subject, dict(data), truth.y, sent, gradients
            )
            checks = []
            for name, param in params.items():
                difference = deviation(
                    name,
                    stepped[name],
                    expected[name],
                    bounds[name],
                    param.dtype.name,
                )
                check = node_check(
                    process.framework,
                    "step",
                    name,
                    rule,
                    ok=not difference.fault,
                    value=difference.value,
                    bound=difference.bound,
                    text=difference.fault,
                )
                checks.append(check)
            return checks

        return settled(process.framework, "step", rule, step_and_compare)

    panel.progress(1.0, doing)
    for framework, checks in panel.each(question):
        panel.sides[framework].checks.extend(checks)


def _expected(
    optimizer: AnyOptimizer, params: Arrays, gradients: Arrays
) -> tuple[Arrays, Arrays]:
    """The parameters after the step in float64, and how far each element may be off."""
    expected: Arrays = {}
    bounds: Arrays = {}
    for names in _groups(optimizer, params):
        group = {name: params[name] for name in names}
        values = (*group.values(), *(gradients[name] for name in names))
        dtype = coarsest(group)
        exact = _stepped(optimizer, XP, names, wide(values))
        moves = {name: np.zeros(value.shape) for name, value in exact.items()}
        for number in range(MOVES):
            noise = PerturbedRun(number, dtype)
            xp = RoundedNamespace(noise)
            rounded = _stepped(optimizer, xp, names, moved(values, noise))
            for name, value in exact.items():
                distance = np.abs(rounded[name] - value)
                moves[name] = np.maximum(moves[name], distance)
        expected |= exact
        for name, value in exact.items():
            own_dtype = group[name].dtype.name
            bounds[name] = allowed(value, moves[name], own_dtype, OPERATIONS)
    return expected, bounds


def _groups(optimizer: AnyOptimizer, params: Arrays) -> list[list[str]]:
    """The parameters that are stepped together: each by itself, if the rule looks at one gradient at a time."""
    if _has_formula(optimizer) and not optimizer.needs_all_gradients:
        return [[name] for name in params]
    return [list(params)]


def _has_formula(optimizer: AnyOptimizer) -> TypeGuard[Optimizer]:
    is_native = isinstance(optimizer, NativeOptimizer)
    return isinstance(optimizer, Optimizer) and not is_native


def _stepped(
    optimizer: AnyOptimizer, xp: Any, names: Sequence[str], values: Sequence
) -> Arrays:
    """These parameters after the first step; `values` are the parameters and then their gradients."""
    params = dict(zip(names, values[: len(names)], strict=True))
    gradients = dict(zip(names, values[len(names) :], strict=True))
    if not _has_formula(optimizer):
        [end] = trajectory(home(optimizer), optimizer, params, [gradients], "float64")
        return end
    states = {}
    for name, param in params.items():
        states[name] = optimizer.init_named(xp, name, param)
    first_step = np.asarray(1.0)
    updates = optimizer.updates(xp, params, gradients, states, first_step)
    return {name: np.asarray(param) for name, param, _ in updates}
