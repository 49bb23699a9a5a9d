"""Custom operators in ONNX Runtime: a network is split around them, and every part between them is a session."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...contracts import tape
from ...contracts.framework import Framework
from ...contracts.network import (
    Network,
    Node,
    in_evaluation,
    take_keys,
)
from ...contracts.operator import Operator, Tensor
from ...contracts.optimizer import Optimizer
from ...custom.operators import (
    Custom,
    CustomOp,
    HostFunction,
    one_or_all,
)
from ...namespace import Namespace, kind
from ...onnx.recording.arrays import argument, build
from ...onnx.recording.graphs import kernel as recording_kernel
from ..reference import FRAMEWORK as REFERENCE
from ..reference.executor import ReferenceExecutor, ReferenceStep
from . import FRAMEWORK, OnnxRuntime
from .kernels import kernel_word


@cache
def custom_op(op: CustomOp) -> Callable[..., Any]:
    """A function of OrtValues, which then returns some, or of NumPy arrays."""
    function, native = HostFunction(op), FRAMEWORK.module.OrtValue

    def call(*inputs: Any) -> Any:
        made = function(*(FRAMEWORK.array(x) for x in inputs))
        if not isinstance(inputs[0], native):
            return made
        return one_or_all(
            [
                FRAMEWORK.tensor(y)
                for y in (made if isinstance(made, tuple) else (made,))
            ]
        )

    return call


class Host(OnnxRuntime):
    """ONNX Runtime as seen from NumPy: values are arrays, which go into sessions and come out of them."""

    def _namespace(self) -> Namespace:
        return REFERENCE.xp

    def tensor(self, array: Any, dtype: str | None = None) -> np.ndarray:
        return REFERENCE.tensor(FRAMEWORK.array(array), dtype)

    def kernel(
        self, operator: Operator, outputs: int = 1, inputs: Sequence[Any] = ()
    ) -> tuple[Callable[..., tuple], str]:
        return lambda *inputs: operator.run(self.xp, *inputs), "native"

    def _custom_op(self, operator: CustomOp) -> HostFunction:
        return HostFunction(operator)

    _evaluate, _gradient = Framework._evaluate, Framework._gradient
    _forward_call, _backward_call = Framework._forward_call, Framework._backward_call


HOST = Host()


class SplitExecutor(ReferenceExecutor):
    """The reference's walk over a network whose nodes are custom operators and sessions."""

    def __init__(
        self,
        framework: OnnxRuntime,
        network: Network,
        seed: int = 0,
        compile: bool = False,
    ):
        HOST.threads = framework.threads
        whole = network.copy()
        keys = take_keys(whole)
        words: dict[str, str] = {}
        super().__init__(HOST, split(whole, words), seed, compile)
        self._whole = whole.outline()
        self._kernel_words = words
        self.random |= keys

    def _training_step(self, optimizer: Optimizer, y: str) -> ReferenceStep:
        self._whole.warn_before_training()
        return super()._training_step(optimizer, y)

    def kernels(self) -> dict[str, str]:
        specs = self._whole.specs({})
        words = {}
        for node in self._whole.nodes:
            inputs = [specs.get(i, i) if isinstance(i, str) else i for i in node.inputs]
            words[node.name] = self._kernel_words.get(node.name) or self._word(
                node, inputs
            )
        return words

    def _word(self, node: Node, inputs: Sequence[Any]) -> str:
        if isinstance(node.operator, Custom):
            return "native"
        return kernel_word(FRAMEWORK.xp, node, inputs, self.training)


def split(network: Network, words: dict[str, str]) -> Network:
    """The same network with all nodes between custom ones made one; `words` takes up how each will be recorded."""
    made = network.copy()
    runs = [*_runs(network.ordered())]
    nodes: list[Node] = []
    for i, run in enumerate(runs):
        if isinstance(run[0].operator, Custom):
            nodes += run
            continue
        later = {x for other in runs[i + 1 :] for node in other for x in node.inputs}
        nodes.append(
            _joined(
                f"part_{i}",
                run,
                {*network.outputs, *network.state_updates.values(), *later},
                words,
            )
        )
    made.nodes = nodes
    return made


def _runs(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Custom nodes one by one, the others as they stand together."""
    run: list[Node] = []
    for node in nodes:
        if isinstance(node.operator, Custom):
            yield from [run, [node]] if run else [[node]]
            run = []
        else:
            run.append(node)
    if run:
        yield run


def _joined(
    name: str, nodes: list[Node], wanted: Collection[Any], words: dict[str, str]
) -> Node:
    inside = [y for node in nodes for y in node.outputs]
    inputs = [
        *dict.fromkeys(
            x
            for node in nodes
            for x in node.inputs
            if isinstance(x, str) and x not in inside
        )
    ]
    outputs = [y for y in inside if y in wanted] or inside[-1:]
    return Node(
        name,
        Part(Nodes(tuple(nodes), tuple(inputs), tuple(outputs), words)),
        tuple(inputs),
        tuple(outputs),
    )


@dataclass(frozen=True, eq=False)
class Nodes:
    """Some nodes of a network, with the values that go in and come out."""

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    words: dict[str, str]  # how each node was recorded


class Part(Operator):
    """Nodes that run as one session, forward and backward."""

    domain: ClassVar[str] = "deep500.custom"
    outputs: ClassVar[tuple[str, ...]] = ("*ys",)
    inside: Nodes
    training_mode: int = 1  # 0 in evaluation; until then every node decides for itself

    def forward(self, xp, *xs):  # an annotation would make them static
        return tuple(_session(self, _kinds(xs), False, HOST.threads)(*xs))

    def backward(self, xp: Any, xs: tuple, dys: tuple) -> tuple:
        places = [i for i, x in enumerate(xs) if kind(x) == "float"]
        found = dict(
            zip(
                places,
                _session(self, _kinds(xs), True, HOST.threads)(*xs, *dys),
                strict=True,
            )
        )
        return tuple(found.get(i) for i in range(len(xs)))


@cache
def _session(
    part: Part, kinds: tuple[Tensor, ...], backward: bool, threads: int
) -> Callable[..., Sequence[Any]]:
    """Outputs from inputs; or gradients of float inputs from inputs and gradients of outputs, forward done again."""
    inside, training = part.inside, bool(part.training_mode)
    nodes = inside.nodes if training else tuple(map(in_evaluation, inside.nodes))
    given = {
        name: argument(t.shape, t.dtype)
        for name, t in zip(inside.inputs, kinds, strict=True)
    }
    found, record = tape.forward(
        FRAMEWORK.xp,
        nodes,
        given,
        inside.outputs,
        recording_kernel(FRAMEWORK.xp, backward, inside.words),
        record=backward,
    )
    made = [found[name] for name in inside.outputs]
    inputs = [*given.values()]
    if backward:
        grads = {
            name: argument(y.shape, y.dtype)
            for name, y in zip(inside.outputs, made, strict=True)
        }
        inputs += grads.values()
        seeds = {name: grad for name, grad in grads.items() if kind(grad) == "float"}
        made = [
            *tape.sweep(
                FRAMEWORK.xp,
                record,
                seeds,
                {n: x for n, x in given.items() if kind(x) == "float"},
            ).values()
        ]
    names = [f"o{k}" for k in range(len(made))]
    model = build(
        {f"i{k}": x for k, x in enumerate(inputs)}, dict(zip(names, made, strict=True))
    )
    session = FRAMEWORK.session(model)
    used = {x.name for x in session.get_inputs()}
    return lambda *xs: session.run(
        names, {name: x for k, x in enumerate(xs) if (name := f"i{k}") in used}
    )


def _kinds(xs: Sequence[np.ndarray]) -> tuple[Tensor, ...]:
    return tuple(Tensor(x.shape, x.dtype.name) for x in xs)
