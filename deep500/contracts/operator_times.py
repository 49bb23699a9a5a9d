"""The nodes of a network one by one: each alone on its framework, with the values that it gets in the network."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Deep500Error
from ..measure.clock import now
from .calls import Call
from .graph import Node

if TYPE_CHECKING:
    from .executor import Executor

SHORTEST_NS = 20_000  # a call that takes less is repeated
MOST_CALLS = 1000
WARM_UP = 2  # rounds
Run = Callable[[], Any]


@dataclass(frozen=True)
class NodeCall:
    """One node in one direction, ready to be repeated."""

    node: str
    operator: str
    kernel: str  # native or composed
    direction: str  # forward or backward
    run: Run


@dataclass(frozen=True)
class OperatorTimes:
    """What one node took alone: nanoseconds per call, one number per round."""

    node: str
    operator: str
    kernel: str
    direction: str
    ns: list[int]


def operator_times(
    executor: "Executor",
    inputs: Mapping[str, Any],
    training: bool = False,
    rounds: int = 10,
) -> list[OperatorTimes]:
    """Every node alone, in rounds of random order; with `training`, derivatives as well."""
    calls = node_calls(executor, inputs, training)
    times = timed_rounds([call.run for call in calls], rounds)
    found = []
    for call, ns in zip(calls, times, strict=True):
        found.append(
            OperatorTimes(call.node, call.operator, call.kernel, call.direction, ns)
        )
    return found


def node_calls(
    executor: "Executor",
    inputs: Mapping[str, Any],
    training: bool = False,
    y: str = "loss",
) -> list[NodeCall]:
    """Every node as calls of its own, by the kernel that the executor chooses for it.

    Values between nodes are made once, by these calls; each call keeps its own inputs. A derivative is that by all
    inputs of a node, whoever needs them.
    """
    executor.keyed(inputs)  # decides what only values decide on
    structure = executor.structure
    outputs = [y] if training else structure.computable(inputs)
    nodes, _ = structure.part(outputs, training)
    values = {
        name: np.asarray(executor.framework.array(x)) for name, x in inputs.items()
    }
    values |= executor.arrays()
    varying = set(structure.trainable)
    found: list[NodeCall] = []
    for node in nodes:
        depends = not varying.isdisjoint(node.inputs)
        if depends:
            varying.update(node.outputs)
        single = _Single(executor, node, values)
        found.append(single.forward())
        values |= zip(node.outputs, single.results, strict=False)
        if training and depends:
            found += single.backward()
    return found


class _Single:
    """One node with its inputs on the host."""

    def __init__(
        self, executor: "Executor", node: Node, values: Mapping[str, np.ndarray]
    ):
        self.framework, self.node = executor.framework, node
        inputs = [values.get(i) if isinstance(i, str) else i for i in node.inputs]
        if node.operator.random:
            inputs = inputs[: len(node.operator.inputs)]  # the key comes behind them
        self.inputs: Sequence[Any] = inputs
        self.kernel = executor.choose(node, node.inputs)[1]
        self.compiled = executor.compile or executor.always_compiles
        self.results: list[np.ndarray] = []

    def forward(self) -> NodeCall:
        def prepare(kernel: str) -> Call:
            return self.framework.forward_call(self.node.operator, self.inputs, kernel)

        call, self.results = self._first_that_runs(prepare)
        return self._named("forward", call)

    def backward(self) -> list[NodeCall]:
        """By the framework's own derivative, or by our formula where it has none; nothing without a derivative."""
        operator = self.node.operator
        if not operator.differentiable:
            return []
        seeds = [np.ones_like(y) if y.dtype.kind == "f" else None for y in self.results]

        def prepare(kernel: str) -> Call:
            return self.framework.backward_call(operator, self.inputs, seeds, kernel)

        try:
            call, _ = self._first_that_runs(prepare)
        except Deep500Error:
            return []
        return [self._named("backward", call)]

    def _first_that_runs(
        self, prepare: Callable[[str], Call]
    ) -> tuple[Call, list[np.ndarray]]:
        """By the kernel of the network, or by our formula where the node has none alone."""
        try:
            call = prepare(self.kernel)
            return call, call.run()
        except Deep500Error:
            if self.kernel == "composed":
                raise
        self.kernel = "composed"
        call = prepare(self.kernel)
        return call, call.run()

    def _named(self, direction: str, call: Call) -> NodeCall:
        function, arguments = self._as_in_the_network(call), call.arguments
        operator = type(self.node.operator).__name__
        return NodeCall(
            self.node.name,
            operator,
            self.kernel,
            direction,
            lambda: function(*arguments),
        )

    def _as_in_the_network(self, call: Call) -> Callable[..., Any]:
        """Compiled, if that is how the network runs and the node can be compiled alone."""
        if not self.compiled:
            return call.function
        try:
            compiled = self.framework.compile(call.function)
            compiled(*call.arguments)
        except Exception:  # whatever a compiler says
            return call.function
        return compiled


def timed_rounds(
    runs: Sequence[Run],
    rounds: int,
    most_seconds: float | None = None,
    fewest: int = 1,
    rng: random.Random | None = None,
) -> list[list[int]]:
    """Nanoseconds per call of each, in rounds of random order after two to warm up; fewer when the time is up."""
    rng = rng or random.Random(0)
    calls = [_calls(run) for run in runs]
    times: list[list[int]] = [[] for _ in runs]
    order = list(range(len(runs)))
    end = None if most_seconds is None else now() + int(most_seconds * 1e9)
    for done in range(-WARM_UP, rounds):
        if end is not None and done >= fewest and now() > end:
            break
        rng.shuffle(order)
        for i in order:
            ns = _timed(runs[i], calls[i])
            if done >= 0:
                times[i].append(ns)
    return times


def _calls(run: Run) -> int:
    run()
    once = min(_timed(run, 1), _timed(run, 1))
    return min(MOST_CALLS, max(1, SHORTEST_NS // max(1, once)))


def _timed(run: Run, calls: int) -> int:
    start = now()
    for _ in range(calls):
        run()
    return max(1, (now() - start) // calls)
