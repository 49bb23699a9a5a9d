"""How to spend a budget over levels of repetition: rounds inside a process against more processes.

Kalibera & Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013): with a variance of T1 between rounds and
T2 between processes, and a cost of c1 per round and c2 per process, the best number of rounds in each process is
sqrt(c2 / c1 * T1 / T2).
"""

import math
from collections.abc import Sequence

import numpy as np


def best_rounds(
    series: Sequence[np.ndarray], round_s: float, start_s: float
) -> int | None:
    """Rounds per process that give the narrowest interval for the time; None where processes do not differ."""
    series = [rounds for rounds in series if len(rounds) > 1]
    if len(series) < 2:
        return None
    lengths = [len(rounds) for rounds in series]
    variances = [np.var(rounds, ddof=1) for rounds in series]
    medians = [np.median(rounds) for rounds in series]
    mean_length = float(np.mean(lengths))
    within = float(np.mean(variances))
    # The median of r rounds varies by about pi / 2 times the variance of their mean.
    from_within = within * math.pi / 2 / mean_length
    between = float(np.var(medians, ddof=1)) - from_within
    if between <= 0 or within <= 0:
        return None
    best = math.sqrt(start_s / round_s * within / between)
    return math.ceil(best)
