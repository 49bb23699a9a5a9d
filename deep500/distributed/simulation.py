"""A scheme or a program on virtual ranks: what comes out, when, and what was sent."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ..contracts.fitted_loggp import FittedLogGP
from ..contracts.loggp import LogGP
from ..contracts.metric import History
from ..contracts.recipe import Recipe
from ..contracts.scheme import Scheme
from ..contracts.transport import Program
from ..errors import Deep500Error
from ..transports.virtual import Virtual
from .blocking import blocking
from .optimizer_scheme import scheme_given
from .recipe_training import distributed_trainer
from .trainer import DistributedTrainer

SIMULATED_EPOCHS = 1


@dataclass(frozen=True)
class Simulation:
    """What a simulation gave, by rank: results, the virtual seconds that it waited for others, bytes and messages sent.

    `seconds` is the virtual time of the slowest rank. Of a recipe, whose `history` is there, time and traffic are those
    of training: evaluation, statistics and the first broadcast are not counted.
    """

    results: dict[int, Any]
    seconds: float
    waited: dict[int, float]
    bytes: dict[int, int]
    messages: dict[int, int]
    history: History | None = None


def simulate(
    scheme: Scheme | str | type | None,
    recipe_or_program: Recipe | Callable[..., Any],
    ranks: int = 8,
    network: LogGP | None = None,
    seed: int = 1,
    *,
    epochs: int = SIMULATED_EPOCHS,
    compute: float = 0.0,
    update: float = 0.0,
    speed: Mapping[int, float] | Sequence[float] = (),
    kill: Mapping[int, int] | None = None,
) -> Simulation:
    """Run a recipe by a scheme, or a program (then the scheme may be None), on virtual ranks.

    A program is a generator function of (rank, size), or an ordinary function of a Communication. Virtual seconds: of a
    recipe, `compute` is what backprop costs for one example and `update` what one update costs, so a rank with half of
    the batch computes half as long; of a program, `compute` is what a Compute step costs that does not say it.
    `speed` says how many times longer a rank takes, `kill` when a rank dies. The results of a recipe are the parameters
    of every rank. A network that `d5 bench collective` has fitted to another machine gives a warning.
    """
    _check_count("seed", seed, 0)
    _check_count("epochs", epochs, 1)
    if scheme is not None:
        scheme = scheme_given(scheme)
    if isinstance(network, FittedLogGP):
        network.warn_elsewhere()
    virtual = Virtual(
        ranks,
        network,
        compute=compute,
        example=compute,
        update=update,
        speed=speed,
        kill=kill,
    )
    if isinstance(recipe_or_program, Recipe):
        if scheme is None:
            raise Deep500Error(
                "a recipe is simulated by a scheme: give one, as in d5.schemes.AllReduce()"
            )
        trainer = distributed_trainer(recipe_or_program, scheme, virtual, seed, epochs)
        return _of_training(trainer, trainer.run())
    if not callable(recipe_or_program):
        raise Deep500Error(
            f"{recipe_or_program!r} is neither a d5.Recipe nor a program: give a function"
        )
    results = virtual.run(_program(recipe_or_program, ranks))
    sent = {rank: traffic.sent_bytes for rank, traffic in virtual.traffic.items()}
    messages = {
        rank: traffic.sent_messages for rank, traffic in virtual.traffic.items()
    }
    return Simulation(results, virtual.seconds, virtual.waited, sent, messages)


def _check_count(name: str, value: Any, least: int) -> None:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if is_whole and value >= least:
        return
    raise Deep500Error(f"{name}={value!r:.60}: give a whole number from {least} up")


def _of_training(trainer: DistributedTrainer, history: History) -> Simulation:
    results, waited, sent, messages = {}, {}, {}, {}
    for rank, replica in trainer.replicas.items():
        results[rank] = replica.executor.arrays()
        waited[rank] = math.fsum(history.series[f"waiting of rank {rank}"])
        sent[rank] = int(history.counters[f"bytes of rank {rank}"])
        messages[rank] = int(history.counters[f"messages of rank {rank}"])
    seconds = math.fsum(history.step_seconds)
    return Simulation(results, seconds, waited, sent, messages, history)


def _program(function: Callable[..., Any], size: int) -> Callable[[int], Program]:
    if inspect.isgeneratorfunction(function):
        return lambda rank: function(rank, size)
    return lambda rank: blocking(function, rank, size)
