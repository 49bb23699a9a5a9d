"""A network as generated code: a torch.fx graph that takes the inputs and the parameters as arguments."""

import operator as python
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ...contracts.executor import Executor
from ...contracts.network import Node
from ...contracts.operator import Operator
from .linear import fuse_linear
from .recording import Recording, Unrecordable, note_spec

Program = Callable[..., tuple]  # of the inputs in order, then of the parameters


def compile_network(
    executor: Executor,
    outputs: Sequence[str],
    params: Sequence[str],
    training: bool,
    example: Mapping[str, torch.Tensor] | None = None,
) -> Program:
    """A function of the needed inputs and of these parameters that makes these outputs of the executor's network.

    With an example of these inputs and parameters, what native kernels work out from shapes in Python is worked out
    now, and what they make that nobody uses is left out: the function is for inputs of these shapes only.
    """
    nodes, inputs = executor.graph_with(outputs).part(outputs, training)
    graph = torch.fx.Graph()
    values = {
        name: graph.placeholder(f"v{i}_{_identifier(name)}")
        for i, name in enumerate((*inputs, *params))
    }
    for name, tensor in (example or {}).items():
        note_spec(values[name], tensor)
    emit = _Emitter(executor, graph, values, dict(example) if example else None)
    with torch.no_grad():
        for node in nodes:
            emit.node(node)
    graph.output(tuple(values[name] for name in outputs))
    fuse_linear(graph)
    graph.eliminate_dead_code()
    return torch.fx.GraphModule(torch.nn.Module(), graph).forward


class _Emitter:
    """Writes nodes into a graph, one call each, or as the calls of PyTorch that they consist of."""

    def __init__(
        self,
        executor: Executor,
        graph: torch.fx.Graph,
        values: dict[str, torch.fx.Node],
        example: dict[str, Any] | None,
    ):
        self.executor, self.graph, self.values, self.example = (
            executor,
            graph,
            values,
            example,
        )

    def node(self, node: Node) -> None:
        kernel, word = self.executor.choose(node, node.inputs)
        if self.example is None or word == "composed":
            return self._whole(node)
        inputs = [self.example[i] if isinstance(i, str) else i for i in node.inputs]
        recording = Recording(
            self.graph,
            {
                self.example[i]: self.values[i]
                for i in node.inputs
                if isinstance(i, str)
            },
        )
        try:
            with recording:
                results = kernel(*inputs)
            found = [recording.node(result) for result in results]
        except Unrecordable:
            return self._whole(node)
        self.example |= zip(node.outputs, results, strict=False)
        self.values |= zip(node.outputs, found, strict=False)

    def _whole(self, node: Node) -> None:
        call = _bound(_kernel(self.executor, node), node.inputs)
        call.__name__ = _identifier(node.name)  # what the generated code calls it
        written = [None if isinstance(i, np.generic) else i for i in node.inputs]
        result = self.graph.call_function(
            call, tuple(self.values[i] if isinstance(i, str) else i for i in written)
        )
        for i, name in enumerate(node.outputs):
            self.values[name] = self.graph.call_function(python.getitem, (result, i))
        if self.example is not None:
            inputs = [self.example[i] if isinstance(i, str) else i for i in node.inputs]
            self.example |= zip(node.outputs, call(*inputs), strict=False)


def _bound(call: Callable[..., tuple], inputs: Sequence[Any]) -> Callable[..., tuple]:
    """A call that knows NumPy's scalars among its inputs: generated code cannot write them down."""
    if not any(isinstance(x, np.generic) for x in inputs):
        return call
    return lambda *given: call(
        *(
            x if isinstance(x, np.generic) else g
            for x, g in zip(inputs, given, strict=True)
        )
    )


def _kernel(executor: Executor, node: Node) -> Callable[..., tuple]:
    kernel, word = executor.choose(node, node.inputs)
    if word == "native" or not node.operator.differentiable:
        return kernel
    xp = executor.framework.xp
    return lambda *inputs: Formula.apply(node.operator, xp, *inputs)


class Formula(torch.autograd.Function):
    """An operator's formula and its own derivative, as one step of autograd."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, xp: Any, *inputs: Any) -> tuple:
        results = operator.run(xp, *inputs)
        kept = (*inputs, *results)
        ctx.operator, ctx.xp, ctx.count = operator, xp, len(inputs)
        ctx.static = [
            None if isinstance(value, torch.Tensor) else value for value in kept
        ]
        ctx.save_for_backward(
            *(value if isinstance(value, torch.Tensor) else None for value in kept)
        )
        return operator.published(results)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        kept = [
            s if t is None else t
            for s, t in zip(ctx.static, ctx.saved_tensors, strict=True)
        ]
        return (
            None,
            None,
            *ctx.operator.gradients(
                ctx.xp, grads, kept[: ctx.count], kept[ctx.count :]
            ),
        )


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)
