"""Numbers of compression from blocks whose truth is known."""

from typing import Any

import pytest

from deep500.contracts.result import Record
from deep500.reports.markdown import markdown
from deep500.results.compression.data import (
    DENSE,
    HALF,
    NOT_PERMITTED,
    UNLIMITED,
    Accuracy,
    CompressionBlock,
    CompressionPlan,
    MethodTimes,
    MethodTraffic,
    RankTraffic,
    Times,
)
from deep500.results.compression.numbers import (
    BreakEven,
    CompressionNumbers,
    MethodNumbers,
)
from deep500.results.compression.pictures import pictures
from deep500.results.compression.wires import PAYLOAD
from deep500.results.compression_bench import CompressionBench

TOP = "AllReduce(codec=TopK())"
WIDE = "AllReduce(codec=Lossless())"
MEGABYTE = 1e6
LATENCY = 1e-4
# seconds of computing and coding, and bytes one after another on 4 ranks
LOCAL = {DENSE: 0.010, HALF: 0.012, TOP: 0.020, WIDE: 0.030}
BYTES = {
    DENSE: 1.5 * MEGABYTE,
    HALF: 0.75 * MEGABYTE,
    TOP: 0.06 * MEGABYTE,
    WIDE: 2 * MEGABYTE,
}
RATES = (10.0, 100.0, 1000.0)


def gap(mbit: float) -> float:
    return 8e-6 / (mbit * PAYLOAD) if mbit else 0.0


def block(what: str = "a job", **parts: Any) -> CompressionBlock:
    return CompressionBlock(what, "a machine", 8, **parts)


def times(mbit: float, launch: int, slower: float = 1.0) -> CompressionBlock:
    """All methods on a network: as the model says, or slower."""
    rows = []
    for method, local in LOCAL.items():
        seconds = local
        if mbit:
            seconds += slower * (LATENCY + BYTES[method] * gap(mbit))
        stretches = [[0.9 * seconds, seconds, seconds, seconds]] * 5
        counted = [BYTES[method]] * 5
        wire = [1.05 * count for count in counted]
        rows.append(MethodTimes(method, stretches, counted, wire))
    measured = Times(mbit, launch, 0.0, True, LATENCY, gap(mbit), rows)
    return block(times=measured)


def traffic(method: str) -> CompressionBlock:
    by_ranks = []
    for ranks in (2, 4, 8, 16):
        nbytes = BYTES[method] * (ranks - 1) / 3
        if method in (DENSE, HALF):
            nbytes = BYTES[method] * (ranks - 1) / ranks * 4 / 3
        by_ranks.append(RankTraffic(ranks, 1, nbytes))
    return block(traffic=MethodTraffic(method, by_ranks))


def accuracy(method: str, seed: int, *values: float) -> CompressionBlock:
    return block(accuracy=Accuracy(method, seed, 20, values, values[-1]))


def plan() -> CompressionPlan:
    return CompressionPlan(
        RATES, 4, ["all"], [], [512, 384], 64, 2, 1.0, 3, 3, 3, 90.0, 0
    )


def blocks(slower: float = 1.0) -> list[CompressionBlock]:
    made = [times(r, n, slower) for n in range(3) for r in (UNLIMITED, *RATES)]
    made += [traffic(method) for method in LOCAL]
    for seed in range(3):
        made.append(accuracy(DENSE, seed, 80.0, 91.0, 95.0))
        made.append(accuracy(HALF, seed, 80.0, 91.0, 95.0))
        made.append(accuracy(TOP, seed, 50.0, 80.0, 90.0))
        made.append(accuracy(WIDE, seed, 80.0, 89.0, 89.9))
    return made


@pytest.fixture(scope="module")
def numbers() -> CompressionNumbers:
    found = CompressionBench().derive(plan(), blocks())
    assert found is not None
    return found


def method(numbers: CompressionNumbers, name: str, mbit: float) -> MethodNumbers:
    [one] = [m for m in numbers.methods if (m.method, m.bandwidth) == (name, mbit)]
    return one


def even(numbers: CompressionNumbers, name: str, baseline: str = DENSE) -> BreakEven:
    [one] = [
        b for b in numbers.break_evens if (b.method, b.baseline) == (name, baseline)
    ]
    return one


def test_steps_are_compared_with_both_baselines(numbers: CompressionNumbers) -> None:
    top = method(numbers, TOP, 100.0)
    dense, half = method(numbers, DENSE, 100.0), method(numbers, HALF, 100.0)
    seconds = LOCAL[TOP] + LATENCY + BYTES[TOP] * gap(100.0)
    assert top.seconds.value == pytest.approx(seconds)
    assert top.to_dense.value == pytest.approx(seconds / dense.seconds.value)
    assert top.to_half.value == pytest.approx(seconds / half.seconds.value)
    assert dense.to_dense is None and half.to_dense is not None
    assert top.wire / top.counted == pytest.approx(1.05)


def test_what_is_predicted_came(numbers: CompressionNumbers) -> None:
    for one in numbers.methods:
        if one.bandwidth:
            assert one.rate_share == pytest.approx(1.0)


def test_a_slower_network_than_predicted_is_noticed() -> None:
    numbers = CompressionBench().derive(plan(), blocks(slower=2.0))
    dense = method(numbers, DENSE, 10.0)
    assert dense.rate_share == pytest.approx(0.5, abs=0.01)


def test_time_to_the_target_counts_the_steps(numbers: CompressionNumbers) -> None:
    dense, top = method(numbers, DENSE, 10.0), method(numbers, TOP, 10.0)
    assert dense.to_target == pytest.approx(40 * dense.seconds.value)
    assert top.to_target == pytest.approx(60 * top.seconds.value)
    assert method(numbers, WIDE, 10.0).to_target is None


def test_break_even_is_where_both_take_the_same(numbers: CompressionNumbers) -> None:
    found = even(numbers, TOP)
    saved = (BYTES[DENSE] - BYTES[TOP]) * gap(found.bandwidth)
    assert saved == pytest.approx(LOCAL[TOP] - LOCAL[DENSE])
    assert found.low == pytest.approx(found.bandwidth)


def test_what_sends_more_never_pays(numbers: CompressionNumbers) -> None:
    found = even(numbers, WIDE)
    assert found.bandwidth is None and not found.always
    assert set(found.ranks.values()) <= {None}


def test_gathering_stops_to_pay_with_many_ranks(numbers: CompressionNumbers) -> None:
    """An allgather's bytes grow with P, an allreduce's do not: on 16 ranks it is worse than on 2."""
    more = {16: RankTraffic(16, 1, 100 * MEGABYTE)}
    changed = []
    for one in blocks():
        if one.traffic and one.traffic.method == TOP:
            kept = [t for t in one.traffic.by_ranks if t.ranks not in more]
            one = block(traffic=MethodTraffic(TOP, [*kept, *more.values()]))
        changed.append(one)
    found = even(CompressionBench().derive(plan(), changed), TOP)
    assert found.ranks["10"] is None
    assert even(numbers, TOP).ranks["10"] == 2


def test_without_namespaces_the_model_takes_their_place() -> None:
    kept = []
    for one in blocks():
        if one.times is None:
            kept.append(one)
        elif one.times.bandwidth == UNLIMITED:
            settings = {**vars(one.times), "is_namespace": False}
            kept.append(block(times=Times(**settings)))
    kept.append(block(failure=NOT_PERMITTED))
    numbers = CompressionBench().derive(plan(), kept)
    top = method(numbers, TOP, 10.0)
    assert top.seconds is None
    seconds = LOCAL[TOP] + LATENCY + BYTES[TOP] * gap(10.0)
    assert top.predicted == pytest.approx(seconds)
    assert top.to_target == pytest.approx(60 * seconds)
    assert numbers.failures == [f"a job: {NOT_PERMITTED}"]


@pytest.mark.parametrize(
    ("failure", "accepted"),
    [(f"{NOT_PERMITTED} (why)", True), ("rank 1 was ended by SIGKILL", False)],
)
def test_only_namespaces_may_be_missing(failure: str, accepted: bool) -> None:
    made = [*blocks(), block("a launch", failure=failure)]
    kind = CompressionBench()
    record = Record(kind, plan(), made, kind.derive(plan(), made), {})
    assert kind.accepted(record) is accepted


def test_the_page_and_its_pictures(numbers: CompressionNumbers) -> None:
    kind, made = CompressionBench(), blocks()
    record = Record(kind, plan(), made, numbers, {}, bundle="folder", hash="0" * 64)
    text = markdown(record.report())
    assert "not reached" in text and "shorter steps than 16 bits below" in text
    assert [picture.name for picture in pictures(numbers)] == ["step", "target"]
