"""Networks as ONNX graphs: for inference, with the backward pass, and with an optimizer's update behind it.

All are for one shape of every input. Parameters are inputs of the graphs, so that they can change between runs.
`xp` is the namespace that records; its kernels decide which nodes stay nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from ...contracts import tape
from ...contracts.network import Network, Node
from ...contracts.operator import Operator, Tensor
from ...contracts.optimizer import Optimizer
from .arrays import Recorded, argument, build
from .namespace import Recorder
from .nodes import dtypes_of, formula, node

Shapes = Mapping[str, Sequence[int]]
FLAT = "deep500:flat"  # all trained parameters in one vector
STEP = "deep500:step"  # the count of steps, an input
NEW = "deep500:new:"  # what begins the name of an output that replaces an input


def inference_model(
    xp: Recorder, network: Network, outputs: Sequence[str], shapes: Shapes
) -> onnx.ModelProto:
    """These outputs, in evaluation mode."""
    nodes, used = network.part(outputs, training=False)
    inputs = _inputs(network, used, shapes) | _params(network, nodes)
    found, _ = tape.forward(xp, nodes, inputs, outputs, kernel(xp, training=False), record=False)
    return build(inputs, found)


def backward_model(
    xp: Recorder, network: Network, y: str, shapes: Shapes, training: bool = True
) -> onnx.ModelProto:
    """The network's outputs, what replaces its running statistics, and the gradients of y under their own names."""
    inputs, found, grads, new = _differentiated(xp, network, y, shapes, training)
    named = {name: grads[param] for param, name in network.gradient(y)}
    return build(inputs, found | _new(new) | named)


def step_model(
    xp: Recorder,
    network: Network,
    optimizer: Optimizer,
    y: str,
    shapes: Shapes,
    training: bool = True,
) -> onnx.ModelProto:
    """A whole training step: outputs, and what replaces the parameters and the optimizer's state.

    An elementwise rule goes over all parameters as one vector, FLAT, which is one more input.
    """
    inputs, found, grads, new = _differentiated(xp, network, y, shapes, training)
    kinds, step = state_kinds(xp, network, optimizer), argument((), "float32")
    states = {
        name: {key: argument(kind.shape, kind.dtype) for key, kind in own.items()}
        for name, own in kinds.items()
    }
    params = {name: inputs[name] for name in network.trainable}
    if is_flat(network, optimizer):
        params, grads = (
            _flat_param(network),
            {FLAT: xp.concat([xp.reshape(g, (-1,)) for g in grads.values()])},
        )
    for name, param in params.items():
        new[name], after = optimizer.update(xp, param, grads[name], states[name], step)
        new |= {f"{name}.{key}": value for key, value in after.items()}
    given = {f"{name}.{key}": value for name, own in states.items() for key, value in own.items()}
    return build(inputs | params | given | {STEP: step}, found | _new(new))


def state_model(xp: Recorder, network: Network, optimizer: Optimizer) -> onnx.ModelProto:
    """The optimizer's state before the first step, under the names "parameter.key"."""
    params = _flat_param(network) if is_flat(network, optimizer) else _params(network, ())
    return build(
        params,
        {
            f"{name}.{key}": value
            for name, param in params.items()
            for key, value in optimizer.init(xp, param).items()
        },
    )


def state_kinds(
    xp: Recorder, network: Network, optimizer: Optimizer
) -> dict[str, dict[str, Tensor]]:
    """Shape and dtype of the optimizer's state, by parameter and key."""
    params = _flat_param(network) if is_flat(network, optimizer) else _params(network, ())
    return {
        name: {
            key: Tensor(value.shape, value.dtype.name)
            for key, value in optimizer.init(xp, param).items()
        }
        for name, param in params.items()
    }


def is_flat(network: Network, optimizer: Optimizer) -> bool:
    """Whether the optimizer's rule goes over all parameters as one vector."""
    return (
        optimizer.elementwise
        and len({network.params[name].dtype for name in network.trainable}) == 1
    )


def is_native(
    xp: Recorder, operator: Operator, dtypes: Sequence[str | None], training: bool
) -> bool:
    """Whether a node stays one: it has a kernel, and backward needs nothing that only our formula gives."""
    if training and not {*operator.saved}.isdisjoint(operator.wanted):
        return False
    return xp.kernels.has_kernel(operator, dtypes)


def _differentiated(
    xp: Recorder, network: Network, y: str, shapes: Shapes, training: bool
) -> tuple[dict, dict, dict, dict]:
    """Inputs of the graph, the outputs that it makes, gradients by parameter, and the running statistics to come."""
    updates = network.state_updates if training else {}
    outputs = [
        name
        for name in network.outputs
        if name not in network.params and name not in network.inputs
    ]
    kept = [*dict.fromkeys((*outputs, y, *updates.values()))]
    nodes, used = network.part(kept, training)
    inputs = _inputs(network, used, shapes) | _params(network, nodes)
    found, record = tape.forward(xp, nodes, inputs, kept, kernel(xp, training=True))
    by = {name: inputs[name] for name in network.trainable}
    grads = tape.backward(xp, record, y, tape.seed(xp, found[y], y), by)
    return (
        inputs,
        {n: found[n] for n in outputs},
        grads,
        {n: found[value] for n, value in updates.items()},
    )


def kernel(xp: Recorder, training: bool) -> tape.Kernel:
    """How the tape records a node: as itself where `is_native` says so, else by its formula."""

    def record(where: Node, inputs: Sequence[Any]) -> tuple:
        operator = where.operator
        if not is_native(xp, operator, dtypes_of(inputs), training):
            return formula(xp, operator)(*inputs)
        if operator.variadic:
            return node(xp, operator, inputs)
        count = len(where.outputs)
        for place, name in enumerate(operator.outputs, start=1):
            if training and name in operator.wanted:
                count = max(count, place)
        return node(xp, operator, inputs, count)

    return record


def _inputs(network: Network, used: Sequence[str], shapes: Shapes) -> dict[str, Recorded]:
    return {name: argument(shapes[name], network.inputs[name].dtype) for name in used}


def _params(network: Network, nodes: Sequence[Node]) -> dict[str, Recorded]:
    """All parameters that are trained, and those that these nodes use."""
    used = {*network.trainable, *(i for n in nodes for i in n.inputs)}
    return {
        name: argument(value.shape, value.dtype)
        for name, value in network.params.items()
        if name in used
    }


def _flat_param(network: Network) -> dict[str, Recorded]:
    params = [network.params[name] for name in network.trainable]
    return {FLAT: argument((sum(p.size for p in params),), params[0].dtype)}


def _new(values: Mapping[str, Recorded]) -> dict[str, Recorded]:
    return {NEW + name: value for name, value in values.items()}
