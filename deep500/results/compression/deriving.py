"""Every number of a benchmark of compression, from its blocks."""

from collections.abc import Mapping, Sequence
from statistics import median as middle

from ..collectives.samples import Measured, Series, measured, median
from .break_even import break_evens
from .data import (
    DENSE,
    HALF,
    UNLIMITED,
    Accuracy,
    CompressionBlock,
    CompressionPlan,
    RankTraffic,
)
from .numbers import (
    AccuracyNumbers,
    CompressionNumbers,
    MethodNumbers,
    WireNumbers,
)
from .series import (
    MethodSeries,
    Networks,
    accuracies_of,
    failures_of,
    networks_of,
    traffic_of,
)
from .wires import Wire, wire_of


def numbers_of(
    plan: CompressionPlan, blocks: Sequence[CompressionBlock]
) -> CompressionNumbers:
    networks = networks_of(blocks)
    runs = accuracies_of(blocks)
    traffic = traffic_of(blocks)
    accuracies = [_accuracy(name, own, plan.target) for name, own in runs.items()]
    steps = {one.method: one.steps for one in accuracies}
    methods = []
    for rate in (UNLIMITED, *plan.bandwidth):
        wire = wire_of(networks, rate)
        for method in networks.unlimited:
            numbers = _method(method, rate, plan.ranks, networks, traffic, wire)
            methods.append(_with_target(numbers, steps.get(method)))
    wires = {rate: wire_of(networks, rate) for rate in plan.bandwidth}
    return CompressionNumbers(
        methods,
        accuracies,
        break_evens(plan.ranks, networks, traffic, wires),
        _networks(networks),
        failures_of(blocks),
    )


def _method(
    method: str,
    rate: float,
    ranks: int,
    networks: Networks,
    traffic: Mapping[str, Mapping[int, RankTraffic]],
    wire: Wire,
) -> dict[str, object]:
    """The fields of a scheme on a network, but for the accuracy."""
    here = networks.isolated.get(rate, {})
    if rate == UNLIMITED:
        here = networks.unlimited
    own = here.get(method)
    seconds = measured(own.seconds) if own else None
    predicted = None
    messages = traffic.get(method, {}).get(ranks)
    if messages is not None and rate != UNLIMITED:
        local = median(networks.unlimited[method].seconds)
        predicted = local + wire.seconds(messages)
    share = None
    if predicted is not None and seconds is not None and seconds.value:
        share = predicted / seconds.value
    return {
        "method": method,
        "bandwidth": rate,
        "seconds": seconds,
        "to_dense": _ratio(own, here.get(DENSE)),
        "to_half": _ratio(own, here.get(HALF)),
        "predicted": predicted,
        "rate_share": share,
        "counted": middle(own.counted) if own else None,
        "wire": middle(own.wire) if own and own.wire else None,
    }


def _with_target(numbers: Mapping[str, object], steps: float | None) -> MethodNumbers:
    """The same with the time to the target: steps, times the seconds of one, measured or else predicted."""
    seconds = numbers["seconds"]
    each = seconds.value if isinstance(seconds, Measured) else numbers["predicted"]
    to_target = None
    if steps is not None and isinstance(each, float):
        to_target = steps * each
    return MethodNumbers(**numbers, to_target=to_target)  # type: ignore[arg-type]


def _ratio(own: MethodSeries | None, other: MethodSeries | None) -> Measured | None:
    """A ratio of medians for every launch."""
    if own is None or other is None or own is other:
        return None
    ratios: Series = []
    for mine, theirs in zip(own.seconds, other.seconds, strict=False):
        if base := median([theirs]):
            ratios.append([median([mine]) / base])
    return measured(ratios) if ratios else None


def _accuracy(name: str, runs: Sequence[Accuracy], target: float) -> AccuracyNumbers:
    finals, steps = [], []
    for run in runs:
        if run.test is not None:
            finals.append(run.test)
        for epoch, value in enumerate(run.accuracies, 1):
            if value >= target:
                steps.append(float(epoch * run.steps_per_epoch))
                break
    # a run that never gets there would take longer than any other
    is_usual = 2 * len(steps) > len(runs)
    ordered = [*sorted(steps), *[float("inf")] * (len(runs) - len(steps))]
    return AccuracyNumbers(
        name,
        middle(finals) if finals else None,
        min(finals, default=None),
        max(finals, default=None),
        len(runs),
        ordered[(len(ordered) - 1) // 2] if is_usual else None,
        len(steps),
    )


def _networks(networks: Networks) -> list[WireNumbers]:
    found = []
    for (rate, is_namespace), launches in networks.launches.items():
        latency = middle([one.latency for one in launches])
        gap = middle([one.gap for one in launches])
        mbit = 8e-6 / gap if gap else None
        found.append(WireNumbers(rate, is_namespace, latency, mbit, len(launches)))
    return found
