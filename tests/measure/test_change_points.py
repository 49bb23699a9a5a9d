"""Changes in a series of results: planted ones are found with their place and size, and chance seldom makes one."""

import random

import pytest

from deep500.errors import TooFewSamples
from deep500.measure.statistics.change_points import change_points


def noise(n: int, seed: int, spread: float = 0.02) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(0, spread) for _ in range(n)]


def test_a_planted_shift_is_found() -> None:
    values = [x + (0.1 if i >= 14 else 0) for i, x in enumerate(noise(24, 1))]
    [found] = change_points(values)
    assert found.start == 14
    assert found.earliest <= 14 <= found.latest
    assert found.low < 0.1 < found.high and found.low > 0.05
    assert found.p <= 0.05 and found.n == 10


def test_two_planted_shifts_are_found() -> None:
    levels = [0.0] * 12 + [0.2] * 12 + [-0.1] * 12
    values = [x + y for x, y in zip(noise(36, 2), levels, strict=True)]
    assert [found.start for found in change_points(values)] == [12, 24]


def test_one_odd_result_is_no_change() -> None:
    values = noise(20, 3)
    values[-1] += 1.0
    assert change_points(values) == []


def test_the_order_of_chance_seldom_shows_a_change() -> None:
    alarms = sum(bool(change_points(noise(16, seed))) for seed in range(200))
    assert alarms <= 20  # 21 or more of 200 at 5 % each: 0.1 %


def test_the_place_is_inside_its_interval() -> None:
    """60 series with a shift of two standard deviations: at least the share that the level promises, less chance."""
    held = seen = 0
    for seed in range(60):
        values = [x + (0.04 if i >= 12 else 0) for i, x in enumerate(noise(24, seed))]
        for found in change_points(values):
            seen += 1
            held += found.earliest <= 12 <= found.latest
    assert seen >= 40
    assert held >= 0.85 * seen


def test_equal_values_do_not_change() -> None:
    assert change_points([1.0] * 12) == []


def test_too_few_results_are_refused() -> None:
    with pytest.raises(TooFewSamples, match="at least 8"):
        change_points([1.0] * 7)
