"""Compares the arrays of one node with the truth, within the rounding error of this node alone."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...contracts.network import Node, in_evaluation
from ...errors import Unsupported, raise_if_internal
from ..operators.array_checks import Deviation, deviation, joined, output_check
from ..operators.bounds import gradient_bounds
from ..report import CheckResult
from .divergence import node_check
from .processes import Crashed, Process, RunnerLost
from .runner import RunArrays
from .truth import NodeExample


def judge_forward(process: Process, node: Node, example: NodeExample) -> CheckResult:
    """Check a node in evaluation mode, on the true inputs."""
    plain = in_evaluation(node)
    if plain != node:
        example = evaluated(plain, example)
        first_output = plain.outputs[:1]  # the others are for training only
        plain = replace(plain, outputs=first_output)

    def judge(run: RunArrays) -> CheckResult:
        return _check_outputs(example, plain, run)

    return _ask(process, "forward", node, judge, plain, example.inputs)


def judge_backward(process: Process, node: Node, example: NodeExample) -> CheckResult:
    """Check a node in training mode: its outputs, then its derivative, on the true inputs and gradients."""

    def judge(run: RunArrays) -> CheckResult:
        outputs = _check_outputs(example, node, run)
        if outputs.ok is False:
            return outputs
        return _check_gradients(example, run)

    values = (node, example.inputs, example.seeds, example.differentiated)
    return _ask(process, "backward", node, judge, *values)


def evaluated(plain: Node, example: NodeExample) -> NodeExample:
    """The same inputs, for the node in evaluation mode."""
    inputs = example.inputs
    names = plain.operator.input_names(len(inputs))
    if "training_mode" in names:
        changed = list(inputs)
        changed[names.index("training_mode")] = None
        inputs = tuple(changed)
    return NodeExample(plain.name, plain.operator, inputs)


def _ask(
    process: Process,
    direction: str,
    node: Node,
    judge: Callable[[RunArrays], CheckResult],
    *values: Any,
) -> CheckResult:
    """Run a node and judge the result.

    There is no verdict if the framework does not support the node; any other error counts as wrong.
    """
    operator = type(node.operator).__name__
    about = (process.framework, direction, node.name, operator)
    doing = f"{direction} of node {node.name!r}"
    try:
        run = process.ask(direction, doing, *values)
        check = judge(run)
    except RunnerLost:
        raise
    except Crashed as error:
        return node_check(*about, ok=False, text=str(error))
    except Unsupported as error:
        return node_check(*about, ok=None, text=str(error), decided=False)
    except Exception as error:
        raise_if_internal(error)
        return node_check(*about, ok=False, text=str(error))
    any_kernel = next(iter(run.kernels.values()), "")
    kernel = run.kernels.get(node.name, any_kernel)
    return node_check(*about, check.ok, check.value, check.bound, check.text, kernel)


def _check_outputs(example: NodeExample, node: Node, run: RunArrays) -> CheckResult:
    arrays = [run.outputs[name] for name in node.outputs]
    return output_check(example, arrays)


def _check_gradients(example: NodeExample, run: RunArrays) -> CheckResult:
    """Check every gradient that the formula declares; a framework may give others as well."""
    bounds = gradient_bounds(example)
    deviations = []
    for place, expected in enumerate(example.gradients):
        bound = bounds[place]
        if expected is None or bound is None or place not in run.gradients:
            continue
        name = example.input_name(place)
        x = example.inputs[place]
        actual = run.gradients[place]
        deviations.append(_gradient_deviation(name, x, actual, expected, bound))
    return joined(example, "gradient", deviations)


def _gradient_deviation(
    name: str,
    x: np.ndarray,
    actual: np.ndarray,
    expected: np.ndarray,
    bound: np.ndarray,
) -> Deviation:
    """How far the gradient by the input x is off."""
    label = f"gradient by {name}"
    if actual.dtype != x.dtype:
        fault = f"{label}: {actual.dtype} where {x.dtype} is right"
        return Deviation(np.inf, 0.0, fault)
    return deviation(label, actual, expected, bound, x.dtype.name)
