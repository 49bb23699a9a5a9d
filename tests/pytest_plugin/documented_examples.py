"""The examples of pytest-benchmark's documentation (README, usage, pedantic), as they stand there."""

import time

import pytest


def something(duration=0.000001):
    """
    Function that needs some serious benchmarking.
    """
    time.sleep(duration)
    # You may return anything you want, like the result of a computation
    return 123


def test_result(benchmark):
    # benchmark something
    result = benchmark(something)

    # Extra code, to verify that the run completed correctly.
    # Sometimes you may want to check the result, fast functions
    # are no good if they return incorrect results :-)
    assert result == 123


def test_arguments(benchmark):
    benchmark(time.sleep, 0.02)


def test_keyword_arguments(benchmark):
    # the page calls time.sleep, which takes no keyword
    benchmark(something, duration=0.02)


def test_decorator(benchmark):
    @benchmark
    def something():  # unnecessary function call
        time.sleep(0.000001)


def test_final_function(benchmark):
    benchmark(time.sleep, 0.000001)  # way more accurate results!


def my_special_setup(): ...


def stuff(a, b, c, foo):
    return a + b + c, foo


def test_with_special_setup(benchmark):
    # the page has iterations=10, which pytest-benchmark refuses beside a setup
    benchmark.pedantic(
        stuff, setup=my_special_setup, args=(1, 2, 3), kwargs={"foo": "bar"}, rounds=100
    )


def test_pedantic(benchmark):
    benchmark.pedantic(
        stuff, args=(1, 2, 3), kwargs={"foo": "bar"}, iterations=10, rounds=100
    )


def test_with_setup(benchmark):
    def setup():
        # can optionally return a (args, kwargs) tuple
        return (1, 2, 3), {"foo": "bar"}

    result = benchmark.pedantic(stuff, setup=setup, rounds=100)
    assert result == (6, "bar")


@pytest.mark.benchmark(
    group="group-name",
    baseline=True,
    min_time=0.1,
    max_time=0.5,
    min_rounds=5,
    timer=time.time,
    disable_gc=True,
    warmup=False,
)
def test_marker(benchmark):
    @benchmark
    def result():
        # Code to be measured
        return time.sleep(0.000001)

    # Extra code, to verify that the run
    # completed correctly.
    # Note: this code is not measured.
    assert result is None


def test_extra_info(benchmark):
    benchmark.extra_info["foo"] = "bar"
    benchmark(time.sleep, 0.02)


def test_stats(benchmark):
    benchmark(something)
    stats = benchmark.stats.stats
    assert 0 < stats.min <= stats.median <= stats.max
    assert stats.mean == benchmark.stats["mean"]
    assert stats.rounds == len(stats.data)


def test_an_error_is_the_functions_own(benchmark):
    with pytest.raises(ZeroDivisionError):
        benchmark(lambda: 1 / 0)
