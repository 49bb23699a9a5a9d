"""What random operators draw has the distribution that they promise, by tests that see a wrong one."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from deep500.contracts.operator import Operator
from deep500.frameworks import framework
from deep500.operators.bernoulli import Bernoulli
from deep500.operators.dropout import Dropout
from deep500.operators.multinomial import Multinomial
from deep500.operators.random_normal import RandomNormal
from deep500.operators.random_normal_like import RandomNormalLike
from deep500.operators.random_uniform import RandomUniform
from deep500.operators.random_uniform_like import RandomUniformLike

SIZE = (200, 250)
LEVEL = 1e-3  # keys are fixed: what passes once passes always


def drawn(
    operator: Operator, *inputs: Any, key: tuple[int, int] = (11, 5)
) -> np.ndarray:
    return framework("reference").evaluate(operator, inputs, key=key)[0]


def share(values: np.ndarray, distribution: Any) -> float:
    """How probable a sample at least as far from the distribution is."""
    return float(
        stats.kstest(values.astype("float64").ravel(), distribution.cdf).pvalue
    )


@pytest.mark.parametrize(
    "values",
    [
        drawn(RandomUniform(SIZE, low=-2.0, high=3.0)),
        drawn(RandomUniformLike(low=-2.0, high=3.0), np.zeros(SIZE)),
    ],
)
def test_uniform(values: np.ndarray) -> None:
    assert share(values, stats.uniform(-2, 5)) > LEVEL
    assert share(values, stats.uniform(-2, 5.2)) < LEVEL  # 4 % too wide
    assert -2 <= values.min() < -1.999 and 2.999 < values.max() <= 3


@pytest.mark.parametrize(
    "values",
    [
        drawn(RandomNormal(SIZE, mean=1.0, scale=2.0)),
        drawn(RandomNormalLike(mean=1.0, scale=2.0), np.zeros(SIZE)),
    ],
)
def test_normal(values: np.ndarray) -> None:
    assert share(values, stats.norm(1, 2)) > LEVEL
    assert share(values, stats.norm(1, 2.1)) < LEVEL
    assert abs(stats.kurtosis(values.ravel())) < 5 * (24 / values.size) ** 0.5
    assert np.abs(values - 1).max() > 2 * 3.9  # the tails are there


def test_bernoulli() -> None:
    chances = np.repeat([0.0, 0.1, 0.5, 0.93, 1.0], 20_000)
    ones = drawn(Bernoulli(), chances).reshape(5, -1).sum(axis=1)
    assert ones[0] == 0 and ones[4] == 20_000
    for count, chance in zip(ones[1:4], (0.1, 0.5, 0.93), strict=True):
        assert stats.binomtest(int(count), 20_000, chance).pvalue > LEVEL
        assert stats.binomtest(int(count), 20_000, chance + 0.02).pvalue < LEVEL


def test_multinomial() -> None:
    weights = np.array([[1.0, 2.0, 0.0, 5.0], [3.0, 3.0, 3.0, 1.0]])
    with np.errstate(divide="ignore"):
        classes = drawn(Multinomial(sample_size=20_000), np.log(weights) + 7)
    for row, weight in zip(classes, weights, strict=True):
        seen = np.bincount(row, minlength=4)
        possible = weight > 0
        assert not seen[~possible].any()
        right = 20_000 * weight / weight.sum()
        assert stats.chisquare(seen[possible], right[possible]).pvalue > LEVEL
        assert stats.chisquare(np.sort(seen), np.full(4, 5000)).pvalue < LEVEL


def test_dropout_drops_its_share_and_keeps_the_mean() -> None:
    ones = np.ones((400, 500))  # so many that one per cent shows
    y, mask = framework("reference").evaluate(Dropout(), [ones, 0.3, True], key=(1, 2))
    assert stats.binomtest(int(mask.sum()), mask.size, 0.7).pvalue > LEVEL
    assert stats.binomtest(int(mask.sum()), mask.size, 0.71).pvalue < LEVEL
    assert np.allclose(y, mask / 0.7)


def test_steps_and_neighbours_are_independent() -> None:
    """Keys that differ in one word by one are what a training run draws by."""
    rows = np.stack([drawn(RandomUniform((5000,)), key=(3, step)) for step in range(8)])
    correlations = np.corrcoef(
        np.concatenate([rows, rows[:1, ::-1], np.roll(rows[:1], 1, axis=1)])
    )
    off = correlations[~np.eye(len(correlations), dtype=bool)]
    assert np.abs(off).max() < 5 / 5000**0.5
    assert share(rows, stats.uniform()) > LEVEL


@pytest.mark.parametrize("operator", [RandomNormal((4, 5)), RandomUniform((4, 5))])
def test_a_draw_is_a_function_of_its_key(operator: Operator) -> None:
    first, again, other, word = (
        drawn(operator, key=key) for key in ((1, 2), (1, 2), (1, 3), (2, 2))
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other) and not np.array_equal(first, word)
