"""Evaluate the recorded weights again, and compare what comes out with what was recorded."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from ...contracts.dataset import Split
from ...contracts.executor import Executor
from ...contracts.metric import History, Metric
from ...contracts.procedure import Procedure, load_procedure
from ...contracts.recipe import Recipe
from ...contracts.result import Record
from ...contracts.task import Task
from ...errors import Deep500Error, Wrong, one_line
from ...reports.text import clean
from ...training.building import recipe_executor, recipe_procedure, recipe_task
from ...training.evaluation import measured_elements, qualities_of
from ...training.outcome import qualities, trained_runs
from .rebuilding import NotReplayable

SPLITS = ("validation", "test")
FLIPS = 1000  # on another setup, one in so many examples may change sides
LAST_BITS = 8  # on the same setup, so many units in the last place: memory may be aligned otherwise
PURE = 1e-9  # a metric of the recipe's own is a pure function of the history: only libraries differ


@dataclass(frozen=True)
class Comparison:
    """One recorded number and what the weights give; `allowed` is how far apart rounding may bring them."""

    seed: int
    name: str
    unit: str
    recorded: float | None  # None: not finite
    replayed: float | None
    allowed: float

    @property
    def same_bits(self) -> bool:
        return self.recorded == self.replayed

    @property
    def holds(self) -> bool:
        if self.recorded is None or self.replayed is None:
            return self.recorded is self.replayed
        return abs(self.recorded - self.replayed) <= self.allowed

    @property
    def sentence(self) -> str:
        recorded, replayed = (
            _shown(x, self.unit) for x in (self.recorded, self.replayed)
        )
        return (
            f"seed {self.seed}: {self.name}: recorded {recorded}, replayed {replayed}"
        )


def replayed_numbers(
    record: Record,
    recipe: Recipe,
    weights: Callable[[int], bytes],
    same_setup: Callable[[int], bool],
) -> list[Comparison]:
    """Every number of every seed that follows from weights and data.

    `weights` gives the file of a seed. `same_setup` says whether machine and software are those on which a seed was
    evaluated; it is asked once everything is loaded.
    """
    splits = _recorded_data(record.plan, recipe)
    task = recipe_task(recipe)
    compared: list[Comparison] = []
    threads = record.plan.get("threads", 1)
    for run in trained_runs(record.blocks):
        predictor = _predictor(recipe, task, splits["train"], run.seed, threads)
        _load_weights(predictor, run.seed, weights(run.seed))
        replay = _Replay(
            predictor, task, recipe.entry("batch_size"), same_setup(run.seed)
        )
        for split_name in SPLITS:
            compared += replay.compared(
                run, split_name, splits[split_name], record.plan
            )
    return compared


def own_metric_values(record: Record, recipe: Recipe) -> list[Comparison]:
    """The metrics that the recipe brought itself, computed again from the recorded history."""
    runs = trained_runs(record.blocks)
    compared: list[Comparison] = []
    for key, metric in recipe.own_metrics.items():
        compared += [_own_metric(key, metric, run) for run in runs]
    return compared


def _own_metric(key: str, metric: Metric, run: History) -> Comparison:
    try:
        value = metric.value(run)
        replayed = None if value is None else _finite(float(value))
    except Exception as error:  # whatever code from anyone does
        raise NotReplayable(
            f"the metric {key} cannot be computed again: {one_line(error, kind=True)}"
        ) from None
    recorded = run.recorded.get(key)
    allowed = PURE * abs(replayed or 0.0)
    return Comparison(run.seed, key, metric.unit, recorded, replayed, allowed)


def _predictor(
    recipe: Recipe, task: Task, train: Split, seed: int, threads: object
) -> Executor | Procedure:
    """What evaluates: an executor, or the recipe's own procedure."""
    if recipe.has("procedure"):
        return recipe_procedure(recipe, task, train, seed, threads)
    return recipe_executor(recipe, task, train, seed, threads)


class _Replay:
    """The weights of one seed, loaded."""

    def __init__(
        self,
        predictor: Executor | Procedure,
        task: Task,
        batch_size: int,
        same_setup: bool,
    ):
        self.predictor, self.task, self.batch_size = predictor, task, batch_size
        self.same_setup = same_setup
        epsilon = _precision(predictor)
        # Elsewhere half of the digits: errors of rounding grow with the depth of a network, and never that far
        self.tolerance = LAST_BITS * epsilon if same_setup else math.sqrt(epsilon)

    def compared(
        self, run: History, split_name: str, split: Split, plan: Mapping[str, Any]
    ) -> Iterator[Comparison]:
        elements = measured_elements(self.predictor, self.task, split, self.batch_size)
        replayed = qualities_of(self.task, elements)
        recorded = run.evaluations[-1][split_name]
        units = {name: quality.unit for name, quality in qualities(plan).items()}
        for name in sorted(replayed.keys() | recorded.keys()):
            before, now = _finite(recorded.get(name)), _finite(replayed.get(name))
            yield Comparison(
                run.seed,
                f"{split_name} {clean(name)}",
                clean(units.get(name, "")),
                before,
                now,
                self._allowed(name, elements, max(abs(before or 0.0), abs(now or 0.0))),
            )

    def _allowed(
        self, name: str, elements: Mapping[str, np.ndarray], size: float
    ) -> float:
        """How far recorded and replayed value may lie apart; `size` is the larger one's."""
        if (
            name not in elements
        ):  # computed from several means, whose differences may cancel
            return self.tolerance * max(size, 1.0)
        own = elements[name]
        if not _is_counted(own):
            return self.tolerance * size
        step = (float(np.ptp(own)) or abs(float(own[0]))) / len(own)
        flips = 0 if self.same_setup else math.ceil(len(own) / FLIPS)
        return flips * step + PURE * size


def _is_counted(elements: np.ndarray) -> bool:
    """Whether every example is right or wrong: two values, such as 0 and 100."""
    return len(np.unique(elements)) <= 2 and np.array_equal(
        elements, np.round(elements)
    )


def _recorded_data(plan: Mapping[str, Any], recipe: Recipe) -> Mapping[str, Split]:
    """The data, if they are those that were recorded."""
    dataset = recipe.make("dataset")
    try:
        splits = dataset.load()
    except (Deep500Error, OSError, ImportError, MemoryError) as error:
        raise NotReplayable(
            f"the data set {type(dataset).__name__} is not available: {one_line(error)}"
        ) from None
    for name, digest in plan.get("data", {}).items():
        found = splits[name].digest() if name in splits else "none"
        if found != digest:
            raise NotReplayable(
                f"the data set {type(dataset).__name__} is not the one that was recorded: its split "
                f"{clean(name)[:40]!r} has the SHA-256 {found[:12]}…, recorded is {clean(digest)[:12]}…"
            )
    return splits


def _load_weights(predictor: Executor | Procedure, seed: int, data: bytes) -> None:
    try:
        if isinstance(predictor, Procedure):
            load_procedure(predictor, load(data))
        else:
            predictor.load(load(data))
    except KeyError as error:
        raise NotReplayable(
            f"the weights of seed {seed} are of a dtype that cannot be read: {one_line(error)}"
        ) from None
    # safetensors passes NumPy's TypeError or AttributeError on for a dtype that NumPy does not have
    except (
        SafetensorError,
        Deep500Error,
        TypeError,
        AttributeError,
        ValueError,
    ) as error:
        raise Wrong(
            f"the weights of seed {seed} do not fit the recipe's network: {one_line(error)}"
        ) from None


def _precision(predictor: Executor | Procedure) -> float:
    """The machine epsilon of the parameters; of several dtypes the coarsest one's."""
    if isinstance(predictor, Procedure):
        executors = [*predictor.executors.values()]
    else:
        executors = [predictor]
    epsilons = [float(np.finfo(np.float64).eps)]
    for executor in executors:
        for spec in executor.structure.params.values():
            dtype = np.dtype(spec.dtype)
            if dtype.kind in "fV":
                epsilons.append(float(ml_dtypes.finfo(dtype).eps))
    return max(epsilons)


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _shown(value: float | None, unit: str) -> str:
    return "no finite number" if value is None else f"{value:.10g} {unit}".rstrip()
