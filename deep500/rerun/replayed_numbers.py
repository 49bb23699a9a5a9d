"""Evaluate the recorded weights again, and compare what comes out with what was recorded."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from ..contracts.dataset import Split
from ..contracts.dataset_splits import loaded_splits
from ..contracts.executor import Executor
from ..contracts.metric import History, Metric
from ..contracts.procedure import Procedure, load_procedure
from ..contracts.recipe import Recipe
from ..contracts.task import Task
from ..errors import Deep500Error, Wrong, one_line
from ..reports.text import clean
from ..results.outcomes.data import RecipeRecord
from ..training.building import recipe_executor, recipe_procedure, recipe_task
from ..training.evaluation import measured_elements, qualities_of
from ..training.metric_summary import qualities
from ..training.outcome import trained_runs
from ..training.recipe_plan import RecipePlan
from .rebuilding import NotReplayable

SPLITS = ("validation", "test")
FLIPS = 1000  # on another setup, one in so many examples may change sides
LAST_BITS = 8  # on the same setup, so many units in the last place: memory may be aligned otherwise
PURE = 1e-9  # a metric of the recipe's own is a pure function of the history: only libraries differ


# safetensors passes NumPy's TypeError or AttributeError on for a dtype that NumPy does not have.
UNFIT = (SafetensorError, Deep500Error, TypeError, AttributeError, ValueError)


@dataclass(frozen=True)
class ReplayComparison:
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
        recorded = _with_unit(self.recorded, self.unit)
        replayed = _with_unit(self.replayed, self.unit)
        return (
            f"seed {self.seed}: {self.name}: recorded {recorded}, replayed {replayed}"
        )


def replayed_numbers(
    record: RecipeRecord,
    recipe: Recipe,
    weights: Callable[[int], bytes],
    same_setup: Callable[[int], bool],
) -> list[ReplayComparison]:
    """Every number of every seed that follows from weights and data.

    `weights` gives the file of a seed. `same_setup` says whether machine and software are those on which a seed was
    evaluated; it is asked once everything is loaded.
    """
    plan = record.plan
    splits = _recorded_data(plan, recipe)
    task = recipe_task(recipe)
    comparisons: list[ReplayComparison] = []
    threads = 1 if plan.threads is None else plan.threads
    for run in _with_weights(record):
        predictor = _predictor(recipe, task, splits["train"], run.seed, threads)
        _load_weights(predictor, run.seed, weights(run.seed))
        batch_size = recipe.entry("batch_size")
        replay = _Replay(predictor, task, batch_size, same_setup(run.seed))
        for split_name in SPLITS:
            split = splits[split_name]
            comparisons += replay.compared(run, split_name, split, plan)
    return comparisons


def own_metric_values(record: RecipeRecord, recipe: Recipe) -> list[ReplayComparison]:
    """The metrics that the recipe brought itself, computed again from the recorded history."""
    runs = _with_weights(record)
    comparisons = []
    for key, metric in recipe.own_metrics.items():
        for run in runs:
            comparisons.append(_own_metric(key, metric, run))
    return comparisons


def _with_weights(record: RecipeRecord) -> list[History]:
    """The seeds that were trained to their end; one that crashed left nothing that can be evaluated."""
    return [run for run in trained_runs(record.blocks) if not run.crashed]


def _own_metric(key: str, metric: Metric, run: History) -> ReplayComparison:
    try:
        value = metric.value(run)
        replayed = None if value is None else _finite(float(value))
    except Exception as error:  # the user's code may raise anything
        reason = one_line(error, kind=True)
        raise NotReplayable(
            f"the metric {key} cannot be computed again: {reason}"
        ) from None
    recorded = run.recorded.get(key)
    allowed = PURE * abs(replayed or 0.0)
    return ReplayComparison(run.seed, key, metric.unit, recorded, replayed, allowed)


def _predictor(
    recipe: Recipe, task: Task, train: Split, seed: int, threads: object
) -> Executor | Procedure:
    """What evaluates the weights: an executor, or the recipe's own procedure."""
    if recipe.has("procedure"):
        return recipe_procedure(recipe, task, train, seed, threads)
    return recipe_executor(recipe, task, train, seed, threads)


class _Replay:
    """A predictor with the weights of one seed, and how far rounding may bring its numbers from the recorded ones."""

    def __init__(
        self,
        predictor: Executor | Procedure,
        task: Task,
        batch_size: int,
        same_setup: bool,
    ):
        self.predictor = predictor
        self.task = task
        self.batch_size = batch_size
        self.same_setup = same_setup
        epsilon = _precision(predictor)
        if same_setup:
            self.tolerance = LAST_BITS * epsilon
        else:
            # Half of the digits: rounding errors grow with the depth of a network, but never that far.
            self.tolerance = math.sqrt(epsilon)

    def compared(
        self,
        run: History,
        split_name: str,
        split: Split,
        plan: RecipePlan,
    ) -> Iterator[ReplayComparison]:
        """Every quality on one split, as it was recorded and as the weights give it."""
        elements = measured_elements(self.predictor, self.task, split, self.batch_size)
        replayed = qualities_of(self.task, elements)
        recorded = run.evaluations[-1][split_name]
        units = {name: quality.unit for name, quality in qualities(plan).items()}
        for name in sorted(replayed.keys() | recorded.keys()):
            before = _finite(recorded.get(name))
            now = _finite(replayed.get(name))
            size = max(abs(before or 0.0), abs(now or 0.0))
            allowed = self._allowed(name, elements, size)
            label = f"{split_name} {clean(name)}"
            unit = clean(units.get(name, ""))
            yield ReplayComparison(run.seed, label, unit, before, now, allowed)

    def _allowed(
        self, name: str, elements: Mapping[str, np.ndarray], size: float
    ) -> float:
        """How far apart the recorded and the replayed value may be; `size` is the larger of their magnitudes."""
        if name not in elements:
            # It is computed from several means, whose differences may cancel.
            return self.tolerance * max(size, 1.0)
        values = elements[name]
        examples = len(values)
        if not _is_counted(values):
            return self.tolerance * size
        range_of_values = float(np.ptp(values)) or abs(float(values[0]))
        step = range_of_values / examples
        flips = 0 if self.same_setup else math.ceil(examples / FLIPS)
        return flips * step + PURE * size


def _is_counted(elements: np.ndarray) -> bool:
    """Whether every example is right or wrong: two values, such as 0 and 100."""
    if len(np.unique(elements)) > 2:
        return False
    return np.array_equal(elements, np.round(elements))


def _recorded_data(plan: RecipePlan, recipe: Recipe) -> Mapping[str, Split]:
    """The data; raises `NotReplayable` if they are not available, or are not those that were recorded."""
    dataset = recipe.make("dataset")
    dataset_name = type(dataset).__name__
    try:
        splits = loaded_splits(dataset)
    except (Deep500Error, OSError, ImportError, MemoryError) as error:
        raise NotReplayable(
            f"the data set {dataset_name} is not available: {one_line(error)}"
        ) from None
    for name, recorded in plan.data.items():
        digest = splits[name].digest() if name in splits else "none"
        if digest != recorded:
            raise NotReplayable(
                f"the data set {dataset_name} is not the one that was recorded: its split "
                f"{clean(name)[:40]!r} has the SHA-256 {digest[:12]}…, recorded is {clean(recorded)[:12]}…"
            )
    return splits


def _load_weights(predictor: Executor | Procedure, seed: int, data: bytes) -> None:
    """Load a safetensors file; raises `NotReplayable` for an unknown dtype, `Wrong` if the weights do not fit."""
    try:
        if isinstance(predictor, Procedure):
            load_procedure(predictor, load(data))
        else:
            predictor.load(load(data))
    except KeyError as error:
        raise NotReplayable(
            f"the weights of seed {seed} are of a dtype that cannot be read: {one_line(error)}"
        ) from None
    except UNFIT as error:
        raise Wrong(
            f"the weights of seed {seed} do not fit the recipe's network: {one_line(error)}"
        ) from None


def _precision(predictor: Executor | Procedure) -> float:
    """The machine epsilon of the parameters; of several dtypes the coarsest one's."""
    if isinstance(predictor, Procedure):
        executors = list(predictor.executors.values())
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
    """The number, or None if it is not finite."""
    if number is None or not math.isfinite(number):
        return None
    return number


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return "no finite number"
    return f"{value:.10g} {unit}".rstrip()
