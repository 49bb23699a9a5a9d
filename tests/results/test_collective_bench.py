"""Numbers of collectives from samples whose truth is known."""

import pytest

from deep500.contracts.result import Record
from deep500.errors import Deep500Error
from deep500.reports.markdown import markdown
from deep500.results.collective_bench import CollectiveBench
from deep500.results.collectives.data import (
    COMPUTING,
    ENGINE,
    POLLED,
    UNPOLLED,
    TimedCase,
)
from deep500.results.collectives.numbers import CollectiveNumbers, Fit
from deep500.schema import encoded

from .collectives import SIZES, TRUTH, launch, library, plan_of, row, simulated

RING = TimedCase("Ring()", "all_reduce", 2**20, "float32")


def derived(blocks, **settings) -> CollectiveNumbers:
    numbers = CollectiveBench().derive(plan_of(**settings), blocks)
    assert numbers is not None
    return numbers


def errors(fit: Fit) -> dict[str, float]:
    return {error.cells: error.median for error in fit.errors}


@pytest.fixture(scope="module")
def fit() -> Fit:
    [found] = derived(simulated()).fits
    return found


def test_the_fit_recovers_the_network(fit: Fit) -> None:
    found, value = fit.network, {p.name: p.value for p in fit.parameters}
    assert found.L == pytest.approx(TRUTH.L, rel=0.05)
    assert found.o == pytest.approx(TRUTH.o, rel=0.05)
    assert found.g == pytest.approx(TRUTH.g, rel=0.05)
    assert found.G == pytest.approx(TRUTH.G, rel=0.1)
    assert found.crowded_L == pytest.approx(TRUTH.crowded_L, rel=0.1)
    assert value["G from 262144 B"] == found.gaps[3]
    for parameter in fit.parameters:
        assert parameter.low <= parameter.value <= parameter.high


def test_what_was_held_out_is_predicted(fit: Fit) -> None:
    found = errors(fit)
    assert set(found) == {"fitted", "held out", "size", "algorithm", "ranks"}
    assert max(found.values()) < 0.03
    counts = {error.cells: error.n for error in fit.errors}
    assert counts["algorithm"] == 3 * len(SIZES)
    # three algorithms that are fitted, two numbers of ranks, two thirds of the sizes
    assert counts["fitted"] == 3 * 2 * 8


def test_an_algorithm_that_is_slower_than_its_cost_says_is_noticed() -> None:
    [fit] = derived(simulated(slower={"Rabenseifner()": 1.5})).fits
    found = errors(fit)
    assert found["algorithm"] == pytest.approx(1 - 1 / 1.5, abs=0.03)
    assert found["fitted"] < 0.03


def test_bandwidths_are_those_of_nccl_tests() -> None:
    blocks = [launch(4, n, [row(RING, 4, [1e-3] * 5)]) for n in range(6)]
    [cell] = derived(blocks).cells
    assert cell.algbw == pytest.approx(2**20 / 1e-3)
    assert cell.busbw == pytest.approx(cell.algbw * 2 * 3 / 4)
    assert (cell.seconds.n, cell.seconds.launches) == (30, 6)


def test_a_late_rank_is_skew_and_not_time() -> None:
    blocks = [launch(2, n, [row(RING, 2, [1e-3] * 5, late=3e-4)]) for n in range(6)]
    [cell] = derived(blocks).cells
    assert cell.skew == pytest.approx(3e-4)
    assert cell.seconds.value == pytest.approx(1e-3)
    assert cell.joint == pytest.approx(1e-3)


def test_the_time_is_that_of_the_slowest_rank() -> None:
    slow = row(RING, 2, [1e-3] * 5)
    leave = [[moments[0], 2 * moments[1]] for moments in slow.leave]
    changed = type(slow)(**{**vars(slow), "leave": leave})
    [cell] = derived([launch(2, n, [changed]) for n in range(3)]).cells
    assert cell.seconds.value == pytest.approx(2e-3)


def test_the_ratio_is_over_the_librarys_own_call() -> None:
    rows = [row(RING, 2, [3e-3] * 5), row(library(2**20), 2, [2e-3] * 5)]
    ring, own = derived([launch(2, n, rows) for n in range(6)]).cells
    assert ring.ratio.value == pytest.approx(1.5) and ring.ratio.low is not None
    assert own.ratio is None


@pytest.mark.parametrize(("both", "share"), [(2e-3, 1.0), (3e-3, 0.5), (5e-3, -0.5)])
def test_overlap_is_what_disappears(both: float, share: float) -> None:
    words = {"": 2e-3, COMPUTING: 2e-3, UNPOLLED: 4e-3, POLLED: both}
    rows = []
    for word, seconds in words.items():
        case = TimedCase(ENGINE, "all_reduce", 2**20, "float32", word)
        rows.append(row(case, 2, [seconds] * 5))
    [overlap] = derived([launch(2, n, rows) for n in range(6)]).overlaps
    assert overlap.unpolled.value == pytest.approx(0.0, abs=1e-9)
    assert overlap.polled.value == pytest.approx(share)


def test_a_launch_that_failed_is_named_and_not_accepted() -> None:
    kind, plan = CollectiveBench(), plan_of()
    blocks = [
        launch(2, 0, [row(RING, 2, [1e-3] * 5)]),
        launch(2, 1, [], "rank 1 was ended by SIGKILL"),
    ]
    numbers = kind.derive(plan, blocks)
    record = Record(kind, plan, blocks, numbers, {}, bundle="folder", hash="0" * 64)
    assert not kind.accepted(record) and kind.exit_code(record) == 1
    assert "rank 1 was ended by SIGKILL" in markdown(record.report())


def test_blocks_from_anyone_are_checked() -> None:
    kind = CollectiveBench()
    plan = plan_of(ranks=[2])
    good = encoded(launch(2, 0, [row(RING, 2, [1e-3] * 5)]))
    assert kind.check_blocks(plan, [good])
    with pytest.raises(Deep500Error, match="block 0 was not planned"):
        kind.check_blocks(plan, [{**good, "ranks": 3}])
    good["rows"][0]["leave"][2] = [1]
    with pytest.raises(Deep500Error, match="lacks ranks or iterations"):
        kind.check_blocks(plan, [good])
