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
class StepRatio:
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
    batch: float
    limit: str
    policy: str
    used: float | None
    predicted: float | None
    again: float | None
    step: float | None
    seconds: float
    low: float | None
    high: float | None
    n: int
    to_undivided: StepRatio | None
    to_pytorch: StepRatio | None
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
        if _place(each) != _place(entry):
            continue
        if same_limit and _limit(each) != _limit(entry):
            continue
        own_policy = works[each.name].get("policy")
        if own_policy == policy or (not policy and _limit(each) == ANY_LIMIT):
            return each
    return None


def _place(entry: EntryNumbers) -> tuple[object, ...]:
    return entry.levels.get("network"), entry.levels.get("batch")


def _limit(entry: EntryNumbers) -> str:
    return str(entry.levels.get("workspace"))


def _step(entry: EntryNumbers, work: Mapping[str, object]) -> StepNumbers:
    network, batch = _place(entry)
    return StepNumbers(
        network=str(network),
        batch=_number(batch) or 0,
        limit=_limit(entry),
        policy=str(work.get("policy")),
        used=_number(work.get("used")),
        predicted=_number(work.get("predicted")),
        again=_number(work.get("again")),
        step=None,
        seconds=entry.median,
        low=entry.low,
        high=entry.high,
        n=entry.n,
        to_undivided=None,
        to_pytorch=None,
        on_front=False,
        plans=_plans(work.get("plans")),
    )


def _number(value: object) -> float | None:
    """A number of a plan, which may come from anyone."""
    return value if is_number(value) else None


def _plans(value: object) -> dict[str, list[str]]:
    plans = {}
    if isinstance(value, Mapping):
        for node, texts in value.items():
            listed = texts if isinstance(texts, list | tuple) else []
            plans[str(node)] = [str(text) for text in listed]
    return plans


def _ratio(
    base: EntryNumbers | None, entry: EntryNumbers, result: Result
) -> StepRatio | None:
    if base is None or base.name == entry.name:
        return None
    try:
        compared = result.compare(base.name, entry.name)
    except TooFewSamples:
        return StepRatio(entry.median / base.median, None, None)
    return StepRatio(compared.ratio, compared.low, compared.high)


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
