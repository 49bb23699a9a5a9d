"""Checks whether frameworks compute the same network, and where they first diverge: forward, backward and one step.

data.py       random inputs within the range that the network accepts
subjects.py   the scalar whose gradients are compared
truth.py      the true values, node by node, in float64 on rounded inputs
nodes.py      every node on every framework; judging.py compares a node's arrays with its own bound
runner.py     what a framework computes; one_node.py makes a network of one node
processes.py  a framework in a child process, which runs server.py; values.py says what they send besides arrays
whole.py      the whole network, with the bound of accumulated.py; stepping.py one step of an optimizer
comparing.py  two forms of one network: files, a native model and its export, or a user's engine (engine.py)
matching.py   which inputs, outputs and parameters of these correspond; folded_weights.py undoes constant folding
node_differences.py  what differs at a node of two networks: attributes, inputs, weights
reproducing.py  the first divergence as a model of one node with a script
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts.executor import Executor
from ...contracts.network import Network
from ...errors import Deep500Error
from ...frameworks import framework as find_framework
from ...frameworks import framework_names
from ..operators.judging import quiet
from ..optimizers.origins import origin_of
from ..optimizers.subjects import as_optimizer
from ..report import CheckReport, Reports
from ..wire import encoded
from .data import checked_data, drawn_data
from .engine import Engine, engine_name, engine_named, engine_of
from .matching import comparable, remarks_on_pairs
from .nodes import Panel, check_nodes
from .processes import OtherProcess, OwnProcess, Process
from .remarks import UNSEEN, remarks_of
from .reproducing import reproduction
from .runner import NetworkRunner
from .stepping import AnyOptimizer, check_step
from .subjects import differentiated
from .truth import Truth
from .two_forms import (
    TrustedNetwork,
    WrappedModel,
    check_against,
    check_engine,
    check_model,
)
from .values import pack
from .whole import check_whole

TIMEOUT_S = 600.0
DEFAULT = ("pytorch",)


def check_network(
    network: Any,
    framework: str | Sequence[str] = (),
    *,
    against: Any = None,
    data: Mapping[str, Any] | None = None,
    y: str | None = None,
    optimizer: Any = "SGD",
    seed: int = 0,
    dimensions: Mapping[str, int] | None = None,
    isolated: bool = True,
    timeout_s: float = TIMEOUT_S,
    progress: Callable[[float, str], None] | None = None,
) -> Reports:
    """Compare frameworks (pytorch alone by default) with float64, node by node: forward, backward and one step.

    `network` is a Network or an ONNX file. `against` is another form of it that is taken as the truth: outputs and
    gradients are compared, and `network` may also be an executor, such as `from_model` makes of a native model. If
    `against` is an engine, a function of a dict of arrays that returns outputs (or its address, "my_engine.py:run"),
    then the network is the truth and the engine's outputs are compared with it.
    `data` holds an array for every input; without it, inputs are drawn by the seed, and `dimensions` gives the sizes of
    open dimensions. Gradients are those of the output `y`: "loss" if there is one, else a random sum of all outputs.
    `optimizer` is given as in `check_optimizer`.
    Every framework runs in a child process, unless that cannot import the operators or the optimizer, or with
    `isolated=False`.
    """
    frameworks = framework_names(framework)
    engine = _engine(against)
    original, subject, remarks = _compared(network, against, engine)
    rule = as_optimizer(optimizer)
    report_progress = progress or (lambda share, text: None)
    sides = []
    with quiet(), ExitStack() as stack:
        arrays = _arrays(original, data, seed, dimensions)
        names = _frameworks(subject, frameworks, against)
        isolated = isolated and _can_be_sent(original, subject)
        if against is None:
            isolated = isolated and origin_of(rule) is not None
        processes = [_process(name, seed, timeout_s, isolated) for name in names]
        for process in processes:
            stack.callback(process.close)
        panel = Panel(original.name, processes, report_progress)
        if engine is not None:
            truth = TrustedNetwork(original, arrays, seed, y)
            asked = _engine_process(engine, seed, timeout_s, isolated)
            stack.callback(asked.close)
            sides = check_engine(truth, asked, panel)
        elif against is None:
            _check_alone(panel, original, arrays, y, seed, rule)
        else:
            truth = TrustedNetwork(original, arrays, seed, y)
            sides = _check_against(panel, subject, truth)
    for name, side in panel.sides.items():
        lost = panel.lost.get(name, "")
        sides.append(replace(side, lost=lost))
    return Reports("network", original.name, sides, remarks, _files(panel))


def _compared(
    network: Any, against: Any, engine: Engine | str | None
) -> tuple[Network, Network | Executor, list[str]]:
    """What is taken as the truth, what is compared with it, and what is known of both."""
    subject = network if isinstance(network, Executor) else _network(network)
    alone = against is None or engine is not None
    original = subject if alone else _network(against)
    if not isinstance(original, Network):
        raise Deep500Error("an executor is checked against a network: give `against=`")
    remarks = remarks_of(original)
    if engine is not None:
        remarks.append(UNSEEN)
    elif isinstance(subject, Executor):
        remarks += _remarks_on_model(original, subject)
    elif against is not None:
        remarks += remarks_of(subject)
        original, subject, unlike = comparable(original, subject)
        remarks += unlike
    # both files may say the same
    return original, subject, list(dict.fromkeys(remarks))


def _check_alone(
    panel: Panel,
    network: Network,
    data: Mapping[str, np.ndarray],
    y: str | None,
    seed: int,
    optimizer: AnyOptimizer,
) -> None:
    subject, scalar = differentiated(network, data, seed, y)
    truth = Truth(subject, scalar, data, seed)
    check_nodes(panel, truth)
    panel.give_up_crashed()
    if truth.complete and truth.trainable:
        check_step(panel, subject, truth, data, optimizer)
    check_whole(panel, subject, truth, data)


def _check_against(
    panel: Panel, subject: Network | Executor, original: TrustedNetwork
) -> list[CheckReport]:
    if isinstance(subject, Executor):
        return check_model(original, WrappedModel(subject))
    return check_against(original, subject, panel)


def _remarks_on_model(original: Network, model: Executor) -> list[str]:
    structure = model.structure
    return remarks_on_pairs(original, structure, structure.trainable)


def _engine(against: Any) -> Engine | str | None:
    """The engine, or its address in a file; None if `against` is a network."""
    if isinstance(against, str) and ".py:" in against:
        return against
    is_network = isinstance(against, Network | str | bytes | os.PathLike)
    if is_network or not callable(against):
        return None
    return engine_of(against)


def _engine_process(
    engine: Engine | str, seed: int, timeout_s: float, isolated: bool
) -> Process:
    if isinstance(engine, Engine):
        return OwnProcess(engine.name, engine)
    name = engine_name(engine)
    if isolated:
        place, _, function = engine.rpartition(":")
        address = f"{Path(place).absolute()}:{function}"
        return OtherProcess(name, seed, timeout_s, address)
    return OwnProcess(name, engine_named(engine))


def _network(network: Any) -> Network:
    if isinstance(network, Network):
        return network
    return Network.from_onnx(network)


def _arrays(
    network: Network,
    data: Mapping[str, Any] | None,
    seed: int,
    dimensions: Mapping[str, int] | None,
) -> dict[str, np.ndarray]:
    if data is None:
        return drawn_data(network, seed, dimensions)
    return checked_data(network, data)


def _frameworks(subject: Any, frameworks: Sequence[str], against: Any) -> Sequence[str]:
    """The frameworks to run on: none for an executor, and by default none for a comparison of two networks."""
    if isinstance(subject, Executor):
        return ()
    if frameworks or against is not None:
        return frameworks
    return DEFAULT


def _files(panel: Panel) -> dict[str, bytes]:
    """The files to reproduce the first divergence."""
    for direction in ("forward", "backward"):
        if direction in panel.evidence:
            return reproduction(*panel.evidence[direction])
    return {}


def _can_be_sent(*subjects: Any) -> bool:
    """Whether another process can import the classes of all operators of these networks."""
    networks = [subject.nodes for subject in subjects if isinstance(subject, Network)]
    try:
        encoded(networks, pack)
    except TypeError:
        return False
    return True


def _process(framework: str, seed: int, timeout_s: float, isolated: bool) -> Process:
    if isolated:
        return OtherProcess(framework, seed, timeout_s)
    return OwnProcess(framework, NetworkRunner(find_framework(framework), seed))
