"""A scheme or a program on virtual ranks: what comes out, when, and what was sent."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..contracts.loggp import LogGP
from ..contracts.metric import History
from ..contracts.recipe import Recipe
from ..contracts.scheme import Scheme
from ..contracts.transport import Program, Traffic
from ..errors import Deep500Error
from ..transports.virtual import Virtual
from .blocking import blocking
from .recipe_training import distributed_trainer

SIMULATED_EPOCHS = 1


@dataclass(frozen=True)
class Simulation:
    """What a simulation gave, by rank: results, clocks, traffic. `history` is that of a recipe."""

    results: dict[int, Any]
    clocks: dict[int, float]
    traffic: dict[int, Traffic]
    waited: dict[int, float]
    history: History | None = None

    @property
    def seconds(self) -> float:
        """The virtual time at which the last rank is done."""
        return max(self.clocks.values())

    @property
    def bytes(self) -> dict[int, int]:
        """What each rank sent."""
        return {rank: traffic.sent_bytes for rank, traffic in self.traffic.items()}

    @property
    def messages(self) -> dict[int, int]:
        return {rank: traffic.sent_messages for rank, traffic in self.traffic.items()}


def simulate(
    scheme: Scheme | None,
    recipe_or_program: Recipe | Callable[..., Any],
    ranks: int = 8,
    network: LogGP | None = None,
    seed: int = 1,
    *,
    epochs: int = SIMULATED_EPOCHS,
    compute: float = 0.0,
    speed: Mapping[int, float] | Sequence[float] = (),
    kill: Mapping[int, int] | None = None,
) -> Simulation:
    """Run a recipe by a scheme, or a program (then the scheme may be None), on virtual ranks.

    A program is a generator function of (rank, size), or an ordinary function of a Communication. `compute` is what a
    backprop or an update costs in virtual seconds, `speed` how many times longer a rank takes, `kill` when a rank dies.
    The results of a recipe are the parameters of every rank.
    """
    virtual = Virtual(ranks, network, compute=compute, speed=speed, kill=kill)
    history = None
    if isinstance(recipe_or_program, Recipe):
        if scheme is None:
            raise Deep500Error(
                "a recipe is simulated by a scheme: give one, as in d5.schemes.AllReduce()"
            )
        trainer = distributed_trainer(recipe_or_program, scheme, virtual, seed, epochs)
        history = trainer.run()
        results = {rank: own.executor.arrays() for rank, own in trainer.replicas.items()}
    elif callable(recipe_or_program):
        results = virtual.run(_program(recipe_or_program, ranks))
    else:
        raise Deep500Error(
            f"{recipe_or_program!r} is neither a d5.Recipe nor a program: give a function"
        )
    return Simulation(results, virtual.clocks, virtual.traffic, virtual.waited, history)


def _program(function: Callable[..., Any], size: int) -> Callable[[int], Program]:
    if inspect.isgeneratorfunction(function):
        return lambda rank: function(rank, size)
    return lambda rank: blocking(function, rank, size)
