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
    series = [s for s in series if len(s) > 1]
    if len(series) < 2:
        return None
    rounds = float(np.mean([len(s) for s in series]))
    within = float(np.mean([np.var(s, ddof=1) for s in series]))
    # The median of r rounds varies by about pi / 2 times the variance of their mean.
    between = (
        float(np.var([np.median(s) for s in series], ddof=1))
        - within * math.pi / 2 / rounds
    )
    if between <= 0 or within <= 0:
        return None
    return math.ceil(math.sqrt(start_s / round_s * within / between))
