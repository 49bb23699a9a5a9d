"""Networks as ONNX graphs: for inference, with the backward pass, and with an optimizer's update behind it.

All are for one shape of every input. Parameters are inputs of the graphs, so that they can change between runs.
`xp` is the namespace that records; its kernels decide which nodes stay nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from ...contracts import tape
from ...contracts.dtypes import name_of
from ...contracts.network import Network, Node
from ...contracts.operator import Operator, Tensor
from ...contracts.optimizer import Optimizer
from ...errors import Unsupported
from .arrays import Recorded, argument, build
from .namespace import Recorder
from .nodes import dtypes_of, formula, node, specs_of

Shapes = Mapping[str, Sequence[int]]
FLAT = "deep500:flat"  # all trained parameters in one vector
STEP = "deep500:step"  # the count of steps, an input
GRADIENT = "deep500:gradient:"  # what begins the name of an input that is a gradient
NEW = "deep500:new:"  # what begins the name of an output that replaces an input


def inference_model(
    xp: Recorder,
    network: Network,
    outputs: Sequence[str],
    shapes: Shapes,
    words: dict[str, str] | None = None,
) -> onnx.ModelProto:
    """These outputs, in evaluation mode. Here and below, `words` takes up how each node was recorded."""
    nodes, used = network.part(outputs, training=False)
    inputs = _inputs(network, used, shapes) | _params(network, nodes)
    record = kernel(xp, training=False, words=words)
    results, _ = tape.forward(xp, nodes, inputs, outputs, record, record=False)
    return build(inputs, results)


def backward_model(
    xp: Recorder,
    network: Network,
    y: str,
    shapes: Shapes,
    training: bool = True,
    words: dict[str, str] | None = None,
) -> onnx.ModelProto:
    """The network's outputs, what replaces its running statistics, and the gradients of y under their own names."""
    inputs, outputs, gradients, new = _differentiated(
        xp, network, y, shapes, training, words
    )
    named = {name: gradients[param] for param, name in network.gradient(y)}
    return build(inputs, outputs | _new(new) | named)


def step_model(
    xp: Recorder,
    network: Network,
    optimizer: Optimizer,
    y: str,
    shapes: Shapes,
    training: bool = True,
    words: dict[str, str] | None = None,
) -> onnx.ModelProto:
    """A whole training step: outputs, and what replaces the parameters and the optimizer's state.

    An elementwise rule goes over all parameters as one vector, FLAT, which is one more input.
    """
    inputs, outputs, gradients, new = _differentiated(
        xp, network, y, shapes, training, words
    )
    params = {name: inputs[name] for name in network.trainable}
    if is_flat(network, optimizer):
        params = _updated_params(network, optimizer)
        gradients = {FLAT: _flat_gradient(xp, network, gradients)}
    more_inputs, updates = _updates(xp, network, optimizer, params, gradients)
    return build(inputs | params | more_inputs, outputs | _new(new | updates))


def update_model(
    xp: Recorder, network: Network, optimizer: Optimizer
) -> onnx.ModelProto:
    """The second half of a step: from parameters, gradients and the optimizer's state to what replaces them.

    Gradients are inputs whose names begin with GRADIENT.
    """
    params = _updated_params(network, optimizer)
    gradients = {
        name: argument(param.shape, param.dtype) for name, param in params.items()
    }
    more_inputs, updates = _updates(xp, network, optimizer, params, gradients)
    named = {GRADIENT + name: gradient for name, gradient in gradients.items()}
    return build(params | named | more_inputs, _new(updates))


def _updates(
    xp: Recorder,
    network: Network,
    optimizer: Optimizer,
    params: Mapping[str, Recorded],
    gradients: Mapping[str, Recorded],
) -> tuple[dict[str, Recorded], dict[str, Recorded]]:
    """The optimizer's rule: the inputs that it needs besides, and what replaces parameters and state."""
    step = argument((), "float32")
    inputs, new = {STEP: step}, {}
    states = {}
    for name, specs in state_kinds(xp, network, optimizer).items():
        state = {key: argument(spec.shape, spec.dtype) for key, spec in specs.items()}
        inputs |= {f"{name}.{key}": value for key, value in state.items()}
        states[name] = state
    for name, param, state in optimizer.updates(xp, params, gradients, states, step):
        new[name] = param
        new |= {f"{name}.{key}": value for key, value in state.items()}
    return inputs, new


def state_model(
    xp: Recorder, network: Network, optimizer: Optimizer
) -> onnx.ModelProto:
    """The optimizer's state before the first step, under the names "parameter.key"."""
    params = _updated_params(network, optimizer)
    state: dict[str, Recorded] = {}
    for name, param in params.items():
        first = optimizer.init_named(xp, name, param)
        state |= {f"{name}.{key}": value for key, value in first.items()}
    return build(params, state)


def state_kinds(
    xp: Recorder, network: Network, optimizer: Optimizer
) -> dict[str, dict[str, Tensor]]:
    """Shape and dtype of the optimizer's state, by parameter and key."""
    specs = {}
    for name, param in _updated_params(network, optimizer).items():
        first = optimizer.init_named(xp, name, param)
        specs[name] = {key: Tensor(v.shape, v.dtype.name) for key, v in first.items()}
    return specs


def is_flat(network: Network, optimizer: Optimizer) -> bool:
    """Whether the optimizer's rule goes over all parameters as one vector."""
    return optimizer.elementwise and len(network.layout().sizes) == 1


def is_native(
    xp: Recorder, operator: Operator, dtypes: Sequence[str | None], training: bool
) -> bool:
    """Whether a node stays one: it has a kernel, and backward needs nothing that only our formula gives."""
    if training and not {*operator.saved}.isdisjoint(operator.wanted):
        return False
    return xp.kernels.has_kernel(operator, dtypes)


def _differentiated(
    xp: Recorder,
    network: Network,
    y: str,
    shapes: Shapes,
    training: bool,
    words: dict[str, str] | None,
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
    found, record = tape.forward(xp, nodes, inputs, kept, kernel(xp, True, words))
    by = {name: inputs[name] for name in network.trainable}
    try:
        grads = tape.backward(xp, record, y, tape.seed(xp, found[y], y), by)
    except TypeError as error:  # a shape that is not known was taken for one that is
        _refuse_unknown_shapes(record)
        raise error
    return (
        inputs,
        {n: found[n] for n in outputs},
        grads,
        {n: found[value] for n, value in updates.items()},
    )


def kernel(
    xp: Recorder, training: bool, words: dict[str, str] | None = None
) -> tape.Kernel:
    """How the tape records a node: as itself where `is_native` says so, else by its formula."""

    def record(where: Node, inputs: Sequence[Any]) -> tuple:
        operator = where.operator
        results = None
        if is_native(xp, operator, dtypes_of(inputs), training):
            results = _native_results(xp, where, inputs, training)
        if words is not None:
            words[where.name] = "composed" if results is None else "native"
        return formula(xp, operator)(*inputs) if results is None else results

    return record


def _native_results(
    xp: Recorder, where: Node, inputs: Sequence[Any], training: bool
) -> tuple[Recorded, ...] | None:
    """What the node itself gives; None if its derivative needs other dtypes than ONNX's.

    ONNX's LayerNormalization of float64, for one, gives its statistics in float32.
    """
    operator = where.operator
    if operator.variadic:
        return node(xp, operator, inputs)
    if not training:
        return node(xp, operator, inputs, len(where.outputs))
    results = node(xp, operator, inputs, _result_count(where))
    if len(results) > 1 and operator.differentiable:
        own_dtypes = [
            name_of(tensor.dtype) for tensor in operator.infer(*specs_of(inputs))
        ]
        if [y.dtype.name for y in results] != own_dtypes[: len(results)]:
            return None
    return results


def _refuse_unknown_shapes(record: Sequence[tape.Entry]) -> None:
    for entry in record:
        if any(None in result.shape for result in entry.results):
            operator = type(entry.node.operator).__name__
            raise Unsupported(
                f"a backward pass is recorded for fixed shapes, and what comes out of the {operator} "
                f"{entry.node.name!r} has a shape that depends on values: train it on reference or pytorch"
            )


def _result_count(where: Node) -> int:
    """How many results a node has to give, so that its derivative finds what it asks for.

    Backward may ask for a result that nobody uses, or for its gradient, which is zeros of the result's shape.
    """
    wanted = where.operator.wanted
    count = len(where.outputs)
    for place, name in enumerate(where.operator.outputs, start=1):
        if name in wanted or f"d{name}" in wanted:
            count = max(count, place)
    return count


def _inputs(
    network: Network, used: Sequence[str], shapes: Shapes
) -> dict[str, Recorded]:
    return {name: argument(shapes[name], network.inputs[name].dtype) for name in used}


def _params(network: Network, nodes: Sequence[Node]) -> dict[str, Recorded]:
    """All parameters that are trained, and those that these nodes use."""
    used = {*network.trainable, *(i for n in nodes for i in n.inputs)}
    return {
        name: argument(value.shape, value.dtype)
        for name, value in network.params.items()
        if name in used
    }


def _updated_params(network: Network, optimizer: Optimizer) -> dict[str, Recorded]:
    """What the optimizer's rule is applied to: every trained parameter, or all of them as one vector."""
    if not is_flat(network, optimizer):
        params = {name: network.params[name] for name in network.trainable}
        return {name: argument(p.shape, p.dtype) for name, p in params.items()}
    [(dtype, size)] = network.layout().sizes.items()
    return {FLAT: argument((size,), dtype)}


def _flat_gradient(
    xp: Recorder, network: Network, gradients: Mapping[str, Recorded]
) -> Recorded:
    """All gradients as one vector, laid out as the parameters are."""
    layout = network.layout()
    [(dtype, size)] = layout.sizes.items()
    parts, end = [], 0
    for slot in layout.slots:
        if slot.offset > end:
            parts.append(xp.zeros((slot.offset - end,), dtype))
        parts.append(xp.reshape(gradients[slot.name], (-1,)))
        end = slot.stop
    if size > end:
        parts.append(xp.zeros((size - end,), dtype))
    return xp.concat(parts)


def _new(values: Mapping[str, Recorded]) -> dict[str, Recorded]:
    return {NEW + name: value for name, value in values.items()}
