"""Forward and backward passes through a network in any namespace: of arrays, or of a recorder that writes ONNX."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..contracts.network import Node, Subgraph
from ..errors import Deep500Error, Unsupported

# returns, in order, every result that is used or that backward needs
Kernel = Callable[[Node, Sequence[Any]], tuple]


@dataclass(frozen=True)
class Outline:
    """Shape and dtype of an array that backward does not need."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class TapeEntry:
    """One node that ran. Inputs and results that its operator's backward does not take are outlines."""

    node: Node
    inputs: tuple
    results: tuple


# returns one gradient per input of the node
Rule = Callable[[TapeEntry, Mapping[str, Any]], Sequence[Any]]


def forward(
    xp: Any,
    nodes: Iterable[Node],
    values: Mapping[str, Any],
    keep: Collection[str],
    kernel: Kernel | None = None,
    record: bool = True,
) -> tuple[dict[str, Any], list[TapeEntry]]:
    """Run the nodes in order; returns the values named in `keep` and the tape. Values are freed after the last use."""
    nodes = list(nodes)
    alive: dict[Any, Any] = dict(values)
    tape: list[TapeEntry] = []
    last_use: dict[Any, int] = {}
    for i, node in enumerate(nodes):
        for name in (*node.inputs, *node.outputs):
            last_use[name] = i
    for i, node in enumerate(nodes):
        inputs = [
            alive[name] if isinstance(name, str) else name for name in node.inputs
        ]
        results = kernel(node, inputs) if kernel else node.operator.run(xp, *inputs)
        alive |= zip(node.outputs, results, strict=False)
        if record:
            tape.append(_entry(node, inputs, results))
        for name in (*node.inputs, *node.outputs):
            if last_use[name] == i and name not in keep:
                alive.pop(name, None)
    return {name: alive[name] for name in keep}, tape


def backward(
    xp: Any,
    tape: list[TapeEntry],
    y: str,
    seed: Any,
    by: Mapping[str, Any],
    rule: Rule | None = None,
) -> dict[str, Any]:
    """The gradient of y by every value in `by` (zeros if y does not depend on it); `seed` is the gradient of y by y."""
    return sweep(xp, tape, {y: seed}, by, rule)


def sweep(
    xp: Any,
    tape: list[TapeEntry],
    seeds: Mapping[str, Any],
    by: Mapping[str, Any],
    rule: Rule | None = None,
) -> dict[str, Any]:
    """The gradients by every value in `by`, from the gradients of some computed values.

    The tape is consumed: the values that a node's derivative needs are freed as soon as it has run.
    """
    varying = _depending(tape, by)
    grads = dict(seeds)
    rule = rule or partial(entry_gradients, xp)
    while tape:
        entry = tape.pop()
        outputs = entry.node.outputs
        if varying.isdisjoint(outputs) or grads.keys().isdisjoint(outputs):
            continue
        # no name for the list of gradients, which would keep them alive
        for name, gradient in zip(entry.node.inputs, rule(entry, grads), strict=True):
            if gradient is not None and name in varying:
                _add(grads, name, gradient)
        for name in outputs:  # no earlier node needs them
            if name not in by:
                grads.pop(name, None)
    return {
        name: grads[name] if name in grads else xp.zeros_like(value)
        for name, value in by.items()
    }


def _add(grads: dict[str, Any], name: str, gradient: Any) -> None:
    """Add a gradient to the sum for this value."""
    if name in grads:
        grads[name] = grads[name] + gradient
    else:
        grads[name] = gradient


def run(xp: Any, graph: Subgraph, inputs: Sequence[Any]) -> tuple:
    """The outputs of a subgraph."""
    values = dict(zip(graph.inputs, inputs, strict=True))
    results, _ = forward(xp, graph.nodes, values, {*graph.outputs}, record=False)
    return tuple(results[name] for name in graph.outputs)


def pull(
    xp: Any,
    graph: Subgraph,
    inputs: Sequence[Any],
    grads: Sequence[Any],
    by: Collection[int],
) -> tuple:
    """The gradients of a subgraph by the inputs at these positions; the forward pass is repeated for them.

    An output whose gradient is None counts as not used.
    """
    values = dict(zip(graph.inputs, inputs, strict=True))
    _, record = forward(xp, graph.nodes, values, {*graph.outputs})
    seeds: dict[str, Any] = {}
    for name, grad in zip(graph.outputs, grads, strict=True):
        if grad is not None:
            _add(seeds, name, grad)
    sources = {graph.inputs[i]: inputs[i] for i in by}
    gradients = sweep(xp, record, seeds, sources)
    return tuple(gradients[graph.inputs[i]] for i in by)


def seed(xp: Any, value: Any, y: str) -> Any:
    """The gradient of y by itself: one, for a y of one element."""
    if any(n != 1 for n in value.shape):
        shape = tuple(value.shape)
        raise Deep500Error(
            f"gradients are of a single number, and {y!r} has the shape {shape}: "
            "name a scalar, such as the loss"
        )
    return xp.ones_like(value)


def _depending(tape: Sequence[TapeEntry], sources: Iterable[str]) -> set[str]:
    """The sources, and all values that were computed from them."""
    names = set(sources)
    for entry in tape:
        if not names.isdisjoint(entry.node.inputs):
            names.update(entry.node.outputs)
    return names


def _entry(node: Node, inputs: Sequence, results: Sequence) -> TapeEntry:
    operator = node.operator
    needed = {*operator.wanted, *operator.static}
    input_names = operator.input_names(len(inputs))
    result_names = operator.result_names(len(results))
    saved_inputs = _saved(input_names, inputs, needed)
    saved_results = _saved(result_names, results, needed)
    return TapeEntry(node, saved_inputs, saved_results)


def _saved(names: Sequence[str], values: Sequence, needed: Collection[str]) -> tuple:
    """The values, with outlines instead of those that are not needed."""
    saved = []
    for name, value in zip(names, values, strict=True):
        if name in needed or value is None:
            saved.append(value)
        else:
            saved.append(Outline(tuple(value.shape), value.dtype))
    return tuple(saved)


def entry_gradients(xp: Any, entry: TapeEntry, grads: Mapping[str, Any]) -> list:
    """One gradient per input of the node; the gradient of an unused output counts as zero."""
    operator = entry.node.operator
    if not operator.differentiable:
        name = type(operator).__name__
        raise Unsupported(
            f"the gradient needs the derivative of {name} (node {entry.node.name!r}), "
            "which declares none"
        )
    outputs = entry.node.outputs
    results = operator.published(entry.results)
    result_names = operator.result_names(len(results))
    result_gradients = []
    for i, result in enumerate(results):
        gradient = grads.get(outputs[i]) if i < len(outputs) else None
        if gradient is None and f"d{result_names[i]}" in operator.wanted:
            gradient = xp.zeros(result.shape, result.dtype)
        result_gradients.append(gradient)
    return operator.gradients(xp, result_gradients, entry.inputs, entry.results)
