"""Networks as ONNX graphs: for inference, with the backward pass, and with an optimizer's update behind it.

All are for one shape of every input. Parameters are inputs of the graphs, so that they can change between runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from ...contracts import tape
from ...contracts.network import Network, Node
from ...contracts.operator import Tensor
from ...contracts.optimizer import Optimizer
from . import FRAMEWORK
from .namespace import (
    Recorder,
    argument,
    build,
    node,
)
from .nodes import has_kernel
from .recorded import Recorded

Shapes = Mapping[str, Sequence[int]]
FLAT = "deep500:flat"  # all trained parameters in one vector
STEP = "deep500:step"  # the count of steps, an input
NEW = "deep500:new:"  # what begins the name of an output that replaces an input
XP = Recorder()


def inference_model(network: Network, outputs: Sequence[str], shapes: Shapes) -> onnx.ModelProto:
    """These outputs, in evaluation mode."""
    nodes, used = network.part(outputs, training=False)
    inputs = _inputs(network, used, shapes) | _params(network, nodes)
    found, _ = tape.forward(XP, nodes, inputs, outputs, _kernel(training=False), record=False)
    return build(inputs, found)


def backward_model(
    network: Network, y: str, shapes: Shapes, training: bool = True
) -> onnx.ModelProto:
    """The network's outputs, what replaces its running statistics, and the gradients of y under their own names."""
    inputs, found, grads, new = _differentiated(network, y, shapes, training)
    named = {name: grads[param] for param, name in network.gradient(y)}
    return build(inputs, found | _new(new) | named)


def step_model(
    network: Network, optimizer: Optimizer, y: str, shapes: Shapes, training: bool = True
) -> onnx.ModelProto:
    """A whole training step: outputs, and what replaces the parameters and the optimizer's state.

    An elementwise rule goes over all parameters as one vector, FLAT, which is one more input.
    """
    inputs, found, grads, new = _differentiated(network, y, shapes, training)
    kinds, step = state_kinds(network, optimizer), argument((), "float32")
    states = {
        name: {key: argument(kind.shape, kind.dtype) for key, kind in own.items()}
        for name, own in kinds.items()
    }
    params = {name: inputs[name] for name in network.trainable}
    if is_flat(network, optimizer):
        params, grads = (
            _flat_param(network),
            {FLAT: XP.concat([XP.reshape(g, (-1,)) for g in grads.values()])},
        )
    for name, param in params.items():
        new[name], after = optimizer.update(XP, param, grads[name], states[name], step)
        new |= {f"{name}.{key}": value for key, value in after.items()}
    given = {f"{name}.{key}": value for name, own in states.items() for key, value in own.items()}
    return build(inputs | params | given | {STEP: step}, found | _new(new))


def state_model(network: Network, optimizer: Optimizer) -> onnx.ModelProto:
    """The optimizer's state before the first step, under the names "parameter.key"."""
    params = _flat_param(network) if is_flat(network, optimizer) else _params(network, ())
    return build(
        params,
        {
            f"{name}.{key}": value
            for name, param in params.items()
            for key, value in optimizer.init(XP, param).items()
        },
    )


def state_kinds(network: Network, optimizer: Optimizer) -> dict[str, dict[str, Tensor]]:
    """Shape and dtype of the optimizer's state, by parameter and key."""
    params = _flat_param(network) if is_flat(network, optimizer) else _params(network, ())
    return {
        name: {
            key: Tensor(value.shape, value.dtype.name)
            for key, value in optimizer.init(XP, param).items()
        }
        for name, param in params.items()
    }


def is_flat(network: Network, optimizer: Optimizer) -> bool:
    """Whether the optimizer's rule goes over all parameters as one vector."""
    return (
        optimizer.elementwise
        and len({network.params[name].dtype for name in network.trainable}) == 1
    )


def is_native(node: Node, dtypes: Sequence[str | None], training: bool) -> bool:
    """Whether a node stays one: ONNX Runtime has a kernel, and backward needs nothing that only our formula gives."""
    operator = node.operator
    if training and not {*operator.saved}.isdisjoint(operator.wanted):
        return False
    return has_kernel(operator, dtypes)


def _differentiated(
    network: Network, y: str, shapes: Shapes, training: bool
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
    found, record = tape.forward(XP, nodes, inputs, kept, _kernel(training=True))
    by = {name: inputs[name] for name in network.trainable}
    grads = tape.backward(XP, record, y, tape.seed(XP, found[y], y), by)
    return (
        inputs,
        {n: found[n] for n in outputs},
        grads,
        {n: found[value] for n, value in updates.items()},
    )


def _kernel(training: bool) -> tape.Kernel:
    def kernel(where: Node, inputs: Sequence[Any]) -> tuple:
        operator = where.operator
        dtypes = [x.dtype.name if isinstance(x, Recorded) else None for x in inputs]
        if not is_native(where, dtypes, training):
            return FRAMEWORK.formula(operator)(*inputs)
        asked = [
            i + 1 for i, name in enumerate(operator.outputs) if training and name in operator.wanted
        ]
        return node(
            operator, inputs, None if operator.variadic else max([len(where.outputs), *asked])
        )

    return kernel


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
