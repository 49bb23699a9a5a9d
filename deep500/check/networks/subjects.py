"""Prepares a network for differentiation: without a loss it gets a scalar output that depends on all others."""

from collections.abc import Mapping

import numpy as np

from ...contracts.network import Network
from ...errors import Deep500Error
from ..operators.examples import generator
from ..operators.formats import is_float
from .one_node import add_probe, probe_dtype, weight_name
from .truth import Truth

LOSS = "loss"
SUM = "deep500.sum"  # of all outputs, if there is no loss


def differentiated(
    network: Network,
    data: Mapping[str, np.ndarray],
    seed: int,
    y: str | None,
    counterparts: Mapping[str, str] | None = None,
) -> tuple[Network, str | None]:
    """The network and the scalar whose gradients are compared: its loss, or a randomly weighted sum of its outputs.

    An output's weights are drawn by its name, or by that of its counterpart in another network.
    The scalar is None if no output is a float. Raises `Deep500Error` if there is no output `y`.
    """
    if y is not None and y not in network.outputs:
        names = ", ".join(network.outputs)
        raise Deep500Error(f"the network has no output {y!r}; there are: {names}")
    if y is None and LOSS in network.outputs:
        y = LOSS
    if y is not None:
        return network, y
    outputs = _float_outputs(network, data, seed)
    if not outputs:
        return network, None
    twin = network.copy()
    dtypes = {name: value.dtype.name for name, value in outputs.items()}
    dtype = probe_dtype(dtypes.values())
    for name, value in outputs.items():
        key = (counterparts or {}).get(name, name)
        rng = generator("probe", key, seed)
        weights = rng.standard_normal(value.shape).astype(dtype)
        twin.add_param(weight_name(name, SUM), weights, trainable=False)
    y = add_probe(twin, dtypes, SUM)
    twin.add_output(y)
    return twin, y


def _float_outputs(
    network: Network, data: Mapping[str, np.ndarray], seed: int
) -> dict[str, np.ndarray]:
    truth = Truth(network, None, data, seed)
    for _ in truth.forward():
        pass
    outputs = {}
    for name in network.outputs:
        value = truth.values[name]
        if is_float(value):
            outputs[name] = value
    return outputs
