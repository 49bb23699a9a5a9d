"""`d5 check collective`: built-in collectives are right, and each planted error is found by the promise it breaks."""

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import deep500 as d5
from deep500.check.collectives import promises
from deep500.check.collectives.buffers import most_allocated
from deep500.check.collectives.cases import miscounted
from deep500.cli import main
from deep500.collectives.binomial_tree import BinomialTree
from deep500.collectives.direct import Direct
from deep500.collectives.ring import Ring
from deep500.collectives.ssar_recursive_doubling import SSARRecursiveDoubling
from deep500.contracts.collective import Collective
from deep500.contracts.collective_cost import CollectiveCost
from deep500.contracts.sparse_stream import SparseStream
from deep500.contracts.transport import (
    Program,
    RankFailure,
    ReduceOp,
    exchange,
    receive,
    send,
)
from deep500.errors import Deep500Error, Incomplete
from tests.collectives.runs import VARIANTS

RANKS = 5


@pytest.mark.parametrize("text", [*d5.collectives.__dir__(), *VARIANTS])
def test_built_in_collectives_are_right(text: str) -> None:
    reports = d5.check_collective(text, ranks=RANKS)
    assert reports.ok, reports.text


def test_what_another_thread_allocates_is_not_the_collectives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = iter([10_000_000])

    def allocated(run: Any) -> int:
        return most_allocated(run) + next(elsewhere, 0)

    monkeypatch.setattr(promises, "most_allocated", allocated)
    reports = d5.check_collective("Ring", ranks=3)
    assert reports.ok, reports.text
    assert next(elsewhere, None) is None


@pytest.mark.slow
@pytest.mark.parametrize("text", [*d5.collectives.__dir__(), *VARIANTS])
def test_built_in_collectives_are_right_on_17_ranks(text: str) -> None:
    reports = d5.check_collective(text)
    assert reports.ok, reports.text


class Doubling(Collective):
    """Recursive doubling for powers of two; the errors below are changes to it."""

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        distance = 1
        while distance < size:
            partner = rank ^ distance
            if partner < size:
                incoming = np.empty_like(array)
                yield from exchange(partner, array, partner, incoming, self.tag)
                array += incoming
            distance *= 2


class Twice(Ring):
    """Adds its own array up twice."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        if rank == size - 1 and op == "sum":
            array *= 2
        yield from super().all_reduce(rank, size, array, op)


class OnlySums(Ring):
    """Adds up whatever is asked for."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        yield from super().all_reduce(rank, size, array, "sum")


class Even(Collective):
    """Forgets what is left when an array is cut into equal pieces."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        even = array[: len(array) // size * size]
        yield from Ring(tag=self.tag).all_reduce(rank, size, even, op)


class InItsOwnOrder(Collective):
    """Every rank begins with its own array."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        gathered = np.empty(size * len(array), array.dtype)
        rows = gathered.reshape(size, len(array))
        rows[rank] = array
        yield from Direct(tag=self.tag).all_gather(rank, size, gathered)
        for turn in range(1, size):
            combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op]
            combine(array, rows[(rank + turn) % size], out=array)


class Half(Ring):
    """Sends numbers of 16 bits."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        if array.dtype == np.float32:
            short = array.astype(np.float16)
            yield from super().all_reduce(rank, size, short, op)
            array[:] = short
        else:
            yield from super().all_reduce(rank, size, array, op)


class NoUnsigned(Ring):
    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        if array.dtype.kind != "u":
            yield from super().all_reduce(rank, size, array, op)


class Random(Ring):
    """Draws the place of the first piece from a generator that all runs share."""

    generator: ClassVar[Any] = np.random.default_rng(1)
    drawn: ClassVar[dict[int, int]] = {}

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        if rank == 0:
            self.drawn[0] = int(self.generator.integers(1, 1 + size))
        shift = self.drawn[0]
        turned = np.roll(array, shift)
        yield from super().all_reduce(rank, size, turned, op)
        array[:] = np.roll(turned, -shift)


class Beside(Ring):
    """Writes one element too many."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        yield from super().all_reduce(rank, size, array, op)
        array.base[len(array.base) - 8] = 0


class Copies(Ring):
    def reduce_scatter(
        self, rank: int, size: int, array: Any, op: Any = "sum"
    ) -> Program:
        piece = yield from super().reduce_scatter(rank, size, array, op)
        return piece.copy()


class SendsFirst(Ring):
    """Both neighbours send before they receive."""

    def _pass_on(self, rank: int, size: int, outgoing: Any, into: Any) -> Program:
        yield from send((rank + 1) % size, outgoing, self.tag)
        yield from receive((rank - 1) % size, into, self.tag)


class OneTag(Ring):
    def _pass_on(self, rank: int, size: int, outgoing: Any, into: Any) -> Program:
        yield from exchange((rank + 1) % size, outgoing, (rank - 1) % size, into, 3)


class Swallows(Ring):
    """Goes on without the ranks that are lost."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        try:
            yield from super().all_reduce(rank, size, array, op)
        except RankFailure:
            return


class Chatty(Ring):
    """Sends what its cost does not say."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        yield from super().all_reduce(rank, size, array, op)
        yield from BinomialTree(tag=self.tag).broadcast(rank, size, array)


class Free(Ring):
    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        cost = super().all_reduce_cost(size, count, gamma)
        return CollectiveCost(cost.messages, cost.bytes, cost.memory)


class Hoards(Ring):
    """Keeps a copy that its cost does not say."""

    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        kept = array.copy()
        yield from super().all_reduce(rank, size, array, op)
        assert kept.shape == array.shape


class Crashes(Ring):
    def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Program:
        yield from super().all_reduce(rank, size, array, op)
        array[1000] = 0


class Drops(SSARRecursiveDoubling):
    """Loses the last entry of a sparse sum."""

    def sparse_all_reduce(self, rank: int, size: int, stream: Any) -> Program:
        total = yield from super().sparse_all_reduce(rank, size, stream)
        if total.indices is None or not total.entries:
            return total
        return SparseStream(total.size, total.values[:-1], total.indices[:-1])


PLANTED = {
    Drops: "values",
    Doubling: "every rank",
    Twice: "every rank",
    OnlySums: "values",
    Even: "every rank",
    InItsOwnOrder: "same bits",
    Half: "rounding",
    NoUnsigned: "dtypes",
    Random: "determinism",
    Beside: "in place",
    Copies: "in place",
    SendsFirst: "rendezvous",
    OneTag: "two at once",
    Swallows: "lost rank",
    Chatty: "traffic",
    Free: "seconds",
    Hoards: "memory",
    Crashes: "values",
}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda cls: cls.__name__)
def test_planted_errors_are_found(planted: type[Collective]) -> None:
    reports = d5.check_collective(planted, ranks=RANKS)
    wrong = {check.name for check in reports.wrong}
    assert PLANTED[planted] in wrong, reports.text


def test_reasons_are_named() -> None:
    texts = {}
    for planted in (Twice, SendsFirst, Crashes, Swallows):
        reports = d5.check_collective(planted, ranks=3)
        texts[planted] = {c.name: f"{c.case}: {c.text}" for c in reports.wrong}
    twice = "P = 1, 1 element of int64: element 0 of rank 0 counts rank 0 twice"
    assert twice in texts[Twice]["every rank"]
    assert "deadlock of ranks 0 -> 1 -> 0" in texts[SendsFirst]["rendezvous"]
    place = "in Crashes.all_reduce (test_collective_checks.py, line"
    assert place in texts[Crashes]["values"]
    assert "nobody noticed that rank 1 was lost" in texts[Swallows]["lost rank"]


def test_ranks_that_are_counted() -> None:
    assert miscounted(8**0 + 8**1 + 8**2, 3) == ""
    assert miscounted(2 * 8**0 + 8**2, 3) == "rank 0 twice, rank 1 never"
    assert miscounted(8**0 + 8**5, 1) == "ranks that are not there"
    assert miscounted(-1, 1) == "the sum is -1"


def test_sizes_that_are_refused_are_left_out() -> None:
    reports = d5.check_collective(d5.collectives.Grid(rows=2), ranks=4)
    assert reports.ok
    with pytest.raises(Deep500Error, match="accepts no number of ranks from 2 to 6"):
        d5.check_collective(d5.collectives.Grid(rows=7), ranks=6)


def test_what_offers_nothing_is_refused() -> None:
    class Nothing(Collective):
        pass

    with pytest.raises(Deep500Error, match="Nothing has no operation: write one of"):
        d5.check_collective(Nothing)


def test_what_is_no_program_is_not_judged() -> None:
    class NoProgram(Collective):
        def all_reduce(self, rank: int, size: int, array: Any, op: Any = "sum") -> Any:
            array += 1

    with pytest.raises(Incomplete, match=r"NoProgram.all_reduce .* returned None: wri"):
        d5.check_collective(NoProgram)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Rng"], "no collective is named 'Rng'. Did you mean 'Ring'?"),
        (["Ring", "--ranks", "1"], "--ranks 1: give 2 to 64"),
        (["Ring", "--ranks", "-3"], "--ranks -3: give 2 to 64"),
        (["Grid(rows=9)", "--ranks", "4"], "accepts no number of ranks from 2 to 4"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "collective", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_the_command_writes_a_bundle(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    (tmp_path / "mine.py").write_text(
        "import deep500 as d5\n\nclass Mine(d5.collectives.Ring):\n"
        "    def all_reduce(self, rank, size, array, op='sum'):\n"
        "        yield from super().all_reduce(rank, size, array, 'sum')\n"
    )
    bundle = str(tmp_path / "bundle")
    text = f"{tmp_path / 'mine.py'}:Mine"
    words = ["check", "collective", text, "--ranks", "3", "--json", "--out", bundle]
    assert main(words) == 1
    [report] = json.loads(capsys.readouterr().out)["reports"]
    wrong = {c["name"] for c in report["checks"] if c["verdict"] == "wrong"}
    assert (report["noun"], wrong) == ("collective", {"values"})
    assert main(["verify", bundle]) == 0
