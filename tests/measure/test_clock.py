import tracemalloc

from deep500.measure.clock import (
    CLOCK_SHARE,
    Clock,
    calibrate,
    cold_caches,
    last_level_bytes,
)


def test_the_clock_knows_itself():
    clock = calibrate()
    assert 0 < clock.resolution_ns <= clock.overhead_ns * 10
    assert clock.overhead_ns > 0


def test_short_calls_are_batched_until_the_clock_is_cheap():
    clock = Clock("test", resolution_ns=1, overhead_ns=100)
    for once in (1, 37, 999, 5_000, 10_000, 1_000_000):
        calls = clock.calls_for(once)
        assert 100 <= CLOCK_SHARE * calls * once  # the clock costs at most its share
        # and no call more than needed is batched
        assert calls == 1 or 100 > CLOCK_SHARE * (calls - 1) * once


def test_the_size_of_the_last_cache_is_read_from_the_system(tmp_path):
    for number, size in enumerate(("32K", "1M", "48M", "odd")):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(size + "\n")
    assert last_level_bytes(tmp_path) == 48 << 20
    assert last_level_bytes(tmp_path / "nowhere") == 64 << 20


def test_cold_caches_copy_more_than_the_cache_holds():
    before = tracemalloc.start() or tracemalloc.get_traced_memory()[0]
    flush = cold_caches(1 << 20)
    flush()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert held >= 2 * (2 << 20)  # what is copied, and where to
