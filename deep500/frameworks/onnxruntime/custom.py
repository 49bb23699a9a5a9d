"""Custom operators in ONNX Runtime: a network is split at them, and every part between two of them is a session."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...contracts.framework import Framework
from ...contracts.network import (
    Network,
    Node,
    in_evaluation,
    take_keys,
)
from ...contracts.operator import Operator, TensorSpec
from ...contracts.optimizer import Optimizer
from ...custom.operators import (
    CustomOp,
    HostFunction,
    one_or_all,
)
from ...graph import tape
from ...namespace import Namespace, kind
from ...onnx.recording.arrays import argument, build
from ...onnx.recording.graphs import kernel as recording_kernel
from ..reference import FRAMEWORK as REFERENCE
from ..reference.executor import ReferenceExecutor, ReferenceStep
from . import FRAMEWORK, OnnxRuntime
from .kernels import kernel_kind


@cache
def custom_op(op: CustomOp) -> Callable[..., Any]:
    """Return a function of OrtValues, which then returns OrtValues, or of NumPy arrays."""
    function = HostFunction(op, HOST.xp)
    native = FRAMEWORK.module.OrtValue

    def call(*inputs: Any) -> Any:
        arrays = map(FRAMEWORK.array, inputs)
        results = function(*arrays)
        if not isinstance(inputs[0], native):
            return results
        if not isinstance(results, tuple):
            results = (results,)
        return one_or_all([FRAMEWORK.tensor(y) for y in results])

    return call


class HostOnnxRuntime(OnnxRuntime):
    """ONNX Runtime with NumPy arrays as native values, which go into sessions and come out of them."""

    def _namespace(self) -> Namespace:
        return type(REFERENCE.xp)()  # its own: it has its own threads

    def set_threads(self, count: int) -> None:
        super().set_threads(count)
        self.xp.threads = count

    def tensor(self, array: Any, dtype: str | None = None) -> np.ndarray:
        return REFERENCE.tensor(FRAMEWORK.array(array), dtype)

    def kernel(
        self, operator: Operator, outputs: int = 1, inputs: Sequence[Any] = ()
    ) -> tuple[Callable[..., tuple], str]:
        kind = "native" if operator.adapted is not None else "composed"
        return lambda *inputs: operator.run(self.xp, *inputs), kind

    def _custom_op(self, operator: CustomOp) -> HostFunction:
        return HostFunction(operator, self.xp)

    # the formula on plain values, since ONNX Runtime's own namespace records graphs
    formula = Framework.formula
    _evaluate, _gradient = Framework._evaluate, Framework._gradient
    _forward_call, _backward_call = (
        Framework._forward_call,
        Framework._backward_call,
    )


HOST = HostOnnxRuntime()


class SplitExecutor(ReferenceExecutor):
    """Runs a network of custom operators and sessions node by node, as the reference does."""

    def __init__(
        self,
        framework: OnnxRuntime,
        network: Network,
        seed: int = 0,
        execution: str = "deferred",
    ):
        HOST.set_threads(framework.threads)
        whole = network.copy()
        keys = take_keys(whole)
        kernel_kinds: dict[str, str] = {}
        super().__init__(HOST, split(whole, kernel_kinds), seed, execution)
        self._whole = whole.outline()
        self._kernel_kinds = kernel_kinds
        self.random |= keys

    def _training_step(self, optimizer: Optimizer, y: str) -> ReferenceStep:
        self._whole.warn_before_training()
        return super()._training_step(optimizer, y)

    def kernels(self) -> dict[str, str]:
        specs = self._whole.specs({})
        kernel_kinds = {}
        for node in self._whole.nodes:
            recorded = self._kernel_kinds.get(node.name)
            kernel_kinds[node.name] = recorded or self._kernel_kind(node, specs)
        return kernel_kinds

    def _kernel_kind(self, node: Node, specs: Mapping[str, TensorSpec]) -> str:
        if node.operator.on_host:
            _, kind = HOST.kernel(node.operator)
            return kind
        inputs: list[Any] = list(node.inputs)
        for i, name in enumerate(node.inputs):
            if isinstance(name, str):
                inputs[i] = specs.get(name, name)
        return kernel_kind(FRAMEWORK.xp, node, inputs, self.training)


def split(network: Network, kernel_kinds: dict[str, str]) -> Network:
    """Return the same network with all nodes between custom ones joined into one.

    `kernel_kinds` receives the kernel of every node, "native" or "composed", when it is recorded.
    """
    runs = [*_runs(network.ordered())]
    needed = {*network.outputs, *network.state_updates.values()}
    nodes: list[Node] = []
    for i, run in enumerate(runs):
        if run[0].operator.on_host:
            nodes += run
            continue
        later = _inputs_of(runs[i + 1 :])
        joined = _joined(f"part_{i}", run, needed | later, kernel_kinds)
        nodes.append(joined)
    whole = network.copy()
    whole.nodes = nodes
    return whole


def _runs(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Yield each custom node alone, and the nodes between two custom ones together."""
    run: list[Node] = []
    for node in nodes:
        if not node.operator.on_host:
            run.append(node)
            continue
        if run:
            yield run
        yield [node]
        run = []
    if run:
        yield run


def _inputs_of(runs: Sequence[list[Node]]) -> set[Any]:
    inputs: set[Any] = set()
    for run in runs:
        for node in run:
            inputs.update(node.inputs)
    return inputs


def _joined(
    name: str,
    nodes: list[Node],
    needed: Collection[Any],
    kernel_kinds: dict[str, str],
) -> Node:
    """One node for several, with those of their outputs that are needed elsewhere."""
    inside: list[str] = []
    for node in nodes:
        inside.extend(node.outputs)
    outside: dict[str, None] = {}  # in order, each once
    for node in nodes:
        for value in node.inputs:
            if isinstance(value, str) and value not in inside:
                outside[value] = None
    inputs = tuple(outside)
    outputs = tuple([name for name in inside if name in needed])
    if not outputs:
        outputs = (inside[-1],)
    part = SessionPart(Nodes(tuple(nodes), inputs, outputs, kernel_kinds))
    return Node(name, part, inputs, outputs)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Some nodes of a network, with the names of the values that they take and compute."""

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    # how each node was recorded: "native" or "composed"
    kernel_kinds: dict[str, str]


class SessionPart(Operator):
    """Nodes that run as one session, forward and backward."""

    domain: ClassVar[str] = "deep500.custom"
    outputs: ClassVar[tuple[str, ...]] = ("*ys",)
    inside: Nodes
    # 0 is evaluation; with 1, every node decides for itself
    training_mode: int = 1

    def forward(self, xp, *xs):  # an annotation would make them static
        run = _session(self, _kinds(xs), False, HOST.threads)
        return tuple(run(*xs))

    def backward(self, xp: Any, xs: tuple, dys: tuple) -> tuple:
        run = _session(self, _kinds(xs), True, HOST.threads)
        remaining = iter(run(*xs, *dys))
        gradients = []
        for x in xs:
            gradients.append(next(remaining) if kind(x) == "float" else None)
        return tuple(gradients)


@cache
def _session(
    part: SessionPart,
    kinds: tuple[TensorSpec, ...],
    backward: bool,
    threads: int,
) -> Callable[..., Sequence[Any]]:
    """A function that runs the part in a session.

    It takes the inputs and returns the outputs. With `backward`, it takes the inputs and the gradients of the outputs,
    computes the outputs again, and returns the gradients of the inputs that are floats.
    """
    inputs, results = _recorded(part, kinds, backward)
    arguments = _numbered("i", inputs)
    outputs = _numbered("o", results)
    session = FRAMEWORK.session(build(arguments, outputs))
    used = {x.name for x in session.get_inputs()}
    places = []
    for k, name in enumerate(arguments):
        if name in used:
            places.append((k, name))
    output_names = [*outputs]

    def run(*xs: np.ndarray) -> Sequence[Any]:
        feed = {name: xs[k] for k, name in places}
        return session.run(output_names, feed)

    return run


def _numbered(prefix: str, values: Sequence[Any]) -> dict[str, Any]:
    numbered = {}
    for k, value in enumerate(values):
        numbered[f"{prefix}{k}"] = value
    return numbered


def _recorded(
    part: SessionPart, kinds: tuple[TensorSpec, ...], backward: bool
) -> tuple[list[Any], list[Any]]:
    """The arguments and the results of the part's recorded graph."""
    xp = FRAMEWORK.xp
    inside = part.inside
    nodes = inside.nodes
    if not part.training_mode:
        nodes = tuple(map(in_evaluation, nodes))
    values = _arguments(inside.inputs, kinds)
    kernel = recording_kernel(xp, backward, inside.kernel_kinds)
    outputs, record = tape.forward(
        xp, nodes, values, inside.outputs, kernel, record=backward
    )
    results = [outputs[name] for name in inside.outputs]
    if not backward:
        return [*values.values()], results
    grads = _arguments(inside.outputs, results)
    gradients = tape.sweep(xp, record, _floats(grads), _floats(values))
    return [*values.values(), *grads.values()], [*gradients.values()]


def _arguments(names: Sequence[str], tensors: Sequence[Any]) -> dict[str, Any]:
    """Arguments of a recorded graph, with the shapes and dtypes of these tensors."""
    arguments = {}
    for name, tensor in zip(names, tensors, strict=True):
        arguments[name] = argument(tensor.shape, tensor.dtype)
    return arguments


def _floats(values: dict[str, Any]) -> dict[str, Any]:
    floats = {}
    for name, value in values.items():
        if kind(value) == "float":
            floats[name] = value
    return floats


def _kinds(xs: Sequence[np.ndarray]) -> tuple[TensorSpec, ...]:
    return tuple([TensorSpec(x.shape, x.dtype.name) for x in xs])
