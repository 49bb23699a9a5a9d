"""Gradients against the slope of the outputs themselves, and by each framework's own differentiation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.calls import natives
from ...contracts.framework import Framework
from .examples import Example, generator
from .formats import wide
from .report import Check

DIRECTIONS = 3
STEPS = (1e-5, 1e-6, 1e-7)  # the next where a kink lies within the first
TOLERANCE = 1e-7
KINK = 1e-3  # slopes on both sides that differ by more than this are two slopes


def difference_check(example: Example, grads: Sequence[Any], name: str = "differences") -> Check:
    """Float64 gradients against central differences of the truth, along random directions of every input."""
    inputs, seeds = wide(example.inputs), wide(example.seeds)
    found = []
    for i in (i for i in example.floats if grads[i] is not None and inputs[i].size):
        if np.shape(grads[i]) != inputs[i].shape:
            shapes = f"shape {list(np.shape(grads[i]))} where {list(inputs[i].shape)} is right"
            return Check(
                name,
                False,
                None,
                None,
                f"gradient by {example.input_name(i)}: {shapes}",
                "float64",
                example.name,
            )
        for k in range(DIRECTIONS):
            along = generator(example.name, i, k).choice([-1.0, 1.0], inputs[i].shape)
            slopes = _Slopes(example, inputs, seeds, i, along)
            found.append(slopes.check(name, np.asarray(grads[i], "float64")))
    return max(
        found,
        key=lambda check: check.weight,
        default=Check(
            name, None, None, None, "there is no gradient to test", "float64", example.name
        ),
    )


@dataclass(frozen=True)
class _Slopes:
    """The weighed sum of the outputs along one direction of one input."""

    example: Example
    inputs: tuple
    seeds: tuple
    i: int
    along: np.ndarray

    def check(self, name: str, grad: np.ndarray) -> Check:
        """The gradient against the slope at every step in turn, until one agrees."""
        claimed, results = float(np.sum(grad * self.along)), []
        size, low, high = float(np.sum(np.abs(grad))), (0.0, 0.0), (0.0, 0.0)
        scale = min(1.0, float(np.max(np.abs(self.inputs[self.i])))) or 1.0
        for step in (scale * step for step in STEPS):
            low, high = self.at(-step), self.at(step)
            slope, bound = (high[0] - low[0]) / (2 * step), TOLERANCE * (size + high[1] / scale)
            text = (
                f"the derivative by {self.example.input_name(self.i)} is {slope:.9g} along a random direction, "
                f"the gradient says {claimed:.9g}"
            )
            results.append(
                self._check(
                    name, bool(abs(slope - claimed) <= bound), abs(slope - claimed), bound, text
                )
            )
            if results[-1].ok:
                return results[-1]
        here = self.at(0.0)
        if not np.isfinite(size) and np.isfinite([low[0], here[0], high[0]]).all():
            return results[-1]
        if not abs(high[0] - 2 * here[0] + low[0]) / step <= KINK * (size + here[1] / scale):
            return self._check(
                name, None, None, None, "the inputs lie on a kink, where there is no derivative"
            )
        return min(results, key=lambda check: check.weight)

    def at(self, step: float) -> tuple[float, float]:
        moved = (
            *self.inputs[: self.i],
            self.inputs[self.i] + step * self.along,
            *self.inputs[self.i + 1 :],
        )
        return _loss(self.example, self.seeds, moved)

    def _check(
        self, name: str, ok: bool | None, value: float | None, bound: float | None, text: str
    ) -> Check:
        return Check(name, ok, value, bound, "" if ok else text, "float64", self.example.name)


def _loss(example: Example, seeds: Sequence, inputs: tuple) -> tuple[float, float]:
    """The sum of the outputs weighed by the seeds, and the sum of its terms' magnitudes."""
    terms = [s * y for s, y in zip(seeds, example.truth(inputs), strict=False) if s is not None]
    return sum(float(np.sum(t)) for t in terms), sum(float(np.sum(np.abs(t))) for t in terms)


def autodiff(fw: Framework, example: Example) -> list[np.ndarray | None] | None:
    """The gradients that the framework finds by itself through its kernel; None where it cannot differentiate.

    Asked for by the inputs that have a declared gradient, or by all float inputs where the operator declares none.
    """
    if not fw.abilities.autodiff:
        return None
    asked = (
        [i for i, g in enumerate(example.gradients) if g is not None]
        if example.smooth
        else example.floats
    )
    given = [fw.tensor(x) if isinstance(x, np.ndarray) else x for x in example.inputs]
    kernel = fw.kernel(example.operator, inputs=example.inputs)[0]

    def of_asked(*values: Any) -> tuple:
        every = dict(enumerate(given)) | dict(zip(asked, values, strict=True))
        return kernel(*every.values())

    found = fw.derivative(of_asked, [given[i] for i in asked], natives(fw, example.seeds)).run()
    return [dict(zip(asked, found, strict=True)).get(i) for i in range(len(given))]
