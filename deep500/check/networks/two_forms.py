"""Compares two forms of one network: a file before and after an optimiser, a native model or an engine and a file.

The first form, in float64, is the truth. The other is compared with it in float64 as well, value by value for the names
that both use, and then as frameworks run it: its outputs, and the gradients of the parameters that both have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...contracts.executor import Executor
from ...contracts.network import Network
from ...graph.weights import listed
from ..operators.array_checks import deviation
from ..report import CheckReport, CheckResult
from .accumulated import Expected, expected_gradients, expected_outputs
from .divergence import FLOAT64, node_check
from .engine import Call
from .matching import paired, shared_parameters
from .node_differences import node_difference
from .nodes import Panel
from .processes import Crashed, Process, RunnerLost
from .runner import RunArrays, arrays_of
from .subjects import differentiated
from .truth import Truth
from .whole import compared, settled


class WrappedModel:
    """An executor that is asked like a framework; it runs in this process."""

    isolated = False

    def __init__(self, executor: Executor):
        self.executor = executor
        self.framework = executor.framework.name

    def run(self, data: Mapping[str, np.ndarray], y: str | None) -> RunArrays:
        """The outputs, and the gradients of y if it is not None."""
        executor = self.executor
        array = executor.framework.array
        if y is None:
            outputs = executor.inference(data)
            return RunArrays(arrays_of(array, outputs), {}, {})
        outputs = executor.inference_and_backprop(data, y)
        arrays = arrays_of(array, outputs)
        gradients = arrays_of(array, executor.gradients)
        return RunArrays(arrays, gradients, {})


class TrustedNetwork:
    """The network that is taken as the truth, and what is expected of every other form of it."""

    def __init__(
        self,
        network: Network,
        data: Mapping[str, np.ndarray],
        seed: int,
        y: str | None,
        counterparts: Mapping[str, str] | None = None,
    ):
        self.network = network
        self.data = dict(data)
        self.seed = seed
        self.subject, self.y = differentiated(network, data, seed, y, counterparts)
        self.truth = Truth(self.subject, self.y, data, seed)
        self.operations = 1.0
        for _, example in self.truth.forward():
            self.operations = max(self.operations, example.operations_per_element)
        self.outputs = expected_outputs(network, self.truth, self.operations)

    def gradients(self) -> Expected:
        return expected_gradients(self.truth, self.operations)

    def values(self, names: Sequence[str]) -> Expected:
        return expected_outputs(self.network, self.truth, self.operations, names)


def check_against(
    original: TrustedNetwork, other: Network, panel: Panel
) -> list[CheckReport]:
    """Compare the other network with the original, in float64 and on every framework of the panel."""
    data = renamed_inputs(original, list(other.inputs))
    outputs = paired(list(other.outputs), original.network.outputs, "outputs")
    y = _name_of(original.y, outputs)
    itself = TrustedNetwork(other, data, original.seed, y, outputs)
    sides = [_in_float64(original, itself, outputs)]
    forward = NetworkComparison(other, data, None, original.outputs, outputs)
    _ask_all(panel, forward)
    if itself.y is not None and _same_scalar(original, itself, outputs):
        shared = shared_parameters(other, original.network)
        names = {name: name for name in shared}
        gradients = original.gradients()
        backward = NetworkComparison(itself.subject, data, itself.y, gradients, names)
        _ask_all(panel, backward)
    return sides


@dataclass(frozen=True)
class NetworkComparison:
    """A network to run, what is expected of it, and the expected name of each of its values."""

    network: Network
    data: Mapping[str, np.ndarray]
    y: str | None
    expected: Expected
    names: Mapping[str, str]

    def checks(self, process: Process) -> list[CheckResult]:
        """Run the network in this process, and compare its outputs, or its gradients if there is a y."""
        framework = process.framework
        direction = "whole forward" if self.y is None else "whole backward"

        def run_and_compare() -> list[CheckResult]:
            run = process.ask("whole", direction, self.network, self.data, self.y)
            arrays = run.outputs if self.y is None else run.gradients
            return compared(framework, direction, arrays, self.expected, self.names)

        return settled(framework, direction, self.network.name, run_and_compare)


def _ask_all(panel: Panel, comparison: NetworkComparison) -> None:
    for framework, checks in panel.each(comparison.checks):
        panel.sides[framework].checks.extend(checks)


def check_model(original: TrustedNetwork, model: WrappedModel) -> list[CheckReport]:
    """Compare a native model with the network."""
    structure = model.executor.structure
    data = renamed_inputs(original, list(structure.inputs))
    network = original.network
    framework = model.framework

    def forward() -> list[CheckResult]:
        outputs = model.run(data, None).outputs
        names = paired(list(outputs), network.outputs, "outputs")
        return compared(framework, "whole forward", outputs, original.outputs, names)

    def backward() -> list[CheckResult]:
        gradients = model.run(data, original.y).gradients
        trainable = original.truth.trainable
        names = {name: name for name in gradients if name in trainable}
        expected = original.gradients()
        return compared(framework, "whole backward", gradients, expected, names)

    checks = settled(framework, "whole forward", network.name, forward)
    if original.y is not None and original.y in structure.outputs:
        checks += settled(framework, "whole backward", network.name, backward)
    return [CheckReport("network", network.name, framework, checks=checks)]


def check_engine(
    original: TrustedNetwork, process: Process, panel: Panel
) -> list[CheckReport]:
    """Compare an engine's outputs with the network's, and those of every framework of the panel.

    Raises the Deep500Error of the user's function if it fails.
    """
    network = original.network
    turned = {name: _turned(value) for name, value in original.data.items()}
    other = TrustedNetwork(network, turned, original.seed, None)
    calls = [original, other, original]
    side = panel.report(process.framework, process.isolated)
    try:
        answers = process.ask(
            "calls",
            "whole forward",
            [call.data for call in calls],
            list(network.outputs),
        )
    except (Crashed, RunnerLost) as error:
        side = panel.report(process.framework, process.isolated, str(error))
    else:
        checks = _engine_checks(process.framework, calls, answers)
        side.checks.extend(checks)
    same = {name: name for name in network.outputs}
    expected = original.outputs
    forward = NetworkComparison(network, original.data, None, expected, same)
    _ask_all(panel, forward)
    return [side]


def _engine_checks(
    name: str, calls: Sequence[TrustedNetwork], answers: Sequence[Call]
) -> list[CheckResult]:
    """A check of every output: the first call in which it is wrong, if any; one more if it spoils its inputs."""
    found: dict[str, CheckResult] = {}
    spoilt: dict[str, None] = {}
    for number, (call, answer) in enumerate(zip(calls, answers, strict=True), 1):
        arrays, overwritten = answer
        spoilt.update(dict.fromkeys(overwritten))
        same = {output: output for output in arrays}
        checks = compared(name, "whole forward", arrays, call.outputs, same)
        for output, check in zip(same, checks, strict=True):
            if output not in found:
                found[output] = check
            elif check.ok is False and found[output].ok is not False:
                text = (
                    f"right in the first call, wrong in number {number}: {check.text}"
                )
                found[output] = replace(check, text=text)
    if spoilt:
        text = f"it overwrites its inputs: {listed(list(spoilt))}"
        check = node_check(name, "whole forward", "inputs", ok=False, text=text)
        return [*found.values(), check]
    return list(found.values())


def _turned(x: np.ndarray) -> np.ndarray:
    """Other values that an input may have: in the reverse order, floats nearer to 0."""
    reverse = x.reshape(-1)[::-1].reshape(x.shape)
    if x.dtype.kind in "fV":
        return (reverse.astype("float64") * 0.75).astype(x.dtype)
    return reverse.copy()


def renamed_inputs(
    original: TrustedNetwork, inputs: Sequence[str]
) -> dict[str, np.ndarray]:
    """The data under the names of the other network's inputs."""
    original_inputs = list(original.network.inputs)
    names = paired(list(inputs), original_inputs, "inputs")
    data = {}
    for name, original_name in names.items():
        data[name] = original.data[original_name]
    return data


def _name_of(original_name: str | None, names: Mapping[str, str]) -> str | None:
    """The other network's name of this output of the original."""
    for name, original_output in names.items():
        if original_output == original_name:
            return name
    return None


def _same_scalar(
    original: TrustedNetwork, other: TrustedNetwork, outputs: Mapping[str, str]
) -> bool:
    """Whether both networks are differentiated by the same output, or by a sum of the same outputs."""
    if other.y is None or original.y is None:
        return False
    if outputs.get(other.y, other.y) != original.y:
        return False
    is_output = original.y in original.network.outputs
    return is_output or len(outputs) == len(original.network.outputs)


def _in_float64(
    original: TrustedNetwork, other: TrustedNetwork, outputs: Mapping[str, str]
) -> CheckReport:
    """The outputs and gradients of both; if outputs differ, also the first value of a common name that differs."""
    expected = _with_joint_bounds(original, other, outputs)
    arrays = other.outputs.arrays
    checks = compared(FLOAT64, "whole forward", arrays, expected, outputs)
    if any(check.ok is False for check in checks):
        first = _first_difference(original, other)
        if first:
            checks.insert(0, first)
    shared = shared_parameters(other.network, original.network)
    if shared and _same_scalar(original, other, outputs):
        expected = original.gradients()
        actual = other.gradients()
        bounds = {}
        for name in shared:
            bounds[name] = _joint(expected.bounds[name], actual.bounds[name])
        expected = replace(expected, bounds=bounds)
        names = {name: name for name in shared}
        checks += compared(FLOAT64, "whole backward", actual.arrays, expected, names)
    return CheckReport("network", other.network.name, FLOAT64, checks=checks)


def _with_joint_bounds(
    original: TrustedNetwork, other: TrustedNetwork, outputs: Mapping[str, str]
) -> Expected:
    """The expected outputs, with bounds for the rounding of both networks."""
    bounds = dict(original.outputs.bounds)
    for name, original_name in outputs.items():
        other_bound = other.outputs.bounds[name]
        bounds[original_name] = _joint(bounds[original_name], other_bound)
    return replace(original.outputs, bounds=bounds)


def _joint(bound: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The sum of two bounds; of arrays of different shapes, which are wrong anyway, the first."""
    return bound + other if bound.shape == other.shape else bound


def _first_difference(
    original: TrustedNetwork, other: TrustedNetwork
) -> CheckResult | None:
    """The first value, in the order of the original, that has the same name in both networks and differs."""
    common = _common_values(original.network, other.network)
    if not common:
        return None
    expected = original.values(common)
    actual = other.values(common)
    for name in common:
        array = actual.arrays[name]
        truth = expected.arrays[name]
        bound = _joint(expected.bounds[name], actual.bounds[name])
        difference = deviation(name, array, truth, bound, expected.dtype)
        if difference.fault:
            text = f"the first value of a common name that differs; {difference.fault}"
            cause = node_difference(original.network, other.network, name)
            return node_check(
                FLOAT64,
                "whole forward",
                name,
                operator=_producing_operator(original.network, name),
                ok=False,
                value=difference.value,
                bound=difference.bound,
                text=f"{cause}; {text}" if cause else text,
            )
    return None


def _common_values(original: Network, other: Network) -> list[str]:
    other_names: set[str] = set()
    for node in other.nodes:
        other_names.update(node.outputs)
    common = []
    for node in original.ordered():
        for name in node.outputs:
            if name in other_names:
                common.append(name)
    return common


def _producing_operator(network: Network, value: str) -> str:
    node = network.producer(value)
    return type(node.operator).__name__ if node else ""
