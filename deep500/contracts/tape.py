"""Forward and backward through a network, over any namespace: arrays, or a recorder that writes ONNX."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import Deep500Error, Unsupported
from .network import Node, Subgraph

Kernel = Callable[
    [Node, Sequence[Any]], tuple
]  # every result that is used or that backward wants, in order


@dataclass(frozen=True)
class Outline:
    """What is left of an array that backward does not ask for."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class Entry:
    """One node that ran. Inputs and results that its operator's backward does not name are outlines."""

    node: Node
    inputs: tuple
    results: tuple


Rule = Callable[
    [Entry, Mapping[str, Any]], Sequence[Any]
]  # one gradient per input of the node


def forward(
    xp: Any,
    nodes: Iterable[Node],
    values: Mapping[str, Any],
    keep: Collection[str],
    kernel: Kernel | None = None,
    record: bool = True,
) -> tuple[dict[str, Any], list[Entry]]:
    """Run the nodes in order; returns the values named in `keep` and the tape. What nobody needs any more is freed."""
    nodes, alive = list(nodes), dict(values)
    tape: list[Entry] = []
    last = {
        name: i
        for i, node in enumerate(nodes)
        for name in (*node.inputs, *node.outputs)
    }
    for i, node in enumerate(nodes):
        inputs = [
            alive[name] if isinstance(name, str) else name for name in node.inputs
        ]
        results = kernel(node, inputs) if kernel else node.operator.run(xp, *inputs)
        alive |= zip(node.outputs, results, strict=False)
        if record:
            tape.append(_entry(node, inputs, results))
        spent = {
            name
            for name in (*node.inputs, *node.outputs)
            if last[name] == i and name not in keep
        }
        for name in alive.keys() & spent:
            del alive[name]
    return {name: alive[name] for name in keep}, tape


def backward(
    xp: Any,
    tape: list[Entry],
    y: str,
    seed: Any,
    by: Mapping[str, Any],
    rule: Rule | None = None,
) -> dict[str, Any]:
    """The gradient of y by every value in `by` (zeros where y does not depend on it); `seed` is that of y by itself."""
    return sweep(xp, tape, {y: seed}, by, rule)


def sweep(
    xp: Any,
    tape: list[Entry],
    seeds: Mapping[str, Any],
    by: Mapping[str, Any],
    rule: Rule | None = None,
) -> dict[str, Any]:
    """The gradients by every value in `by`, from those of some values that were made.

    The tape is used up: what a node kept for its derivative is freed as soon as that has run.
    """
    varying, grads = _depending(tape, by), dict(seeds)
    rule = rule or partial(entry_gradients, xp)
    while tape:
        entry = tape.pop()
        if not any(name in grads for name in entry.node.outputs) or varying.isdisjoint(
            entry.node.outputs
        ):
            continue
        for name, gradient in zip(entry.node.inputs, rule(entry, grads), strict=True):
            if gradient is not None and name in varying:
                grads[name] = grads[name] + gradient if name in grads else gradient
        for name in entry.node.outputs:  # nothing before this node asks for them
            if name not in by:
                grads.pop(name, None)
    return {
        name: grads[name] if name in grads else xp.zeros_like(value)
        for name, value in by.items()
    }


def run(xp: Any, graph: Subgraph, inputs: Sequence[Any]) -> tuple:
    """The outputs of a subgraph."""
    values = dict(zip(graph.inputs, inputs, strict=True))
    found, _ = forward(xp, graph.nodes, values, {*graph.outputs}, record=False)
    return tuple(found[name] for name in graph.outputs)


def pull(
    xp: Any,
    graph: Subgraph,
    inputs: Sequence[Any],
    grads: Sequence[Any],
    by: Collection[int],
) -> tuple:
    """The gradients of a subgraph by the inputs at these places; it runs again for that.

    An output without a gradient (None) counts as not used.
    """
    values = dict(zip(graph.inputs, inputs, strict=True))
    _, record = forward(xp, graph.nodes, values, {*graph.outputs})
    seeds: dict[str, Any] = {}
    for name, grad in zip(graph.outputs, grads, strict=True):
        if grad is not None:
            seeds[name] = seeds[name] + grad if name in seeds else grad
    found = sweep(xp, record, seeds, {graph.inputs[i]: inputs[i] for i in by})
    return tuple(found[graph.inputs[i]] for i in by)


def seed(xp: Any, value: Any, y: str) -> Any:
    """The gradient of y by itself: one, for a y of one element."""
    if any(n != 1 for n in value.shape):
        raise Deep500Error(
            f"gradients are of a single number, and {y!r} has the shape {tuple(value.shape)}: "
            "name a scalar, such as the loss"
        )
    return xp.ones_like(value)


def _depending(tape: Sequence[Entry], sources: Iterable[str]) -> set[str]:
    """The sources, and all that was computed from them."""
    found = set(sources)
    for entry in tape:
        if not found.isdisjoint(entry.node.inputs):
            found.update(entry.node.outputs)
    return found


def _entry(node: Node, inputs: Sequence, results: Sequence) -> Entry:
    operator = node.operator
    names = operator.input_names(len(inputs))
    made = operator.result_names(len(results))
    kept = {*operator.wanted, *operator.static}
    return Entry(
        node,
        tuple(_kept(x, n in kept) for n, x in zip(names, inputs, strict=True)),
        tuple(_kept(x, n in kept) for n, x in zip(made, results, strict=True)),
    )


def _kept(value: Any, wanted: bool) -> Any:
    return (
        value if wanted or value is None else Outline(tuple(value.shape), value.dtype)
    )


def entry_gradients(xp: Any, entry: Entry, grads: Mapping[str, Any]) -> list:
    """One gradient per input of the node; an output that nobody used counts as having zero gradient."""
    operator, names = entry.node.operator, entry.node.outputs
    if not operator.differentiable:
        raise Unsupported(
            f"the gradient needs the derivative of {type(operator).__name__} (node {entry.node.name!r}), "
            "which declares none"
        )
    given = []
    results = operator.published(entry.results)
    for i, (output, result) in enumerate(
        zip(operator.result_names(len(results)), results, strict=True)
    ):
        known = grads.get(names[i]) if i < len(names) else None
        lacking = known is None and f"d{output}" in operator.wanted
        given.append(xp.zeros(result.shape, result.dtype) if lacking else known)
    return operator.gradients(xp, given, entry.inputs, entry.results)
