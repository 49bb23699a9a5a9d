"""Data that break an assumption of the intervals: dependent processes, slow changes, coarse clocks, several costs."""

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from scipy.signal import lfilter

from deep500.measure.bench_blocks import check_blocks
from deep500.measure.bench_plan import check_plan
from deep500.measure.plan import make_plan
from deep500.measure.results import Result

Random = np.random.Generator
# The costs of so many calls.
Draw = Callable[[Random, int], np.ndarray]
ROUNDS = 60  # of a simulated process
IN_A_ROW = 40  # visits of each candidate alone
UNIT_NS = 1e6


def autoregressive(random: Random, n: int, rho: float) -> np.ndarray:
    """A stationary standard normal first-order autoregression."""
    noise = random.standard_normal(n)
    noise[1:] *= math.sqrt(1 - rho * rho)
    return lfilter([1.0], [1.0, -rho], noise)


def dependent_processes(random: Random, count: int, rho: float) -> list[np.ndarray]:
    """Processes of 20 values (1 %) whose levels (3 %) depend on the process before."""
    levels = 0.03 * autoregressive(random, count, rho)
    noise = 0.01 * random.standard_normal((count, 20))
    return list(np.exp(levels[:, None] + noise))


def long_memory(random: Random, n: int, hurst: float) -> np.ndarray:
    """Fractional Gaussian noise by circulant embedding, as times that vary by 3 %."""
    lag = np.arange(n + 1.0)
    power = 2 * hurst
    covariance = (np.abs(lag + 1) ** power + np.abs(lag - 1) ** power) / 2 - lag**power
    row = np.concatenate([covariance, covariance[-2:0:-1]])
    spectrum = np.maximum(np.fft.fft(row).real, 0)
    size = len(row)
    noise = random.standard_normal(size) + 1j * random.standard_normal(size)
    series = np.fft.fft(np.sqrt(spectrum / size) * noise).real[:n]
    return np.exp(0.03 * series)


def switching(random: Random, n: int, dwell: float) -> np.ndarray:
    """Two modes 20 % apart, of which the lower has 60 % of the time; each is kept for about `dwell` calls."""
    starts_high = random.random() < 0.4
    is_high = (np.arange(n) + starts_high) % 2 == 1
    leave = np.where(is_high, 1.2 / dwell, 0.8 / dwell)
    modes = np.repeat(is_high, random.geometric(leave))[:n]
    return np.exp(math.log(1.2) * modes + 0.01 * random.standard_normal(n))


def switching_median() -> float:
    """The median of the mixture: the 5/6 quantile of the lower mode."""
    return math.exp(0.01 * 0.9674215661017014)


def ticks(random: Random, n: int, true: float) -> np.ndarray:
    """Times of 0.2 % spread in whole ticks of a clock that starts anywhere in a tick."""
    exact = true * np.exp(0.002 * random.standard_normal(n))
    return np.maximum(np.floor(exact + random.random(n)), 1.0)


def measured(
    random: Random,
    draws: list[Draw],
    processes: int = 6,
    carry_over: float = 0.0,
    log_levels: np.ndarray | None = None,
    margin: float = 0.02,
) -> Result:
    """The result of a run of a and b whose visits cost what the draws say, in units of a millisecond.

    `carry_over` is what a visit of b costs more, as a share, if the visit before was one of a.
    """
    seed = int(random.integers(1 << 30))
    plan = make_plan({"a": "pass", "b": "pass"}, seed=seed, margin=margin)
    blocks = []
    for process in range(processes):
        orders = list(islice(plan.orders(process), ROUNDS))
        level = math.exp(log_levels[process]) if log_levels is not None else 1.0
        order = np.array(orders)
        is_b = order.ravel() == 1
        after_a = np.concatenate(([True], ~is_b[:-1]))
        cost_of_a, cost_of_b = [draw(random, len(is_b)) for draw in draws]
        cost_of_b *= level * (1 + carry_over * after_a)
        costs = np.where(is_b, cost_of_b, cost_of_a)
        row_a = draws[0](random, IN_A_ROW)
        row_b = level * draws[1](random, IN_A_ROW)
        block: dict[str, Any] = {
            "process": process,
            "calls": [1, 1],
            "untimed": [0, 0],
            "after": [0.0, 0.0],
            "orders": orders,
            "ns": _ns(costs.reshape(order.shape)),
            "alone": [_ns(row_a), _ns(row_b)],
        }
        blocks.append(block)
    written = check_plan(plan.to_json())
    return Result(written, check_blocks(written, blocks))


def _ns(costs: np.ndarray) -> list:
    return np.rint(UNIT_NS * costs).astype(int).tolist()


def one_cost(random: Random, n: int, cost: float = 1.0) -> np.ndarray:
    return cost * np.exp(0.01 * random.standard_normal(n))


def two_costs(random: Random, n: int) -> np.ndarray:
    """1 in 60 % and 5 in 40 % of the calls: median 1, mean 2.6."""
    return one_cost(random, n) * np.where(random.random(n) < 0.6, 1.0, 5.0)
