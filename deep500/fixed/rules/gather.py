"""Rows of a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ..sums import Part, Target
from .base import Gradients, Place, Rule, Run, only


class Gather(Rule):
    def lacks(self, operator: Operator, place: Place) -> str:
        if 0 in place.batched:
            return "from values that depend on the batch"
        return only(place, axis=0)

    def forward(self, run: Run, place: Place, inputs: Sequence[Any]) -> Any:
        table, indices = inputs
        place.operator.check(table, indices)
        upwards = np.where(indices < 0, indices + len(table), indices)
        return (np.take(table, upwards, axis=0),), upwards

    def backward(
        self, run: Run, place: Place, saved: Any, gradients: Gradients
    ) -> Mapping[int, Any]:
        return {}

    def collect(
        self,
        run: Run,
        place: Place,
        saved: Any,
        gradients: Gradients,
        position: int,
        part: Part,
        target: Target,
    ) -> None:
        terms = run.size * part.each(saved) * saved[:1].size
        target.narrowed(terms).add_at(part.rows(saved), part.rows(gradients[0]))
