"""Checks one step of an optimizer on every framework, along the same gradients."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ....contracts.network import Network
from ....contracts.optimizer import Optimizer
from ...checking.bounds import MOVES, allowed, moved
from ...checking.comparing import deviation
from ...checking.examples import XP
from ...checking.formats import wide
from ...checking.rounding import PerturbedRun, RoundedNamespace
from .nodes import Panel
from .processes import Process
from .report import NodeCheck
from .truth import Truth
from .whole import settled

OPERATIONS = 16.0  # per element, of the longest rule


def check_step(
    panel: Panel,
    subject: Network,
    truth: Truth,
    data: Mapping[str, Any],
    optimizer: Optimizer,
) -> None:
    """Compare every parameter after the step with the rule in float64."""
    gradients = {name: truth.gradient(name) for name in truth.trainable}
    values = (subject, dict(data), truth.y, optimizer, gradients)
    rule = type(optimizer).__name__
    doing = f"a step of {rule}"

    def question(process: Process) -> list[NodeCheck]:
        def step_and_compare() -> list[NodeCheck]:
            stepped = process.ask("step", doing, *values)
            checks = []
            for name in truth.trainable:
                check = NodeCheck(process.framework, "step", name, rule)
                arrays = (subject.params[name], gradients[name], stepped[name])
                checks.append(_judged(check, optimizer, *arrays))
            return checks

        return settled(process.framework, "step", rule, step_and_compare)

    panel.progress(1.0, doing)
    for framework, checks in panel.each(question):
        panel.sides[framework].checks.extend(checks)


def _judged(
    check: NodeCheck,
    optimizer: Optimizer,
    param: np.ndarray,
    gradient: np.ndarray,
    stepped: np.ndarray,
) -> NodeCheck:
    """The check with its verdict on a parameter that a framework has stepped."""
    dtype = param.dtype.name
    expected = _stepped(XP, optimizer, wide((param, gradient)))
    move = np.zeros(expected.shape)
    for number in range(MOVES):
        noise = PerturbedRun(number, dtype)
        inputs = moved((param, gradient), noise)
        rounded = _stepped(RoundedNamespace(noise), optimizer, inputs)
        move = np.maximum(move, np.abs(rounded - expected))
    bound = allowed(expected, move, dtype, OPERATIONS)
    difference = deviation(check.node, stepped, expected, bound, dtype)
    return replace(
        check,
        ok=not difference.fault,
        error=difference.value,
        bound=difference.bound,
        text=difference.fault,
    )


def _stepped(xp: Any, optimizer: Optimizer, values: tuple) -> np.ndarray:
    """A parameter after the first step of the rule in this namespace."""
    param, gradient = values
    state = optimizer.init(xp, param)
    first_step = np.asarray(1.0)
    new_param, _ = optimizer.update(xp, param, gradient, state, first_step)
    return np.asarray(new_param)
