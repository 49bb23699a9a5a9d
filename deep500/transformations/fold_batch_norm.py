"""Folds normalisation by fixed statistics into the convolution before it."""

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._editing import required_values


class FoldBatchNorm(Transformation):
    """Scales and shifts the weights of a convolution as the BatchNormalization behind it does, which is removed.

    A BatchNormalization in training mode stays as it is (`EvaluationMode` changes it). The parameters of the
    normalisation are removed; those of the convolution keep their names, and are trained if they were.
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
    if norm.operator.settings["training_mode"]:
        return None
    if _uses_statistics(network, norm):
        return None
    conv = network.producer(str(norm.inputs[0]))
    if conv is None or type(conv.operator).__name__ != "Conv":
        return None
    result = conv.outputs[0]
    if result in required_values(network):
        return None
    if len(network.consumers(result)) > 1:
        return None
    for param in (*conv.inputs[1:], *norm.inputs[1:]):
        if param is not None and not _is_used_once(network, str(param)):
            return None
    return conv


def _uses_statistics(network: Network, norm: Node) -> bool:
    """Whether the running statistics that a BatchNormalization returns are used."""
    required = required_values(network)
    statistics = norm.outputs[1:]
    if not required.isdisjoint(statistics):
        return True
    return any(network.consumers(name) for name in statistics)


def _is_used_once(network: Network, param: str) -> bool:
    """Whether it is a parameter that only one node uses, and that nothing replaces after a step."""
    if param not in network.params or param in network.state_updates:
        return False
    if param in required_values(network):
        return False
    return len(network.consumers(param)) == 1


def _fold(network: Network, conv: Node, norm: Node) -> None:
    weight = str(conv.inputs[1])
    bias = _bias(network, conv)
    params = [str(name) for name in norm.inputs[1:]]
    epsilon = norm.operator.settings["epsilon"]
    _scale_and_shift(network, weight, bias, params, epsilon)
    network.remove_node(norm.name)
    network.remove_node(conv.name)
    for name in params:
        network.params.pop(name, None)
    network.trainable = [name for name in network.trainable if name in network.params]
    inputs = (*conv.inputs[:2], bias)
    outputs = norm.outputs[:1]
    network.add_node(conv.operator, inputs, outputs, conv.name)


def _scale_and_shift(
    network: Network, weight: str, bias: str, params: list[str], epsilon: float
) -> None:
    """Change the parameters of a convolution so that it normalises its result; computed in float64."""
    arrays = [network.params[name].astype(float) for name in params]
    scale, shift, mean, variance = arrays
    old = network.params[weight]
    factor = scale / np.sqrt(variance + epsilon)
    ones = [1] * (old.ndim - 1)
    per_channel = factor.reshape(-1, *ones)
    new_weight = old * per_channel
    new_bias = (network.params[bias] - mean) * factor + shift
    network.params[weight] = new_weight.astype(old.dtype)
    network.params[bias] = new_bias.astype(old.dtype)


def _bias(network: Network, conv: Node) -> str:
    """The name of the convolution's bias; one of zeros is added if it has none."""
    if len(conv.inputs) > 2 and conv.inputs[2] is not None:
        return str(conv.inputs[2])
    weight = network.params[str(conv.inputs[1])]
    zeros = np.zeros(weight.shape[0], weight.dtype)
    is_trained = conv.inputs[1] in network.trainable
    return network.add_param(f"{conv.name}.folded_bias", zeros, is_trained)
