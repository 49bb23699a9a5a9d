"""Normalisation by fixed statistics as part of the convolution before it."""

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._editing import wanted_values


class FoldBatchNorm(Transformation):
    """Scales and shifts the weights of a convolution as the BatchNormalization behind it does, which is removed.

    Only where that uses running statistics: one in training mode is left as it is (`EvaluationMode` changes it). The
    parameters of the normalisation vanish; those of the convolution keep their names, and are trained if they were.
    """

    def apply(self, network: Network) -> None:
        for norm in network.nodes:
            conv = _convolution_before(network, norm)
            if conv is not None:
                _fold(network, conv, norm)


def _convolution_before(network: Network, norm: Node) -> Node | None:
    """The convolution that a BatchNormalization can become part of; None if there is none."""
    if type(norm.operator).__name__ != "BatchNormalization":
        return None
    if norm.operator.settings["training_mode"] or _uses_statistics(network, norm):
        return None
    conv = network.producer(str(norm.inputs[0]))
    if conv is None or type(conv.operator).__name__ != "Conv":
        return None
    result = conv.outputs[0]
    if len(network.consumers(result)) > 1 or result in wanted_values(network):
        return None
    params = [*conv.inputs[1:], *norm.inputs[1:]]
    if not all(value is None or _is_own(network, str(value)) for value in params):
        return None
    return conv


def _uses_statistics(network: Network, norm: Node) -> bool:
    wanted = wanted_values(network)
    others = norm.outputs[1:]
    return any(name in wanted or network.consumers(name) for name in others)


def _is_own(network: Network, param: str) -> bool:
    """Whether it is a parameter that one node alone takes, and that nothing replaces after a step."""
    if param not in network.params or param in network.state_updates:
        return False
    return len(network.consumers(param)) == 1 and param not in wanted_values(network)


def _fold(network: Network, conv: Node, norm: Node) -> None:
    weight = str(conv.inputs[1])
    bias = _bias(network, conv)
    params = [str(name) for name in norm.inputs[1:]]
    _scale_and_shift(network, weight, bias, params, norm.operator.settings["epsilon"])
    network.remove_node(norm.name)
    network.remove_node(conv.name)
    for name in params:
        network.params.pop(name, None)
    network.trainable = [name for name in network.trainable if name in network.params]
    inputs = (*conv.inputs[:2], bias)
    network.add_node(conv.operator, inputs, norm.outputs[:1], conv.name)


def _scale_and_shift(
    network: Network, weight: str, bias: str, params: list[str], epsilon: float
) -> None:
    """The parameters of a convolution that normalises its result; computed in float64."""
    scale, shift, mean, variance = (
        network.params[name].astype(float) for name in params
    )
    old = network.params[weight]
    factor = scale / np.sqrt(variance + epsilon)
    per_channel = factor.reshape(-1, *[1] * (old.ndim - 1))
    new_weight = old * per_channel
    new_bias = (network.params[bias] - mean) * factor + shift
    network.params[weight] = new_weight.astype(old.dtype)
    network.params[bias] = new_bias.astype(old.dtype)


def _bias(network: Network, conv: Node) -> str:
    """The name of the convolution's bias, which starts at zero if it had none."""
    if len(conv.inputs) > 2 and conv.inputs[2] is not None:
        return str(conv.inputs[2])
    weight = network.params[str(conv.inputs[1])]
    zeros = np.zeros(weight.shape[0], weight.dtype)
    is_trained = conv.inputs[1] in network.trainable
    return network.add_param(f"{conv.name}.folded_bias", zeros, is_trained)
