from deep500.measure.clock import CLOCK_SHARE, Clock, calibrate, cold_caches


def test_the_clock_knows_itself():
    clock = calibrate()
    assert 0 < clock.resolution_ns <= clock.overhead_ns * 10
    assert clock.overhead_ns > 0


def test_short_calls_are_batched_until_the_clock_is_cheap():
    clock = Clock("test", resolution_ns=1, overhead_ns=100)
    for once in (1, 37, 999, 5_000, 10_000, 1_000_000):
        calls = clock.calls_for(once)
        assert 100 <= CLOCK_SHARE * calls * once  # the clock costs at most its share
        assert calls == 1 or 100 > CLOCK_SHARE * (calls - 1) * once  # and no call more than needed is batched


def test_cold_caches_write_more_than_the_cache_holds():
    flush = cold_caches(1 << 16)
    flush()
    source, target = (cell.cell_contents for cell in flush.__closure__)
    assert len(source) == len(target) == 2 << 16
