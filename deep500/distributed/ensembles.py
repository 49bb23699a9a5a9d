"""Predictions of several replicas, averaged."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..contracts.transport import Program, all_reduce
from .replica import Replica


def mean_outputs(
    worker: Replica, batch: Mapping[str, Any], names: Sequence[str]
) -> Program:
    """The outputs of these names for a batch, averaged over all ranks; native to the worker's framework."""
    framework = worker.executor.framework
    outputs = worker.executor.inference(batch)
    means = {}
    for name in names:
        total = np.array(framework.array(outputs[name]))
        yield from all_reduce(total.reshape(-1))
        total /= worker.size
        means[name] = framework.tensor(total)
    return means
