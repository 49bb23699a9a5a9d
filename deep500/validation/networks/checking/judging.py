"""Arrays of one node against the truth, within what rounding explains for this node alone."""

from dataclasses import replace
from typing import Any

import numpy as np

from ....contracts.network import Node, in_evaluation
from ....errors import Unsupported
from ...checking.bounds import gradient_bounds
from ...checking.comparing import Deviation, deviation, joined, output_check
from ...checking.report import Check
from .processes import Crashed, Lost, Process
from .report import NodeCheck
from .runner import Made
from .truth import NodeExample


def judge_forward(process: Process, node: Node, example: NodeExample) -> NodeCheck:
    """A node in evaluation, on the right inputs."""
    plain = in_evaluation(node)
    if plain != node:
        example = evaluated(plain, example)
        plain = replace(
            plain, outputs=plain.outputs[:1]
        )  # the others are for training alone

    def judged(made: Made) -> Check:
        return _outputs(example, plain, made)

    return _asked(process, "forward", node, judged, plain, example.inputs)


def judge_backward(process: Process, node: Node, example: NodeExample) -> NodeCheck:
    """A node in training: its outputs, then its derivative, on the right inputs and gradients."""

    def judged(made: Made) -> Check:
        outputs = _outputs(example, node, made)
        return outputs if outputs.ok is False else _gradients(example, made)

    values = (node, example.inputs, example.seeds, example.differentiated)
    return _asked(process, "backward", node, judged, *values)


def evaluated(plain: Node, example: NodeExample) -> NodeExample:
    """The same inputs for the node as it is in evaluation."""
    inputs = example.inputs
    names = plain.operator.input_names(len(inputs))
    if "training_mode" in names:
        place = names.index("training_mode")
        inputs = (*inputs[:place], None, *inputs[place + 1 :])
    return NodeExample(plain.name, plain.operator, inputs)


def _asked(
    process: Process, direction: str, node: Node, judged: Any, *values: Any
) -> NodeCheck:
    """One question and its verdict; what the framework lacks is no verdict, all else that it raises is wrong."""
    about = (process.framework, direction, node.name, type(node.operator).__name__)
    try:
        made = process.ask(direction, f"{direction} of node {node.name!r}", *values)
        check = judged(made)
    except Lost:
        raise
    except Crashed as error:
        return NodeCheck(*about, ok=False, text=str(error))
    except Unsupported as error:
        return NodeCheck(*about, ok=None, text=str(error), decided=False)
    except Exception as error:
        return NodeCheck(*about, ok=False, text=str(error))
    kernel = made.kernels.get(node.name, next(iter(made.kernels.values()), ""))
    return NodeCheck(*about, check.ok, check.value, check.bound, check.text, kernel)


def _outputs(example: NodeExample, node: Node, made: Made) -> Check:
    arrays = [made.outputs[name] for name in node.outputs]
    return output_check(example, arrays)


def _gradients(example: NodeExample, made: Made) -> Check:
    """Every gradient that the formula declares; a framework may give others as well."""
    wanted = zip(example.gradients, gradient_bounds(example), strict=True)
    found = []
    for place, (want, bound) in enumerate(wanted):
        if want is None or bound is None or place not in made.gradients:
            continue
        label = f"gradient by {example.input_name(place)}"
        got = made.gradients[place]
        found.append(_gradient(label, got, want, bound, example.inputs[place]))
    return joined(example, "gradient", found)


def _gradient(
    label: str, got: np.ndarray, want: np.ndarray, bound: np.ndarray, x: np.ndarray
) -> Deviation:
    if got.dtype != x.dtype:
        return Deviation(np.inf, 0.0, f"{label}: {got.dtype} where {x.dtype} is right")
    return deviation(label, got, want, bound, x.dtype.name)
