"""Cuts a network in front of its batch normalisations, whose statistics are those of the whole batch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Unsupported
from .graph import Node

if TYPE_CHECKING:
    from ..contracts.network import Network

KEY = "deep500:key:"  # as in contracts/network.py


@dataclass(frozen=True)
class Norm:
    """A batch normalisation: the values that it takes, and the running statistics that it updates, if it does."""

    node: str
    x: str
    scale: str
    bias: str
    epsilon: float
    momentum: float
    # inputs of the stage that begins with it
    mean: str
    variance: str
    running_mean: str | None
    running_variance: str | None


@dataclass(frozen=True)
class StagePlan:
    """A part of a network: the nodes from one normalisation to the next.

    `inputs` are the values that earlier stages compute for it, `outputs` what it computes for others.
    """

    norm: Norm | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    network: "Network | None"  # None: the whole network


def stage_plans(
    network: "Network", y: str, arrays: Mapping[str, np.ndarray]
) -> list[StagePlan]:
    """The stages of a network that computes the loss y and its outputs; a single one without batch normalisations.

    Raises Unsupported if another operator learns from the whole batch.
    """
    targets = [*dict.fromkeys([*network.outputs, y])]
    nodes, _ = network.part([*targets, *network.state_updates.values()])
    norms = {node.name: _norm(network, node) for node in nodes if _is_norm(node)}
    _check_updates(network, norms)
    if not norms:
        return [StagePlan(None, (), tuple(targets), None)]
    twin = _in_evaluation(network, norms, arrays)
    groups = _groups(nodes, norms)
    plans = []
    for number, group in enumerate(groups):
        computed = _computed(group)
        before = _computed(node for earlier in groups[:number] for node in earlier)
        after = _used(node for later in groups[number + 1 :] for node in later)
        outputs = [name for name in computed if name in after or name in targets]
        norm = norms.get(group[0].name)
        inputs = [name for name in _used(group) if name in before]
        added = [norm.mean, norm.variance] if norm else []
        part = twin.subnetwork([*inputs, *added], outputs)
        plans.append(StagePlan(norm, tuple(inputs), tuple(outputs), part))
    return plans


def _is_norm(node: Node) -> bool:
    is_batch_norm = type(node.operator).__name__ == "BatchNormalization"
    return is_batch_norm and bool(node.operator.settings.get("training_mode"))


def _norm(network: "Network", node: Node) -> Norm:
    x, scale, bias, *_ = node.inputs
    for name in (scale, bias):
        is_own = len(network.consumers(str(name))) == 1
        if name not in network.trainable or not is_own:
            raise Unsupported(
                f"the node {node.name!r} (BatchNormalization) cannot be trained reproducibly: its {name!r} must be "
                "trained, and used by no other node"
            )
    updates = {value: param for param, value in network.state_updates.items()}
    running = [updates.get(value) for value in node.outputs[1:3]]
    running += [None] * (2 - len(running))
    settings: Any = node.operator.settings
    return Norm(
        node.name,
        str(x),
        str(scale),
        str(bias),
        settings["epsilon"],
        settings["momentum"],
        f"{node.name}.mean of the batch",
        f"{node.name}.variance of the batch",
        *running,
    )


def _check_updates(network: "Network", norms: Mapping[str, Norm]) -> None:
    """Raise Unsupported if the step updates something else than running statistics of normalisations."""
    for param, value in network.state_updates.items():
        producer = network.producer(value)
        if producer is None or producer.name not in norms:
            operator = type(producer.operator).__name__ if producer else "the network"
            raise Unsupported(
                f"{operator} sets {param!r} in every step, by the examples of one rank: only BatchNormalization's "
                "statistics can be reproducible"
            )


def _in_evaluation(
    network: "Network", norms: Mapping[str, Norm], arrays: Mapping[str, np.ndarray]
) -> "Network":
    """The network with statistics as inputs of its normalisations, and with its arrays."""
    twin = network.outline()
    twin.params = dict(arrays)
    twin.state_updates = {}
    nodes = []
    for node in network.ordered():
        inputs = [name for name in node.inputs if not str(name).startswith(KEY)]
        node = replace(node, inputs=tuple(inputs))
        if norm := norms.get(node.name):
            shape = arrays[norm.scale].shape
            dtype = str(arrays[norm.scale].dtype)
            inputs = [*node.inputs[:3]]
            for name in (norm.mean, norm.variance):
                twin.add_input(name, shape, dtype)
                inputs.append(name)
            operator = replace(node.operator, training_mode=0)  # type: ignore[call-arg]
            node = replace(node, operator=operator, inputs=tuple(inputs))
            node = replace(node, outputs=node.outputs[:1])
        nodes.append(node)
    for name in [name for name in twin.inputs if name.startswith(KEY)]:
        del twin.inputs[name]
    twin.nodes = tuple(nodes)
    return twin


def _groups(nodes: Sequence[Node], norms: Mapping[str, Norm]) -> list[list[Node]]:
    """The nodes in order; every normalisation begins a group."""
    groups: list[list[Node]] = [[]]
    for node in nodes:
        if node.name in norms and groups[-1]:
            groups.append([])
        groups[-1].append(node)
    return groups


def _computed(nodes: Iterable[Node]) -> dict[str, None]:
    names: dict[str, None] = {}
    for node in nodes:
        names.update(dict.fromkeys(node.outputs))
    return names


def _used(nodes: Iterable[Node]) -> dict[str, None]:
    names: dict[str, None] = {}
    for node in nodes:
        for name in node.inputs:
            if isinstance(name, str):
                names[name] = None
    return names
