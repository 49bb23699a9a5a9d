"""Two forms of one network: a file before and after an optimiser, or a native model and what was exported from it.

The first is the truth, in float64. The other is held against it in float64, too, value by value where both use a name,
and then as frameworks run it: outputs, and gradients by the parameters that both have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....contracts.executor import Executor
from ....contracts.network import Network
from ....errors import Deep500Error
from ...checking.bounds import depth
from ...checking.comparing import deviation
from .accumulated import Expected, expected_gradients, expected_outputs
from .nodes import Panel
from .processes import Process
from .report import NodeCheck, Side
from .runner import Made, arrays_of
from .subjects import differentiated
from .truth import Truth
from .whole import compared, settled

FLOAT64 = (
    "float64"  # what the comparison of the two networks themselves is listed under
)


class WrappedModel:
    """An executor as one more framework to ask; it runs in this process."""

    isolated = False

    def __init__(self, executor: Executor):
        self.executor, self.framework = executor, executor.framework.name

    def run(self, data: Mapping[str, np.ndarray], y: str | None) -> Made:
        """The outputs, with the gradients of y if it is asked for."""
        executor = self.executor
        array = executor.framework.array
        if y is None:
            return Made(arrays_of(array, executor.inference(data)), {}, {})
        outputs = arrays_of(array, executor.inference_and_backprop(data, y))
        return Made(outputs, arrays_of(array, executor.gradients), {})


class Original:
    """The network that is right: what is expected of every other form of it."""

    def __init__(
        self, network: Network, data: Mapping[str, np.ndarray], seed: int, y: str | None
    ):
        self.network, self.data, self.seed = network, dict(data), seed
        self.subject, self.y = differentiated(network, data, seed, y)
        self.truth = Truth(self.subject, self.y, data, seed)
        self.operations = 1.0
        for _, example in self.truth.forward():
            operations = depth(example) / max(example.outputs[0].size, 1)
            self.operations = max(self.operations, operations)
        self.outputs = expected_outputs(network, self.truth, self.operations)

    def gradients(self) -> Expected:
        return expected_gradients(self.truth, self.operations)

    def values(self, names: Sequence[str]) -> Expected:
        return expected_outputs(self.network, self.truth, self.operations, names)


def check_against(original: Original, other: Network, panel: Panel) -> list[Side]:
    """The other network in float64, and on every framework."""
    data = renamed_inputs(original, list(other.inputs))
    outputs = paired(list(other.outputs), original.network.outputs, "outputs")
    itself = Original(other, data, original.seed, None)
    sides = [_in_float64(original, itself, outputs)]
    forward = Comparison(other, data, None, original.outputs, outputs)
    _asked(panel, forward)
    same_outputs = all(a == b for a, b in outputs.items())
    if same_outputs and itself.y is not None and itself.y == original.y:
        shared = _shared(itself.subject, original.subject)
        wanted = original.gradients()
        _asked(panel, Comparison(itself.subject, data, itself.y, wanted, shared))
    return sides


@dataclass(frozen=True)
class Comparison:
    """A network to run, and what is expected of it, under whose names."""

    network: Network
    data: Mapping[str, np.ndarray]
    y: str | None
    wanted: Expected
    names: Mapping[str, str]

    def checks(self, process: Process) -> list[NodeCheck]:
        direction = "whole forward" if self.y is None else "whole backward"

        def found() -> list[NodeCheck]:
            made = process.ask("whole", direction, self.network, self.data, self.y)
            got = made.outputs if self.y is None else made.gradients
            return compared(process.framework, direction, got, self.wanted, self.names)

        return settled(process.framework, direction, self.network.name, found)


def _asked(panel: Panel, comparison: Comparison) -> None:
    for framework, found in panel.each(comparison.checks):
        panel.sides[framework].checks.extend(found)


def check_model(original: Original, model: WrappedModel) -> list[Side]:
    """A native model against the network."""
    structure = model.executor.structure
    data = renamed_inputs(original, list(structure.inputs))
    network = original.network

    def forward() -> list[NodeCheck]:
        made = model.run(data, None)
        names = paired(list(made.outputs), network.outputs, "outputs")
        return compared(
            model.framework, "whole forward", made.outputs, original.outputs, names
        )

    def backward() -> list[NodeCheck]:
        made = model.run(data, original.y)
        shared = [name for name in made.gradients if name in original.truth.trainable]
        names = {name: name for name in shared}
        wanted = original.gradients()
        return compared(
            model.framework, "whole backward", made.gradients, wanted, names
        )

    found = settled(model.framework, "whole forward", network.name, forward)
    if original.y is not None and original.y in structure.outputs:
        found += settled(model.framework, "whole backward", network.name, backward)
    return [Side(model.framework, found, isolated=False)]


def renamed_inputs(original: Original, inputs: Sequence[str]) -> dict[str, np.ndarray]:
    """The data under the other's names: the same ones, or in the same order."""
    names = paired(list(inputs), list(original.network.inputs), "inputs")
    return {own: original.data[name] for own, name in names.items()}


def paired(own: Sequence[str], others: Sequence[str], what: str) -> dict[str, str]:
    """Each name with that of the other network: the same where there is one, the others in their order."""
    rest = [name for name in others if name not in own]
    left = [name for name in own if name not in others]
    if len(left) > len(rest):
        raise Deep500Error(
            f"the networks have different {what}: {', '.join(own)}, and {', '.join(others)}"
        )
    found = {name: name for name in own if name in others}
    return found | dict(zip(left, rest, strict=False))


def _shared(network: Network, other: Network) -> dict[str, str]:
    """The parameters that are trained in both, of the same shape."""
    found = {}
    for name in network.trainable:
        if (
            name in other.trainable
            and other.params[name].shape == network.params[name].shape
        ):
            found[name] = name
    return found


def _in_float64(
    original: Original, other: Original, outputs: Mapping[str, str]
) -> Side:
    """The outputs and gradients of both; where they differ, the first value of a common name that does."""
    found = compared(
        FLOAT64,
        "whole forward",
        other.outputs.arrays,
        _wider(original, other, outputs),
        outputs,
    )
    if any(check.ok is False for check in found):
        first = _first_difference(original, other)
        found = [*([first] if first else []), *found]
    shared = _shared(other.subject, original.subject)
    if shared and original.y == other.y:
        wanted, got = original.gradients(), other.gradients()
        joint = {name: wanted.bounds[name] + got.bounds[name] for name in shared}
        both = replace(wanted, bounds=joint)
        found += compared(FLOAT64, "whole backward", got.arrays, both, shared)
    return Side(FLOAT64, found, isolated=False)


def _wider(original: Original, other: Original, outputs: Mapping[str, str]) -> Expected:
    """Both networks round."""
    bounds = dict(original.outputs.bounds)
    for own, name in outputs.items():
        if bounds[name].shape == other.outputs.bounds[own].shape:
            bounds[name] = bounds[name] + other.outputs.bounds[own]
    return replace(original.outputs, bounds=bounds)


def _first_difference(original: Original, other: Original) -> NodeCheck | None:
    made = {name for node in other.network.nodes for name in node.outputs}
    nodes = original.network.ordered()
    common = [name for node in nodes for name in node.outputs if name in made]
    if not common:
        return None
    wanted, got = original.values(common), other.values(common)
    for name in common:
        want, bound = wanted.arrays[name], wanted.bounds[name] + got.bounds[name]
        off = deviation(name, got.arrays[name], want, bound, wanted.dtype)
        if off.fault:
            text = f"the first value of a common name that differs; {off.fault}"
            about = (
                FLOAT64,
                "whole forward",
                name,
                _maker(original.network, name),
                False,
            )
            return NodeCheck(*about, off.value, off.bound, text)
    return None


def _maker(network: Network, value: str) -> str:
    node = network.producer(value)
    return type(node.operator).__name__ if node else ""
