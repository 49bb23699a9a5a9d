"""Training whose gradients never change: every rank has one row, and the loss is linear in the parameters.

One rank with the mean of all gradients moves its parameters by the same step again and again. Ranks that average move
their model as far; a sum instead of a mean, a wrong divisor or a lost residual show as another distance.
"""

from functools import cache

import numpy as np

from ... import registry
from ...contracts.dataset import Split
from ...contracts.network import Network
from ...contracts.scheme import Scheme
from ...distributed.trainer import DistributedTrainer
from ...frameworks import framework
from ...transports.virtual import Virtual
from .trials import SLOWER, communicate, evaluated

PARAMETERS = 64  # in two tensors
STEPS = 64
RATE = 2.0**-6


def mean_step(
    scheme: Scheme, ranks: int, engine: str, seed: int, epochs: int
) -> tuple[np.ndarray, np.ndarray]:
    """How far some epochs move the model of a scheme, and how far one rank with the mean gradient would be moved.

    They are preceded by another epoch, so that gradients and residuals that are still on their way do not count.
    """
    rows = _gradients(len(scheme.trainers(ranks)), seed)
    run = _run(scheme, ranks, engine, rows, seed)
    run.run()
    before = evaluated(run).astype(np.float64)
    communicate(run, epochs)
    moved = evaluated(run).astype(np.float64) - before
    gradient = rows.mean(axis=0)
    expected = run.executor.layout.gather(
        {
            "v": gradient[: PARAMETERS // 2, None],
            "w": gradient[PARAMETERS // 2 :, None],
        }
    )
    [flat] = expected.values()
    return moved, -RATE * STEPS * epochs * flat.astype(np.float64)


def _gradients(ranks: int, seed: int) -> np.ndarray:
    """A row for every rank: of about equal magnitudes, so that no codec may forget the smaller ones.

    Ranks differ a little only, so that the last steps of a long period, which are not averaged yet, do not count.
    """
    random = np.random.default_rng(seed)
    signs = random.choice([-1.0, 1.0], PARAMETERS)
    common = signs * random.uniform(0.5, 1.0, PARAMETERS)
    own = random.uniform(0.9, 1.1, (ranks, PARAMETERS))
    return (common * own).astype(np.float32)


def _run(
    scheme: Scheme, ranks: int, engine: str, rows: np.ndarray, seed: int
) -> DistributedTrainer:
    transport = Virtual(ranks, example=0.002, update=0.001, speed=SLOWER)
    executors = {}
    for rank in range(ranks):
        executors[rank] = framework(engine).executor(_network(), seed=seed)
    data = np.tile(rows, (STEPS, 1))
    half = PARAMETERS // 2
    columns = {"x": data[:, :half], "z": data[:, half:]}
    columns["target"] = np.zeros((len(data), 1), np.float32)
    train = Split(columns)
    others = Split({name: column[:2] for name, column in columns.items()})
    return DistributedTrainer(
        scheme,
        transport,
        executors,
        registry.find("optimizers", "SGD")(RATE),
        splits={"train": train, "validation": others, "test": others},
        sampler=registry.find("samplers", "OrderedSampler")(len(rows)),
        epochs=1,
        events=[],
        task="Regression",
        check_replicas=False,
    )


@cache
def _built_network() -> Network:
    network = Network("linear")
    half = PARAMETERS // 2
    random = np.random.default_rng(0)
    for name, values in (("v", "x"), ("w", "z")):
        network.add_input(values, (0, half), "float32")
        start = random.standard_normal((half, 1)).astype(np.float32)
        network.add_param(name, start)
        network.add_node("MatMul", [values, name], [f"{values} {name}"])
    network.add_node("Add", ["x v", "z w"], ["prediction"])
    network.add_node("ReduceMean", ["prediction"], ["loss"], keepdims=0)
    network.add_output("prediction")
    network.add_output("loss")
    return network


def _network() -> Network:
    return _built_network().copy()
