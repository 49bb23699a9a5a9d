"""Operators whose formulas consist of functions that have fixed bits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..sums import Part, Target
from .base import FixedRule, Gradients, NodePlace, Ran, Run

# their formulas use the namespace alone, and no operator of Python but + - * / and comparisons
OPERATORS = (
    *("Abs", "Clip", "Concat", "Div", "Dropout", "Elu", "Erf"),
    *("Exp", "Flatten", "GlobalAveragePool", "HardSigmoid", "HardSwish", "Identity"),
    *("LeakyRelu", "Log", "LogSoftmax", "Max", "Min", "Mul", "Neg", "Pad"),
    *("Reciprocal", "Reshape", "Selu", "Sigmoid", "Slice", "Softmax", "Softplus"),
    *("Split", "Sqrt", "Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze", "Where"),
)


class Formula(FixedRule):
    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        results = place.operator.run(run.xp, *inputs)
        return place.operator.published(results), (inputs, results)

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        inputs, results = ran.saved
        pulled = _pulled(ran.run, ran.place, ran.gradients, inputs, results)
        return dict(enumerate(pulled))

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        inputs, results = ran.saved
        for leaf in part.leaves():
            own = [
                leaf.rows(value) if number in ran.place.batched else value
                for number, value in enumerate(inputs)
            ]
            outputs = [leaf.rows(value) for value in results]
            slopes = [None if g is None else leaf.rows(g) for g in ran.gradients]
            pulled = _pulled(ran.run, ran.place, slopes, own, outputs)
            target.add_rows(pulled[position].reshape(1, -1))


class AddRule(Formula):
    """Parameters that are added to every example have a kernel."""

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        inputs, _ = ran.saved
        pulled = {}
        for position in ran.place.wanted:
            shape = inputs[position].shape
            pulled[position] = ran.run.xp.unbroadcast(ran.gradients[0], shape)
        return pulled

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        dy = ran.gradients[0]
        if target.total.shape != dy.shape[1:]:
            super().collect(ran, position, part, target)
            return
        target.add_rows(part.rows(dy), leaf=part.leaf * part.each(dy))


def _pulled(
    run: Run, place: NodePlace, gradients: Gradients, inputs: Any, results: Any
) -> list[Any]:
    published = place.operator.published(results)
    whole = []
    for number, result in enumerate(published):
        gradient = gradients[number] if number < len(gradients) else None
        whole.append(np.zeros_like(result) if gradient is None else gradient)
    return place.operator.gradients(run.xp, whole, inputs, results)
