"""Generates code for a network: a torch.fx graph that takes the inputs and the parameters as arguments."""

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
from .recording import FunctionRecording, Unrecordable, note_spec

Program = Callable[..., tuple]  # takes the inputs in order, then the parameters


def compile_network(
    executor: Executor,
    outputs: Sequence[str],
    params: Sequence[str],
    training: bool,
    example: Mapping[str, torch.Tensor] | None = None,
) -> Program:
    """Return a function of the needed inputs and of these parameters that computes these outputs of the network.

    With an example of the inputs and parameters, the function is for inputs of these shapes only: what native kernels
    compute from shapes in Python is computed now, and results that nobody uses are left out.
    """
    network = executor.graph_with(outputs)
    nodes, inputs = network.part(outputs, training)
    graph = torch.fx.Graph()
    values = {}
    for i, name in enumerate((*inputs, *params)):
        identifier = _identifier(name)
        values[name] = graph.placeholder(f"v{i}_{identifier}")
    if not example:
        emitter = _Emitter(executor, graph, values, None)
    else:
        for name, tensor in example.items():
            note_spec(values[name], tensor)
        emitter = _Emitter(executor, graph, values, dict(example))
    with torch.no_grad():
        for node in nodes:
            emitter.node(node)
    graph.output(tuple([values[name] for name in outputs]))
    fuse_linear(graph)
    graph.eliminate_dead_code()
    return torch.fx.GraphModule(torch.nn.Module(), graph).forward


class _Emitter:
    """Writes nodes into a graph: as one call each, or as the PyTorch calls that they consist of."""

    def __init__(
        self,
        executor: Executor,
        graph: torch.fx.Graph,
        values: dict[str, torch.fx.Node],
        example: dict[str, Any] | None,
    ):
        self.executor = executor
        self.graph = graph
        self.values = values
        self.example = example

    def node(self, node: Node) -> None:
        kernel, kind = self.executor.choose(node, node.inputs)
        if self.example is None or kind == "composed":
            return self._whole(node)
        nodes = {}
        for name in node.inputs:
            if isinstance(name, str):
                nodes[self.example[name]] = self.values[name]
        recording = FunctionRecording(self.graph, nodes)
        inputs = _looked_up(node.inputs, self.example)
        try:
            with recording:
                results = kernel(*inputs)
            recorded = [recording.node(result) for result in results]
        except Unrecordable:
            return self._whole(node)
        self.example |= zip(node.outputs, results, strict=False)
        self.values |= zip(node.outputs, recorded, strict=False)

    def _whole(self, node: Node) -> None:
        call = _bound(_kernel(self.executor, node), node.inputs)
        call.__name__ = _identifier(node.name)  # its name in the generated code
        written = [None if isinstance(i, np.generic) else i for i in node.inputs]
        arguments = tuple(_looked_up(written, self.values))
        result = self.graph.call_function(call, arguments)
        for i, name in enumerate(node.outputs):
            self.values[name] = self.graph.call_function(python.getitem, (result, i))
        if self.example is not None:
            inputs = _looked_up(node.inputs, self.example)
            self.example |= zip(node.outputs, call(*inputs), strict=False)


def _looked_up(inputs: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    """The inputs of a node, with values in place of their names."""
    return [values[i] if isinstance(i, str) else i for i in inputs]


def _bound(call: Callable[..., tuple], inputs: Sequence[Any]) -> Callable[..., tuple]:
    """The call with NumPy scalars among the inputs bound to it, since generated code cannot contain them."""
    scalars = []
    for i, value in enumerate(inputs):
        if isinstance(value, np.generic):
            scalars.append((i, value))
    if not scalars:
        return call

    def bound(*arguments: Any) -> tuple:
        values = list(arguments)
        for i, scalar in scalars:
            values[i] = scalar
        return call(*values)

    return bound


def _kernel(executor: Executor, node: Node) -> Callable[..., tuple]:
    kernel, kind = executor.choose(node, node.inputs)
    if kind == "native" or not node.operator.differentiable:
        return kernel
    xp = executor.framework.xp
    return lambda *inputs: FormulaFunction.apply(node.operator, xp, *inputs)


class FormulaFunction(torch.autograd.Function):
    """An operator's formula and its derivative as one function of autograd."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, xp: Any, *inputs: Any) -> tuple:
        results = operator.run(xp, *inputs)
        ctx.operator = operator
        ctx.xp = xp
        ctx.count = len(inputs)
        tensors: list[torch.Tensor | None] = []
        others: list[Any] = []
        for value in (*inputs, *results):
            if isinstance(value, torch.Tensor):
                tensors.append(value)
                others.append(None)
            else:
                tensors.append(None)
                others.append(value)
        ctx.static = others
        ctx.save_for_backward(*tensors)
        return operator.published(results)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        values = []
        for other, tensor in zip(ctx.static, ctx.saved_tensors, strict=True):
            values.append(other if tensor is None else tensor)
        inputs, results = values[: ctx.count], values[ctx.count :]
        gradients = ctx.operator.gradients(ctx.xp, grads, inputs, results)
        return (None, None, *gradients)


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)
