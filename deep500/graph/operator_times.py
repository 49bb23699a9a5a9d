"""Times the nodes of a network one by one: each alone on its framework, with the values that it has in the network."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts.calls import Call
from ..errors import Deep500Error
from ..measure.clock import now
from .graph import Node

if TYPE_CHECKING:
    from ..contracts.executor import Executor

SHORTEST_NS = 20_000  # shorter calls are repeated
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
    """The times of one node alone: nanoseconds per call, one number per round."""

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
    runs = [call.run for call in calls]
    rounds_ns = timed_rounds(runs, rounds, sync=executor.framework.sync)
    times = []
    for call, ns in zip(calls, rounds_ns, strict=True):
        operator, kernel = call.operator, call.kernel
        times.append(OperatorTimes(call.node, operator, kernel, call.direction, ns))
    return times


def node_calls(
    executor: "Executor",
    inputs: Mapping[str, Any],
    training: bool = False,
    y: str = "loss",
) -> list[NodeCall]:
    """Calls that run every node alone, with the kernel that the executor chooses for it.

    The calls are run once to compute the values between nodes; each call keeps its own inputs. A derivative is by all
    inputs of a node, needed or not.
    """
    executor.keyed(inputs)  # sets the structure for these values
    structure = executor.structure
    outputs = [y] if training else structure.computable(inputs)
    nodes, _ = structure.part(outputs, training)
    values = {}
    for name, value in inputs.items():
        values[name] = np.asarray(executor.framework.array(value))
    values.update(executor.arrays())
    varying = set(structure.trainable)
    calls: list[NodeCall] = []
    for node in nodes:
        depends = not varying.isdisjoint(node.inputs)
        if depends:
            varying.update(node.outputs)
        single = _Single(executor, node, values)
        calls.append(single.forward())
        values.update(zip(node.outputs, single.results, strict=False))
        if training and depends:
            calls += single.backward()
    return calls


class _Single:
    """One node with its inputs on the host."""

    def __init__(
        self, executor: "Executor", node: Node, values: Mapping[str, np.ndarray]
    ):
        self.framework = executor.framework
        self.node = node
        inputs = [values.get(i) if isinstance(i, str) else i for i in node.inputs]
        if node.operator.random:
            # the key comes after them
            inputs = inputs[: len(node.operator.inputs)]
        self.inputs: Sequence[Any] = inputs
        _, self.kernel = executor.choose(node, node.inputs)
        self.compiled = executor.execution != "eager"
        self.results: list[np.ndarray] = []

    def forward(self) -> NodeCall:
        def prepare(kernel: str) -> Call:
            return self.framework.forward_call(self.node.operator, self.inputs, kernel)

        call, self.results = self._first_that_runs(prepare)
        return self._named("forward", call)

    def backward(self) -> list[NodeCall]:
        """The framework's own derivative, or our formula if it has none; empty if there is no derivative."""
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
        """A call with the network's kernel, or with our formula if that cannot run alone; and its results."""
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
        function = self._compiled(call)
        arguments = call.arguments
        node = self.node.name
        operator = type(self.node.operator).__name__
        return NodeCall(
            node, operator, self.kernel, direction, lambda: function(*arguments)
        )

    def _compiled(self, call: Call) -> Callable[..., Any]:
        """The function of a call, compiled if the network runs compiled and the node can be compiled alone."""
        if not self.compiled:
            return call.function
        try:
            compiled = self.framework.compile(call.function)
            compiled(*call.arguments)
        except Exception:  # a compiler may raise anything
            return call.function
        return compiled


def _nothing() -> None:
    """The wait of code that returns only when it has finished."""


def timed_rounds(
    runs: Sequence[Run],
    rounds: int,
    most_seconds: float | None = None,
    fewest: int = 1,
    rng: random.Random | None = None,
    sync: Callable[[], None] = _nothing,
) -> list[list[int]]:
    """Nanoseconds per call of each, in rounds of random order after two warm-up rounds.

    After `most_seconds`, no round begins if there are at least `fewest`. `sync` waits for the device that the calls
    leave work on, before the clock is read.
    """
    rng = rng or random.Random(0)
    counts = [_call_count(run, sync) for run in runs]
    times: list[list[int]] = [[] for _ in runs]
    order = list(range(len(runs)))
    end = None
    if most_seconds is not None:
        end = now() + int(most_seconds * 1e9)
    for round_number in range(-WARM_UP, rounds):
        if end is not None and round_number >= fewest and now() > end:
            break
        rng.shuffle(order)
        for i in order:
            ns = _timed(runs[i], counts[i], sync)
            if round_number >= 0:
                times[i].append(ns)
    return times


def _call_count(run: Run, sync: Callable[[], None]) -> int:
    """How many calls take long enough to be timed."""
    run()
    shortest = min(_timed(run, 1, sync), _timed(run, 1, sync))
    count = SHORTEST_NS // max(1, shortest)
    return min(MOST_CALLS, max(1, count))


def _timed(run: Run, calls: int, sync: Callable[[], None]) -> int:
    """The mean time of a call in nanoseconds, at least 1."""
    sync()
    start = now()
    for _ in range(calls):
        run()
    sync()
    return max(1, (now() - start) // calls)
