"""What follows from the times of steps under limits of workspace: predictions beside them, ratios, the Pareto front."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...errors import TooFewSamples
from ...measure.bench_blocks import TimedBlock
from ...measure.bench_plan import BenchPlan
from ...measure.numbers import BenchNumbers, EntryNumbers
from ...measure.results import Result
from ...reports.tables import is_number

UNDIVIDED = "undivided"
ANY_LIMIT = "any"


@dataclass(frozen=True)
class TimeRatio:
    """A ratio of times with its interval, if there were samples enough."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class StepNumbers:
    """A training step under one limit; without a limit, PyTorch's own convolutions compute it.

    `predicted` and `again` are the times of its convolutions, by which plans were chosen, and measured again. `step`
    is what they predict for the whole step: the time of the undivided step under the largest limit, and the difference
    of the convolutions' times. `on_front`: no other of this network and batch is faster with no more memory.
    """

    network: str
    batch: int
    limit: str
    policy: str
    used: int | None
    predicted: float | None
    again: float | None
    step: float | None
    seconds: float
    low: float | None
    high: float | None
    n: int
    to_undivided: TimeRatio | None
    to_pytorch: TimeRatio | None
    on_front: bool
    plans: Mapping[str, Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class MicroBatchNumbers(BenchNumbers):
    """Times, and what they mean for memory."""

    steps: Sequence[StepNumbers]


def step_numbers(
    plan: BenchPlan, blocks: Sequence[TimedBlock], times: BenchNumbers
) -> list[StepNumbers]:
    result = Result(plan, list(blocks))
    works = {entry.name: plan.entry(entry.name).work or {} for entry in times.entries}
    steps = []
    for entry in times.entries:
        undivided = _first(times.entries, entry, works, UNDIVIDED, same_limit=True)
        pytorch = _first(times.entries, entry, works, "", same_limit=False)
        step = _step(entry, works[entry.name])
        step = replace(
            step,
            to_undivided=_ratio(undivided, entry, result),
            to_pytorch=_ratio(pytorch, entry, result),
        )
        steps.append(step)
    return [_completed(step, steps) for step in steps]


def alike(step: StepNumbers, steps: Sequence[StepNumbers]) -> list[StepNumbers]:
    """The steps of the same network and batch that have a limit."""
    return [
        each
        for each in steps
        if (each.network, each.batch) == (step.network, step.batch)
        and each.limit != ANY_LIMIT
    ]


def _first(
    entries: Sequence[EntryNumbers],
    entry: EntryNumbers,
    works: Mapping[str, Mapping[str, object]],
    policy: str,
    same_limit: bool,
) -> EntryNumbers | None:
    """The entry of this network and batch with a policy; an empty one stands for PyTorch's own."""
    for each in entries:
        same_network = all(
            each.levels[key] == entry.levels[key] for key in ("network", "batch")
        )
        limit = each.levels["workspace"]
        if not same_network:
            continue
        if same_limit and limit != entry.levels["workspace"]:
            continue
        wanted = works[each.name].get("policy") == policy if policy else limit == ANY_LIMIT
        if wanted:
            return each
    return None


def _step(entry: EntryNumbers, work: Mapping[str, object]) -> StepNumbers:
    used = work.get("used")
    predicted = work.get("predicted")
    again = work.get("again")
    plans = work.get("plans")
    return StepNumbers(
        network=str(entry.levels["network"]),
        batch=int(entry.levels["batch"]),
        limit=str(entry.levels["workspace"]),
        policy=str(work.get("policy")),
        used=int(used) if is_number(used) else None,
        predicted=float(predicted) if is_number(predicted) else None,
        again=float(again) if is_number(again) else None,
        step=None,
        seconds=entry.median,
        low=entry.low,
        high=entry.high,
        n=entry.n,
        to_undivided=None,
        to_pytorch=None,
        on_front=False,
        plans=dict(plans) if isinstance(plans, Mapping) else {},
    )


def _ratio(
    base: EntryNumbers | None, entry: EntryNumbers, result: Result
) -> TimeRatio | None:
    if base is None or base.name == entry.name:
        return None
    try:
        compared = result.compare(base.name, entry.name)
    except TooFewSamples:
        return TimeRatio(entry.median / base.median, None, None)
    return TimeRatio(compared.ratio, compared.low, compared.high)


def _completed(step: StepNumbers, steps: Sequence[StepNumbers]) -> StepNumbers:
    """With the prediction for the whole step, and whether it lies on the front."""
    own = alike(step, steps)
    if step.used is None or step.predicted is None:
        return step
    beaten = False
    for each in own:
        if each.used is None or each is step:
            continue
        no_worse = each.used <= step.used and each.seconds <= step.seconds
        better = each.used < step.used or each.seconds < step.seconds
        beaten = beaten or (no_worse and better)
    undivided = [each for each in own if each.policy == UNDIVIDED]
    predicted = None
    if undivided and undivided[-1].predicted is not None:
        anchor = undivided[-1]  # limits ascend
        predicted = anchor.seconds + step.predicted - undivided[-1].predicted
    return replace(step, on_front=not beaten, step=predicted)
