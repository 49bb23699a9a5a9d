"""Rows of a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ..sums import Part, Target
from .base import FixedRule, NodePlace, Ran, Run, only


class GatherRule(FixedRule):
    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if 0 in place.batched:
            return "from values that depend on the batch"
        return only(place, axis=0)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        table, indices = inputs
        place.operator.check(table, indices)
        upwards = np.where(indices < 0, indices + len(table), indices)
        return (np.take(table, upwards, axis=0),), upwards

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        return {}

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        terms = ran.run.uses * ran.run.size * part.each(ran.saved) * ran.saved[:1].size
        target.narrowed(terms).add_at(part.rows(ran.saved), part.rows(ran.gradients[0]))
