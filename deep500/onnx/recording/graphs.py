"""Records networks as ONNX graphs: for inference, with the backward pass, and with an optimizer's update behind it.

All are for fixed input shapes. Parameters are inputs of the graphs, so that they can change between runs.
`xp` is the namespace that records; its kernels decide which nodes are recorded as ONNX nodes of the same name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from ...contracts.dtypes import name_of
from ...contracts.network import Network, Node
from ...contracts.operator import Operator, TensorSpec
from ...contracts.optimizer import Optimizer
from ...errors import Unsupported
from ...graph import tape
from .arrays import Recorded, argument, build
from .namespace import OnnxRecorder
from .nodes import dtypes_of, formula, specs_of
from .nodes import node as record_operator

Shapes = Mapping[str, Sequence[int]]
FLAT = "deep500:flat"  # all trained parameters in one vector
STEP = "deep500:step"  # the count of steps, an input
# prefix of the names of inputs that are gradients
GRADIENT = "deep500:gradient:"
NEW = "deep500:new:"  # prefix of the names of outputs that replace inputs


def inference_model(
    xp: OnnxRecorder,
    network: Network,
    outputs: Sequence[str],
    shapes: Shapes,
    implementations: dict[str, str] | None = None,
) -> onnx.ModelProto:
    """A model of these outputs in evaluation mode.

    Here and below, `implementations` is filled with "native" or "composed" for each node, as it was recorded.
    """
    nodes, used = network.part(outputs, training=False)
    inputs = _inputs(network, used, shapes) | _params(network, nodes)
    record = kernel(xp, False, implementations)
    results, _ = tape.forward(xp, nodes, inputs, outputs, record, record=False)
    return build(inputs, results)


def backward_model(
    xp: OnnxRecorder,
    network: Network,
    y: str,
    shapes: Shapes,
    training: bool = True,
    implementations: dict[str, str] | None = None,
) -> onnx.ModelProto:
    """A model of the network's outputs, its new running statistics, and the gradients of y under their own names."""
    inputs, outputs, gradients, statistics = _differentiated(
        xp, network, y, shapes, training, implementations
    )
    named_gradients = {}
    for param, name in network.gradient(y):
        named_gradients[name] = gradients[param]
    return build(inputs, outputs | _new(statistics) | named_gradients)


def step_model(
    xp: OnnxRecorder,
    network: Network,
    optimizer: Optimizer,
    y: str,
    shapes: Shapes,
    training: bool = True,
    implementations: dict[str, str] | None = None,
) -> onnx.ModelProto:
    """A model of a whole training step: outputs, and the new parameters and state of the optimizer.

    An elementwise rule is applied to all parameters as one vector, FLAT, which is one more input.
    """
    inputs, outputs, gradients, statistics = _differentiated(
        xp, network, y, shapes, training, implementations
    )
    params = {name: inputs[name] for name in network.trainable}
    if is_flat(xp, network, optimizer):
        params = _updated_params(xp, network, optimizer)
        gradients = {FLAT: _flat_gradient(xp, network, gradients)}
    more_inputs, updates = _updates(xp, network, optimizer, params, gradients)
    all_inputs = inputs | params | more_inputs
    all_outputs = outputs | _new(statistics | updates)
    return build(all_inputs, all_outputs)


def update_model(
    xp: OnnxRecorder, network: Network, optimizer: Optimizer
) -> onnx.ModelProto:
    """A model of the second half of a step: new parameters and state from the old ones and the gradients.

    Gradients are inputs whose names begin with GRADIENT.
    """
    params = _updated_params(xp, network, optimizer)
    gradients = {}
    gradient_inputs = {}
    for name, param in params.items():
        gradient = argument(param.shape, param.dtype)
        gradients[name] = gradient
        gradient_inputs[GRADIENT + name] = gradient
    more_inputs, updates = _updates(xp, network, optimizer, params, gradients)
    return build(params | gradient_inputs | more_inputs, _new(updates))


def _updates(
    xp: OnnxRecorder,
    network: Network,
    optimizer: Optimizer,
    params: Mapping[str, Recorded],
    gradients: Mapping[str, Recorded],
) -> tuple[dict[str, Recorded], dict[str, Recorded]]:
    """Record the optimizer's rule; returns the inputs that it needs besides, and the new parameters and state."""
    step = argument((), "float32")
    inputs = {STEP: step}
    states: dict[str, dict[str, Recorded]] = {}
    for name, specs in state_kinds(xp, network, optimizer).items():
        state = {}
        for key, spec in specs.items():
            state[key] = argument(spec.shape, spec.dtype)
        inputs |= _prefixed(name, state)
        states[name] = state
    results = {}
    updates = optimizer.updates(xp, params, gradients, states, step)
    for name, param, state in updates:
        results[name] = param
        results |= _prefixed(name, state)
    return inputs, results


def _prefixed(name: str, state: Mapping[str, Recorded]) -> dict[str, Recorded]:
    """The state of one parameter under the names "parameter.key"."""
    return {f"{name}.{key}": value for key, value in state.items()}


def state_model(
    xp: OnnxRecorder, network: Network, optimizer: Optimizer
) -> onnx.ModelProto:
    """A model of the optimizer's state before the first step, under the names "parameter.key"."""
    params = _updated_params(xp, network, optimizer)
    state: dict[str, Recorded] = {}
    for name, param in params.items():
        initial = optimizer.init_named(xp, name, param)
        state |= _prefixed(name, initial)
    return build(params, state)


def state_kinds(
    xp: OnnxRecorder, network: Network, optimizer: Optimizer
) -> dict[str, dict[str, TensorSpec]]:
    """Shape and dtype of the optimizer's state, by parameter and key."""
    specs: dict[str, dict[str, TensorSpec]] = {}
    for name, param in _updated_params(xp, network, optimizer).items():
        initial = optimizer.init_named(xp, name, param)
        specs[name] = {}
        for key, value in initial.items():
            specs[name][key] = TensorSpec(value.shape, value.dtype.name)
    return specs


def is_flat(xp: OnnxRecorder, network: Network, optimizer: Optimizer) -> bool:
    """Whether the optimizer's rule is applied to all parameters as one vector."""
    if not optimizer.elementwise or not xp.kernels.one_vector:
        return False
    return len(network.layout().sizes) == 1


def is_native(
    xp: OnnxRecorder,
    operator: Operator,
    dtypes: Sequence[str | None],
    training: bool,
) -> bool:
    """Whether a node is recorded as itself: it has a kernel, and backward needs nothing that only the formula gives."""
    if training and not {*operator.saved}.isdisjoint(operator.wanted):
        return False
    return xp.kernels.has_kernel(operator, dtypes)


def _differentiated(
    xp: OnnxRecorder,
    network: Network,
    y: str,
    shapes: Shapes,
    training: bool,
    implementations: dict[str, str] | None,
) -> tuple[dict, dict, dict, dict]:
    """Record forward and backward pass; returns inputs, outputs, gradients by parameter, and new running statistics."""
    updates = network.state_updates if training else {}
    output_names = []
    for name in network.outputs:
        if name not in network.params and name not in network.inputs:
            output_names.append(name)
    names = (*output_names, y, *updates.values())
    needed = [*dict.fromkeys(names)]  # each once
    nodes, used = network.part(needed, training)
    inputs = _inputs(network, used, shapes) | _params(network, nodes)
    record_node = kernel(xp, True, implementations)
    values, record = tape.forward(xp, nodes, inputs, needed, record_node)
    trained = {name: inputs[name] for name in network.trainable}
    try:
        seed = tape.seed(xp, values[y], y)
        gradients = tape.backward(xp, record, y, seed, trained)
    except TypeError as error:
        # a shape that is not known was taken for one that is
        _refuse_unknown_shapes(record)
        raise error
    outputs = {name: values[name] for name in output_names}
    statistics = {name: values[new] for name, new in updates.items()}
    return inputs, outputs, gradients, statistics


def kernel(
    xp: OnnxRecorder,
    training: bool,
    implementations: dict[str, str] | None = None,
) -> tape.Kernel:
    """The function by which the tape records a node: as itself if `is_native` says so, else by its formula."""

    def record(node: Node, inputs: Sequence[Any]) -> tuple:
        operator = node.operator
        results = None
        if is_native(xp, operator, dtypes_of(inputs), training):
            results = _native_results(xp, node, inputs, training)
        implementation = "native"
        if results is None:
            implementation = "composed"
        if implementations is not None:
            implementations[node.name] = implementation
        if results is None:
            results = formula(xp, operator)(*inputs)
        return results

    return record


def _native_results(
    xp: OnnxRecorder, node: Node, inputs: Sequence[Any], training: bool
) -> tuple[Recorded, ...] | None:
    """The results of the ONNX node; None if ONNX gives fewer, or in other dtypes than the derivative needs.

    ONNX's BatchNormalization gives its statistics in training mode only, its LayerNormalization of float64 in float32.
    """
    operator = node.operator
    if operator.variadic:
        return record_operator(xp, operator, inputs)
    if not training:
        results = record_operator(xp, operator, inputs, len(node.outputs))
        return results if len(results) == len(node.outputs) else None
    results = record_operator(xp, operator, inputs, _result_count(node))
    if len(results) > 1 and operator.differentiable:
        specs = operator.infer(*specs_of(inputs))
        expected = [name_of(spec.dtype) for spec in specs]
        dtypes = [result.dtype.name for result in results]
        if dtypes != expected[: len(results)]:
            return None
    return results


def _refuse_unknown_shapes(record: Sequence[tape.TapeEntry]) -> None:
    for entry in record:
        if any(None in result.shape for result in entry.results):
            operator = type(entry.node.operator).__name__
            raise Unsupported(
                f"a backward pass is recorded for fixed shapes, and what comes out of the {operator} "
                f"{entry.node.name!r} has a shape that depends on values: train it on reference or pytorch"
            )


def _result_count(node: Node) -> int:
    """How many results a node has to give, including all that its derivative needs.

    Backward may need a result that nobody uses, or its gradient, which is zeros of the result's shape.
    """
    backward_inputs = node.operator.wanted
    count = len(node.outputs)
    for position, name in enumerate(node.operator.outputs, start=1):
        if name in backward_inputs or f"d{name}" in backward_inputs:
            count = max(count, position)
    return count


def _inputs(
    network: Network, used: Sequence[str], shapes: Shapes
) -> dict[str, Recorded]:
    arguments = {}
    for name in used:
        dtype = network.inputs[name].dtype
        arguments[name] = argument(shapes[name], dtype)
    return arguments


def _params(network: Network, nodes: Sequence[Node]) -> dict[str, Recorded]:
    """Arguments for all trained parameters and those that these nodes use."""
    used: set[Any] = {*network.trainable}
    for node in nodes:
        used.update(node.inputs)
    arguments = {}
    for name, value in network.params.items():
        if name in used:
            arguments[name] = argument(value.shape, value.dtype)
    return arguments


def _updated_params(
    xp: OnnxRecorder, network: Network, optimizer: Optimizer
) -> dict[str, Recorded]:
    """Arguments for what the optimizer's rule is applied to: every trained parameter, or all of them as one vector."""
    if is_flat(xp, network, optimizer):
        [(dtype, size)] = network.layout().sizes.items()
        return {FLAT: argument((size,), dtype)}
    arguments = {}
    for name in network.trainable:
        param = network.params[name]
        arguments[name] = argument(param.shape, param.dtype)
    return arguments


def _flat_gradient(
    xp: OnnxRecorder, network: Network, gradients: Mapping[str, Recorded]
) -> Recorded:
    """All gradients as one vector, laid out as the parameters are."""
    layout = network.layout()
    [(dtype, size)] = layout.sizes.items()
    parts = []
    end = 0
    for slot in layout.slots:
        gap = slot.offset - end
        if gap > 0:
            parts.append(xp.zeros((gap,), dtype))
        flat = xp.reshape(gradients[slot.name], (-1,))
        parts.append(flat)
        end = slot.stop
    if size > end:
        parts.append(xp.zeros((size - end,), dtype))
    return xp.concat(parts)


def _new(values: Mapping[str, Recorded]) -> dict[str, Recorded]:
    return {NEW + name: value for name, value in values.items()}
