"""What can be simulated: a GOAL file, a collective at any number of ranks, and a recipe that is trained."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...cluster.goal import read_goal
from ...cluster.memory import check_memory
from ...cluster.network import NANO, ClusterNetwork
from ...cluster.schedule import MessageSchedule
from ...cluster.tracing import ProgramTracer, rotated_schedule, traced_schedule
from ...contracts.collective import OPERATIONS, Collective
from ...contracts.dataset_splits import loaded_splits
from ...contracts.loggp import LogGP
from ...contracts.recipe import Recipe
from ...contracts.transport import Program
from ...definition_text import definition_of, scheme_of
from ...distributed.recipe_training import distributed_trainer, recipe_sampler
from ...distributed.recording import RecordedTrainer, RecordedVirtual
from ...errors import Deep500Error, unknown
from ...results.simulating.data import TrainingResult
from ..collectives.arrays import operation_program
from .step_progress import StepProgress

Progress = Callable[[float, str], None]
# their messages depend on the data, or on a topology
NOT_TRACED = {"sparse_all_reduce", "neighbor_all_gather"}


@dataclass(frozen=True, eq=False)
class SimulatedSubject:
    """A schedule, where it comes from, and what was chosen for it."""

    name: str
    kind: str
    schedule: MessageSchedule
    setting: Mapping[str, str] = field(default_factory=dict)
    training: TrainingResult | None = None


@dataclass(frozen=True)
class CollectiveChoice:
    """An operation of a collective on so many ranks, on arrays of so many bytes."""

    text: str
    ranks: int = 8
    nbytes: int = 4
    operation: str = "all_reduce"
    dtype: str = "float32"


@dataclass(frozen=True)
class TrainingChoice:
    """How a recipe is trained, in whole epochs of at least so many steps.

    `compute` is the seconds of backprop of an example, `update` those of an update.
    """

    ranks: int = 8
    scheme: str = "AllReduce"
    steps: int = 100
    compute: float = 0.0
    update: float = 0.0
    seed: int = 1


def goal_subject(path: Path, progress: Progress | None = None) -> SimulatedSubject:
    return SimulatedSubject(path.name, "goal", read_goal(path, progress))


def collective_subject(
    choice: CollectiveChoice, network: ClusterNetwork, progress: Progress | None = None
) -> SimulatedSubject:
    """An operation of a collective: its programs are the ones that run on MPI."""
    collective: Collective = definition_of(choice.text, "collectives")
    if choice.ranks < 1:
        raise Deep500Error(f"--ranks {choice.ranks}: give 1 or more")
    if choice.operation not in OPERATIONS:
        raise unknown("operation", choice.operation, OPERATIONS)
    if choice.operation not in collective.operations or choice.operation in NOT_TRACED:
        offered = [name for name in collective.operations if name not in NOT_TRACED]
        raise Deep500Error(
            f"{choice.text} has no {choice.operation} that can be simulated without its data: it offers "
            f"{', '.join(offered) or 'none'}"
        )
    if _depends_on_data(collective):
        raise Deep500Error(
            f"{choice.text} cannot be simulated without its data, which decide what it sends: simulate a recipe that "
            f"trains with it (--scheme 'AllReduce(codec=TopK(0.01), collective={choice.text})'), or a dense collective"
        )
    collective.check(choice.ranks)
    itemsize = np.dtype(choice.dtype).itemsize
    if choice.nbytes % itemsize:
        raise Deep500Error(
            f"{choice.nbytes} bytes are no whole number of elements of {choice.dtype}: give a multiple of {itemsize}"
        )
    count = choice.nbytes // itemsize
    if choice.ranks > 1 and collective.declares_cost(choice.operation):
        # every message is a send and a receive
        cost = collective.cost(choice.operation, choice.ranks, count, itemsize)
        most = 2 * choice.ranks * round(cost.messages)
        check_memory(choice.text, choice.ranks, most, most)

    def program(tracer: ProgramTracer, rank: int) -> Program:
        array = tracer.array(count, choice.dtype)
        return operation_program(
            collective, choice.operation, rank, choice.ranks, array
        )

    ranks, name = choice.ranks, choice.text
    if collective.rotates(choice.operation, ranks, count):
        schedule = rotated_schedule(program, ranks, network, name)
    else:
        schedule = traced_schedule(program, ranks, network, name, progress)
    setting = {
        "operation": choice.operation,
        "array of every rank": f"{choice.nbytes} bytes of {choice.dtype}",
    }
    return SimulatedSubject(choice.text, "collective", schedule, setting)


def _depends_on_data(collective: Collective) -> bool:
    """Whether the numbers in the arrays decide what is sent, by the collective itself or one that it is made of."""
    parts = [
        each for each in collective.settings.values() if isinstance(each, Collective)
    ]
    return collective.cost_is_bound or any(map(_depends_on_data, parts))


def collective_schedule(
    text: str,
    ranks: int,
    nbytes: int = 4,
    network: ClusterNetwork | None = None,
    operation: str = "all_reduce",
    dtype: str = "float32",
) -> MessageSchedule:
    """What every rank does in an operation of a collective, such as "Ring()"; the network says what combining costs."""
    choice = CollectiveChoice(text, ranks, nbytes, operation, dtype)
    return collective_subject(choice, network or ClusterNetwork()).schedule


def recipe_subject(
    recipe: Recipe,
    choice: TrainingChoice,
    network: ClusterNetwork,
    progress: Progress | None = None,
) -> SimulatedSubject:
    """A recipe trained on virtual ranks with real numerics; what they did is the schedule."""
    if choice.steps < 1:
        raise Deep500Error(f"--steps {choice.steps}: give 1 or more")
    scheme = scheme_of(choice.scheme)
    virtual = RecordedVirtual(
        choice.ranks,
        network,
        _loggp(network),
        choice.compute,
        choice.update,
    )
    epochs = _epochs(recipe, choice)
    events = [] if progress is None else [StepProgress(choice.steps, progress)]
    trainer = distributed_trainer(
        recipe, scheme, virtual, choice.seed, epochs, events, RecordedTrainer
    )
    history = trainer.run()
    if history.failure:
        raise Deep500Error(f"the training of {recipe.name} {history.failure}")
    qualities = history.evaluations[-1]["test"] or {}
    losses = [float(loss) for loss in history.losses]
    setting = {
        "scheme": choice.scheme,
        "backprop of an example": f"{choice.compute:g} s",
        "update": f"{choice.update:g} s",
        "seed of the training": str(choice.seed),
    }
    result = TrainingResult(losses, qualities, len(losses))
    return SimulatedSubject(recipe.name, "recipe", virtual.schedule(), setting, result)


def _epochs(recipe: Recipe, choice: TrainingChoice) -> int:
    """The whole epochs in which there are so many steps."""
    train = loaded_splits(recipe.make("dataset"))["train"]
    batches = sum(1 for _ in recipe_sampler(recipe, choice.seed).epoch(len(train), 0))
    return math.ceil(choice.steps / batches)


def _loggp(network: ClusterNetwork) -> LogGP:
    """The network between far ranks, by whose clock the ranks of a training meet."""
    far = network.levels[-1]
    gap = far.gaps[-1] if far.gaps else far.G
    return LogGP(far.L / NANO, far.o / NANO, far.g / NANO, gap / NANO)
