"""Regions: what is timed, where it is counted, and that it stays bounded."""

import asyncio
import gc
import json
import signal
import threading
import time
from collections.abc import Generator, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.errors import Deep500Error
from deep500.measure.regions import durations
from deep500.measure.regions.breakdowns import BreakdownRow
from deep500.measure.regions.durations import KEPT, Durations
from deep500.measure.regions.forest import MAX_PATHS, OTHER, forest
from deep500.measure.regions.region import PENDING, breakdown, clear_regions, region


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    clear_regions()
    yield
    clear_regions()


def rows() -> dict[str, BreakdownRow]:
    return {"/".join(row.path): row for row in breakdown().rows}


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_nested_regions_make_paths() -> None:
    for _ in range(3):
        with region("train"):
            with region("forward"):
                spin(0.002)
            with region("backward"), region("forward"):
                spin(0.001)
    found = rows()
    assert set(found) == {
        "train",
        "train/forward",
        "train/backward",
        "train/backward/forward",
    }
    assert all(
        row.calls == 3 and row.raised == 0 and row.open == 0 for row in found.values()
    )
    train, forward, backward = (
        found["train"],
        found["train/forward"],
        found["train/backward"],
    )
    assert train.total_s >= 0.009 and forward.min_s >= 0.002
    assert forward.min_s <= forward.median_s <= forward.max_s <= forward.total_s
    assert train.self_s == pytest.approx(
        train.total_s - forward.total_s - backward.total_s
    )
    assert forward.share_of_parent == pytest.approx(forward.total_s / train.total_s)
    deepest = found["train/backward/forward"]
    assert deepest.share_of_parent == pytest.approx(deepest.total_s / backward.total_s)
    assert deepest.share_of_whole == pytest.approx(deepest.total_s / train.total_s)
    assert train.share_of_whole == train.share_of_parent == 1.0
    assert breakdown().whole_s == train.total_s


def test_children_follow_their_parent_largest_first() -> None:
    with region("b"):
        for name, seconds in (("short", 0.0), ("long", 0.002)):
            with region(name):
                spin(seconds)
    with region("a"):
        spin(0.02)
    assert [row.path for row in breakdown().rows] == [
        ("a",),
        ("b",),
        ("b", "long"),
        ("b", "short"),
    ]


def test_recursion_and_reentry_of_one_object() -> None:
    kept = region("f")

    @kept
    def f(depth: int) -> int:
        """Counts."""
        return 1 + f(depth - 1) if depth else 0

    assert f(2) == 2 and f.__name__ == "f" and f.__doc__ == "Counts."
    with kept, kept:
        pass
    assert {path: row.calls for path, row in rows().items()} == {
        "f": 2,
        "f/f": 2,
        "f/f/f": 1,
    }
    assert region("f") is kept


def test_exceptions_pass_and_are_counted() -> None:
    with pytest.raises(KeyError), region("outer"):
        with region("fine"):
            pass
        with region("inner"):
            raise KeyError
    with region("outer"):
        pass
    found = rows()
    assert {path: (row.calls, row.raised) for path, row in found.items()} == {
        "outer": (2, 1), "outer/fine": (1, 0), "outer/inner": (1, 1),
    }  # fmt: skip


def test_every_thread_has_its_own_tree_and_ended_ones_are_kept() -> None:
    shared = region("work")
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        for _ in range(1000):
            with shared, region("part"):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    with region("main"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = rows()
    assert {path: row.calls for path, row in found.items()} == {
        "main": 1,
        "work": 4000,
        "work/part": 4000,
    }
    assert found["work"].total_s >= found["work/part"].total_s
    assert not any("out of order" in note for note in breakdown().notes)


def test_thousands_of_short_threads_fill_no_memory() -> None:
    def work() -> None:
        with region("short"):
            pass

    for _ in range(2000):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    gc.collect()
    assert rows()["short"].calls == 2000
    assert rows()["short"].samples <= KEPT
    assert len(forest.trees) < 10


def test_reading_and_clearing_while_threads_run() -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with region("outer"), region("inner"):
                pass

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(40):
            found = breakdown()
            assert all(
                row.total_s >= 0 and (row.min_s is None or row.min_s >= 0)
                for row in found.rows
            )
            if turn % 10 == 5:
                clear_regions()
        # until the threads had a turn
        while len(breakdown().rows) < 2 or rows()["outer/inner"].calls < 100:
            time.sleep(0.001)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not any("out of order" in note for note in breakdown().notes)
    outer, inner = rows()["outer"].calls, rows()["outer/inner"].calls
    # the last clear may have come between the two, in each thread
    assert abs(outer - inner) <= 2


def test_sync_is_called_before_each_reading_of_the_clock() -> None:
    ends = []

    def sync() -> None:
        spin(0.005)
        ends.append(time.perf_counter())

    with region("device", sync=sync):
        assert len(ends) == 1
    assert len(ends) == 2
    # what was still running belongs to the region that started it
    assert 0.005 <= rows()["device"].total_s
    # and the first wait does not
    assert rows()["device"].total_s <= time.perf_counter() - ends[0]


def test_a_sync_that_fails_leaves_no_region_open() -> None:
    def broken() -> None:
        if armed:
            raise OSError("device lost")

    armed: list[int] = []
    with pytest.raises(OSError, match="device lost"), region("device", sync=broken):
        armed.append(1)
    with region("after"):
        pass
    assert {path: row.raised for path, row in rows().items()} == {
        "device": 1,
        "after": 0,
    }


@pytest.mark.parametrize("count", [1, PENDING - 1, PENDING, PENDING + 1, 3 * KEPT])
def test_every_call_is_counted_and_few_are_kept(count: int) -> None:
    for _ in range(count):
        with region("x"):
            pass
    row = rows()["x"]
    assert row.calls == count and row.samples == min(count, row.samples) <= KEPT
    assert row.samples > min(count, KEPT) // 2


def test_paths_are_capped() -> None:
    for i in range(MAX_PATHS + 50):
        with region("parent"), region(f"step {i}"), region("inside"):
            pass
    found = breakdown()
    listed = {"/".join(row.path): row for row in found.rows}
    # the parent, then two paths for each step while there is room; the last step has none for what is inside
    assert len(found.rows) == MAX_PATHS + 2
    assert listed[f"parent/{OTHER}"].calls == MAX_PATHS + 50 - MAX_PATHS // 2
    assert f"parent/{OTHER}/inside" not in listed
    assert listed["parent"].calls == MAX_PATHS + 50
    assert listed["parent"].self_s >= 0
    assert any(
        f"more than {MAX_PATHS} paths" in note for note in found.notes
    ) and OTHER in str(found)
    assert not any("out of order" in note for note in found.notes)
    clear_regions()
    with region("new"):
        pass
    assert set(rows()) == {"new"}


def test_a_path_deeper_than_the_stack_is_read() -> None:
    opened = [region(f"level {depth % 7}") for depth in range(3000)]
    for one in opened:
        one.__enter__()
    for one in reversed(opened):
        one.__exit__(None, None, None)
    assert len(breakdown().rows) == 3000


def test_open_regions_count_until_now() -> None:
    with region("open"):
        with region("done"):
            spin(0.001)
        found, table = rows(), str(breakdown())
    row = found["open"]
    assert (row.calls, row.open, row.median_s, row.note) == (
        0,
        1,
        None,
        "no call has ended",
    )
    assert row.total_s >= found["open/done"].total_s >= 0.001
    assert "0 + 1 open" in table and "+ open: " in table
    assert (rows()["open"].calls, rows()["open"].open) == (1, 0)


def test_clear_forgets_and_restarts_what_is_open() -> None:
    with region("open"):
        spin(0.005)
        with region("before"):
            pass
        cleared = time.perf_counter()
        clear_regions()
        with region("after"):
            pass
    since = time.perf_counter() - cleared
    found = rows()
    assert set(found) == {"open", "open/after"}
    assert found["open"].calls == 1 and found["open"].total_s <= since


def test_a_generator_suspended_inside_a_region_is_told() -> None:
    def generator() -> Generator[int, None, None]:
        with region("generator"):
            yield 1

    with region("outer"):
        suspended = generator()
        next(suspended)
    suspended.close()
    with region("next"):
        pass
    found = breakdown()
    assert any("2 regions ended out of order" in note for note in found.notes)
    # and the thread is back at the top
    assert {row.path for row in found.rows} == {("outer",), ("next",)}


def test_a_region_left_by_another_thread_is_told() -> None:
    kept = region("moved")
    kept.__enter__()
    thread = threading.Thread(target=kept.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert any("1 regions ended out of order" in note for note in breakdown().notes)
    kept.__exit__(None, None, None)
    assert rows()["moved"].calls == 1


def test_a_signal_handler_may_use_regions() -> None:
    def handler(number: int, frame: object) -> None:
        with region("handler"):
            pass

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(20_000):
            with region("interrupted"):
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    found = breakdown()
    assert (
        sum(row.calls for row in found.rows if row.path[-1] == "interrupted") == 20_000
    )
    assert any(row.path[-1] == "handler" for row in found.rows)
    assert not any("out of order" in note for note in found.notes)


async def coroutine() -> None: ...


async def asynchronous_generator():
    yield 1


def generator():
    yield 1


@pytest.mark.parametrize("function", [coroutine, asynchronous_generator, generator])
def test_what_suspends_is_not_decorated(function) -> None:
    with pytest.raises(Deep500Error, match=f"{function.__name__}.*with-blocks"):
        region("x")(function)


@pytest.mark.parametrize("thing", [3, int, None])
def test_only_functions_are_decorated(thing) -> None:
    with pytest.raises(Deep500Error, match="decorates functions"):
        region("x")(thing)


def test_a_with_block_without_await_is_right_in_a_coroutine() -> None:
    async def work() -> None:
        for _ in range(10):
            with region("step"):
                pass
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(work(), work())

    asyncio.run(both())
    assert {path: row.calls for path, row in rows().items()} == {"step": 20}


@pytest.mark.parametrize("name", ["", 3, None, OTHER, len])
def test_a_region_needs_a_name(name) -> None:
    with pytest.raises(Deep500Error, match=r'with region\("forward"\)'):
        region(name)


def test_sync_must_be_callable() -> None:
    with pytest.raises(Deep500Error, match="function without arguments"):
        region("x", sync=3)  # type: ignore[arg-type]


def test_the_table_is_aligned_and_says_what_is_unknown() -> None:
    with pytest.raises(ValueError), region("few"):
        raise ValueError
    for _ in range(40):
        with region("many"):
            spin(0.0001)
    lines = str(breakdown()).splitlines()
    header, table = lines[0], lines[1:3]
    assert header.split() == [
        "region", "calls", "total", "self", "of", "parent", "of", "whole", "median", "interval", "min", "max", "raised",
    ]  # fmt: skip
    assert len({len(line) for line in lines[:3]}) == 1
    few = next(line for line in table if line.startswith("few"))
    assert "n too small" in few and few.endswith(" 1")
    assert lines[3].startswith("whole: ")
    row = rows()["few"]
    assert row.low_s is None and "at least 6" in row.note


def test_json_is_plain() -> None:
    with region("a"), region("b"):
        pass
    data = json.loads(json.dumps(breakdown().to_json(), allow_nan=False))
    assert [row["path"] for row in data["rows"]] == [["a"], ["a", "b"]]
    assert data["whole_s"] == data["rows"][0]["total_s"] and data["level"] == 0.95


def test_nothing_timed_is_an_empty_table() -> None:
    assert breakdown().rows == () and breakdown().whole_s == 0.0
    assert len(str(breakdown()).splitlines()) == 2


values = st.lists(st.floats(0, 1e3), max_size=200)


@given(st.lists(values, max_size=20), st.integers(1, 16))
def test_thinning_is_uniform_over_time(batches, capacity) -> None:
    """What is kept is exactly every stride-th of all values, however they came in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durations, "KEPT", capacity)
        seen, everything = Durations(), []
        for batch in batches:
            seen.add(batch)
            everything += batch
    assert list(seen.kept) == everything[:: seen.stride]
    assert len(seen.kept) <= capacity and (
        seen.stride == 1 or 2 * len(seen.kept) >= capacity
    )
    assert seen.count == len(everything) and seen.total == pytest.approx(
        sum(everything)
    )
    if everything:
        assert (seen.low, seen.high) == (min(everything), max(everything))


@given(st.lists(values, max_size=20), st.integers(2, 16))
def test_joining_thins_in_step(series, capacity) -> None:
    """Joined series are thinned about as one series would be: nobody is kept more often than his share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durations, "KEPT", capacity)
        joined = Durations()
        for one in series:
            seen = Durations()
            seen.add(one)
            joined.join(seen)
    total = sum(map(len, series))
    assert joined.count == total and joined.total == pytest.approx(
        sum(map(sum, series))
    )
    assert len(joined.kept) <= capacity
    assert len(joined.kept) <= total / joined.stride + 1 + len(series)
    assert set(joined.kept) <= {value for one in series for value in one}


def test_many_short_series_are_kept_evenly() -> None:
    """The planted error: taking the first of each joined series would keep far more of the late ones."""
    joined = Durations()
    for i in range(20_000):
        one = Durations()
        one.add([float(i)])
        joined.join(one)
    assert list(joined.kept) == [float(i) for i in range(0, 20_000, joined.stride)]
