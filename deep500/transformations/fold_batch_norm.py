"""Normalisation by fixed statistics as part of the convolution before it."""

from dataclasses import replace

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
    params = [str(value) for value in (*conv.inputs[1:], *norm.inputs[1:]) if value is not None]
    own = all(name in network.params and _is_own(network, name) for name in params)
    return conv if own else None


def _uses_statistics(network: Network, norm: Node) -> bool:
    wanted = wanted_values(network)
    others = norm.outputs[1:]
    return any(name in wanted or network.consumers(name) for name in others)


def _is_own(network: Network, param: str) -> bool:
    """Whether one node alone takes a parameter, and nothing replaces it after a step."""
    is_state = param in network.state_updates or param in wanted_values(network)
    return len(network.consumers(param)) == 1 and not is_state


def _fold(network: Network, conv: Node, norm: Node) -> None:
    weight, bias = str(conv.inputs[1]), _bias(network, conv)
    params = [network.params[str(name)].astype(np.float64) for name in norm.inputs[1:]]
    scale, shift, mean, variance = params
    factor = scale / np.sqrt(variance + norm.operator.settings["epsilon"])
    old = network.params[weight]
    per_channel = factor.reshape(-1, *[1] * (old.ndim - 1))
    new_bias = (network.params[bias] - mean) * factor + shift
    network.params[weight] = (old * per_channel).astype(old.dtype)
    network.params[bias] = new_bias.astype(old.dtype)
    network.remove_node(norm.name)
    network.remove_node(conv.name)
    for name in {str(value) for value in norm.inputs[1:]}:
        del network.params[name]
    network.trainable = [name for name in network.trainable if name in network.params]
    folded = replace(conv, inputs=(*conv.inputs[:2], bias), outputs=norm.outputs[:1])
    network.add_node(folded.operator, folded.inputs, folded.outputs, folded.name)


def _bias(network: Network, conv: Node) -> str:
    """The name of the convolution's bias, which starts at zero if it had none."""
    if len(conv.inputs) > 2 and conv.inputs[2] is not None:
        return str(conv.inputs[2])
    weight = network.params[str(conv.inputs[1])]
    name = f"{conv.name}.folded_bias"
    zeros = np.zeros(weight.shape[0], weight.dtype)
    return network.add_param(name, zeros, trainable=conv.inputs[1] in network.trainable)
