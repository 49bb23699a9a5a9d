"""The benchmark of collectives: virtual ranks against the model, real ranks, and what cannot be measured."""

from pathlib import Path

import pytest

import deep500 as d5
from deep500.bench.collective_benchmark import CollectiveBenchmark
from deep500.bench.collectives.documents import CaseOnRank
from deep500.bench.collectives.launches import merged_row
from deep500.bench.collectives.sizes import DEEPBENCH, sizes_in_bytes
from deep500.errors import Deep500Error
from deep500.results.collectives.data import TimedCase
from deep500.results.collectives.numbers import CellNumbers

# whose declared costs are exact
EXACT = ("BinomialTree()", "RecursiveDoubling()", "Ring()")
BAD = Path(__file__).with_name("bad_collectives.py")
CASE = TimedCase("Ring()", "all_reduce", 8, "float32")


def cells(record) -> dict[str, CellNumbers]:
    return {cell.algorithm: cell for cell in record.derived.cells}


def test_virtual_ranks_take_what_the_model_says(tmp_path) -> None:
    record = d5.bench_collective(
        "virtual", [2, 3], size=["8", "1MB"], launches=3, out=tmp_path / "out"
    )
    assert record.derived.cells and not record.derived.failures
    for cell in record.derived.cells:
        assert cell.seconds.n == 1
        if cell.ranks == 2 and cell.algorithm in EXACT:
            assert cell.seconds.value == pytest.approx(cell.model, abs=1e-9)
        assert cell.seconds.value >= cell.bound - 1e-9
    assert d5.verify(tmp_path / "out").ok


def test_wrong_results_are_not_timed(tmp_path) -> None:
    algorithms = ["Ring()", f"{BAD}:Forgetful()"]
    record = d5.bench_collective(
        "virtual", 2, algorithm=algorithms, size=["8"], out=tmp_path / "out"
    )
    assert list(cells(record)) == ["Ring()"]
    [failure] = record.derived.failures
    assert "has a wrong all_reduce of 2 elements" in failure.reason
    assert record.kind.exit_code(record) == 1


def test_an_algorithm_that_is_not_for_these_ranks_is_listed(tmp_path) -> None:
    algorithms = ["Grid(rows=3)", "Bruck"]
    operations = ["all_reduce", "all_gather"]
    record = d5.bench_collective(
        "virtual",
        [3, 4],
        algorithm=algorithms,
        operation=operations,
        size=["48"],
        out=tmp_path / "out",
    )
    found = [(cell.algorithm, cell.operation) for cell in record.derived.cells]
    gathered = [("Bruck()", "all_gather")] * 2
    assert sorted(found) == [*gathered, ("Grid(rows=3)", "all_reduce")]
    [failure] = record.derived.failures
    assert "cannot hold 4 ranks" in failure.reason
    assert record.kind.exit_code(record) == 0


@pytest.mark.parametrize(
    "operation", ["reduce_scatter", "all_gather", "broadcast", "all_to_all"]
)
def test_every_operation_is_checked_and_timed(operation: str, tmp_path) -> None:
    record = d5.bench_collective(
        "virtual", 3, operation=[operation], size=["28"], out=tmp_path / "out"
    )
    assert not record.derived.failures
    for cell in record.derived.cells:
        assert cell.operation == operation and cell.seconds.value > 0


@pytest.mark.parametrize(
    "transport", ["mpi", pytest.param("torch", marks=pytest.mark.slow)]
)
def test_real_ranks(transport: str, tmp_path) -> None:
    record = d5.bench_collective(
        transport,
        2,
        algorithm=["Ring()", "library"],
        size=["8", "64KiB"],
        launches=1,
        seconds=0.01,
        calls=2,
        out=tmp_path / "out",
    )
    assert not record.derived.failures
    [block] = record.blocks
    assert len(block.residual) == 2 and block.start in ("window", "barrier")
    found = cells(record)
    assert found["library"].seconds.value > 0
    ring = found["Ring()"]
    assert (ring.bytes, ring.wire_bytes) == (65536, 65536)
    assert ring.memory >= ring.model_memory
    assert d5.verify(tmp_path / "out").ok


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["mpi", "torch"])
def test_a_rank_that_dies_is_named(transport: str, tmp_path) -> None:
    record = d5.bench_collective(
        transport,
        3,
        algorithm=[f"{BAD}:Dying()"],
        size=["8"],
        launches=1,
        seconds=5,
        out=tmp_path / "out",
    )
    [failure] = record.derived.failures
    assert "rank 1 was ended by SIGKILL" in failure.reason
    assert record.kind.exit_code(record) == 1


@pytest.mark.slow
def test_more_ranks_than_processors_and_overlap(tmp_path) -> None:
    record = d5.bench_collective(
        "mpi",
        4,
        algorithm=["Native()"],
        size=["8", "1MiB"],
        launches=1,
        seconds=0.1,
        overlap=True,
        out=tmp_path / "out",
    )
    assert not record.derived.failures
    assert [overlap.bytes for overlap in record.derived.overlaps] == [8, 2**20]


def test_moments_count_from_the_first_arrival() -> None:
    first = CaseOnRank(CASE, [100, 200], [150, 260], sent=8, memory=16)
    second = CaseOnRank(CASE, [110, 190], [140, 270], sent=8, memory=32)
    row = merged_row([first, second], 2)
    assert row.arrive == [[0, 10], [10, 0]]
    assert row.leave == [[50, 40], [70, 80]]
    assert row.memory == 32 and row.cost.messages == 2


def test_sizes() -> None:
    assert sizes_in_bytes(["1KiB", "8", "1kb", "8"]) == [8, 1000, 1024]
    assert sizes_in_bytes(["deepbench"]) == [4 * count for count in DEEPBENCH]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": ["-8"]}, "'-8' is no size"),
        ({"size": ["8 parsecs"]}, "is no size"),
        ({"size": ["4GiB"]}, "give 1 byte to 1024 MiB"),
        ({"size": ["2048MiB"]}, "give 1 byte to 1024 MiB"),
        ({"ranks": [1]}, "--ranks 1: give 2 to 256"),
        ({"ranks": [2, 2]}, "give each once"),
        ({"algorithm": ["Rings"]}, "Did you mean 'Ring'"),
        ({"transport": ["tcp"]}, "'tcp'"),
        ({"operation": ["gather"]}, "'gather'"),
        ({"start": "gun"}, "'gun'"),
        ({"launches": 0}, "--launches 0"),
        ({"seconds": -1.0}, "--seconds -1"),
        ({"size": ["7"]}, "7 bytes are no whole number of elements of float32"),
        ({"algorithm": ["Bruck"]}, "has no all_reduce: it offers all_gather"),
        ({"algorithm": ["Grid(rows=3)"], "ranks": [4, 5]}, "cannot hold 4 ranks"),
        (
            {"algorithm": ["library-apart"], "transport": ["torch"]},
            "give --operation all_reduce and --transport mpi$",
        ),
        ({"overlap": True, "transport": ["virtual"]}, "--overlap: virtual ranks"),
    ],
)
def test_bad_requests(settings: dict, message: str) -> None:
    with pytest.raises(Deep500Error, match=message) as raised:
        CollectiveBenchmark(**settings)
    assert "\n" not in str(raised.value)


def test_a_fitted_network_needs_a_fit(tmp_path) -> None:
    d5.bench_collective("virtual", 2, size=["8"], out=tmp_path / "out")
    with pytest.raises(Deep500Error, match="has fitted no network over mpi"):
        d5.fitted_network(tmp_path / "out")
