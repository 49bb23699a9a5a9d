"""Gradients against the slope of the outputs themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .examples import XP, Example
from .formats import wide
from .report import Check

DIRECTIONS = 3  # normal ones: errors of opposite signs do not cancel along them
STEPS = (1e-5, 1e-6, 1e-7)  # the next where a kink lies within the first
TOLERANCE = 1e-7
KINK = 1e-6  # slopes on both sides that differ by more than this are two slopes
BETWEEN = 1e-4  # how far beyond these two a derivative may seem to lie


def difference_check(
    example: Example, grads: Sequence[Any], name: str = "differences"
) -> Check:
    """Float64 gradients against central differences of the truth, along random directions of every input."""
    inputs = wide(example.inputs)
    found = []
    for i in (i for i in example.floats if grads[i] is not None and inputs[i].size):
        if np.shape(grads[i]) != inputs[i].shape:
            shapes = f"shape {list(np.shape(grads[i]))} where {list(inputs[i].shape)} is right"
            text = f"gradient by {example.input_name(i)}: {shapes}"
            return example.check(name, False, text=text)
        slopes = _Slopes(example, i, np.asarray(grads[i], "float64"), name)
        found += slopes.checks()
    nothing = example.no_verdict(name, "there is no gradient to test")
    return max(found, key=lambda check: check.weight, default=nothing)


@dataclass(frozen=True)
class _Terms:
    """The outputs at one place, weighed by the seeds."""

    terms: list[np.ndarray]

    @property
    def total(self) -> float:
        return sum(float(np.sum(t)) for t in self.terms)

    @property
    def size(self) -> float:
        return sum(float(np.sum(np.abs(t))) for t in self.terms)


@dataclass(frozen=True)
class _Slopes:
    """The outputs along random directions of one input, beside its gradient."""

    example: Example
    i: int
    grad: np.ndarray
    name: str

    def checks(self) -> list[Check]:
        """One for every direction; a smaller step is tried where the first does not agree."""
        shape = self.grad.shape
        directions = [
            self.example.draw(self.i, k).standard_normal(shape)
            for k in range(DIRECTIONS)
        ]
        first = STEPS[0] * self.scale
        ends = self._at([(sign * first, d) for d in directions for sign in (-1, 1)])
        found = []
        for k, direction in enumerate(directions):
            check = self._compared(direction, first, ends[2 * k], ends[2 * k + 1])
            found.append(check if check.ok else self._closer(direction, check))
        return found

    def _closer(self, direction: np.ndarray, failed: Check) -> Check:
        """With smaller steps; where the slopes on both sides differ there is no derivative."""
        steps = [step * self.scale for step in STEPS[1:]]
        *ends, here = self._at(
            [(sign * step, direction) for step in steps for sign in (-1, 1)]
            + [(0.0, direction)]
        )
        results = [failed]
        for k, step in enumerate(steps):
            results.append(
                self._compared(direction, step, ends[2 * k], ends[2 * k + 1])
            )
            if results[-1].ok:
                return results[-1]
        low, high = ends[-2:]
        values = [low.total, here.total, high.total]
        if not np.isfinite(self.size) and np.isfinite(values).all():
            return results[-1]
        unit = self.size + here.size / self.scale
        if not _bend(low, here, high) / steps[-1] <= KINK * unit:
            return self._on_a_kink(
                direction, _sides(low, here, high, steps[-1]), BETWEEN * unit
            )
        return min(results, key=lambda check: check.weight)

    def _on_a_kink(
        self, direction: np.ndarray, sides: tuple[float, float], tolerance: float
    ) -> Check:
        """There is no derivative, but what stands for it must lie between the slopes on both sides."""
        least, most = sides
        claimed = float(np.sum(self.grad * direction))
        if (
            least - tolerance <= claimed <= most + tolerance
            or not np.isfinite([least, most]).all()
        ):
            text = "the inputs lie on a kink, where there is no derivative"
            return self.example.no_verdict(self.name, text)
        text = (
            f"on a kink the derivative by {self.example.input_name(self.i)} lies between {least:.6g} and "
            f"{most:.6g} along a random direction, the gradient says {claimed:.6g}"
        )
        off = max(least - claimed, claimed - most)
        return self.example.check(self.name, False, off, tolerance, text)

    @property
    def size(self) -> float:
        return float(np.sum(np.abs(self.grad)))

    @property
    def scale(self) -> float:
        return min(1.0, float(np.max(np.abs(wide(self.example.inputs)[self.i])))) or 1.0

    def _compared(
        self, direction: np.ndarray, step: float, low: _Terms, high: _Terms
    ) -> Check:
        claimed = float(np.sum(self.grad * direction))
        slope = (high.total - low.total) / (2 * step)
        bound = TOLERANCE * (self.size + high.size / self.scale)
        off = abs(slope - claimed)
        text = (
            f"the derivative by {self.example.input_name(self.i)} is {slope:.9g} along a random direction, "
            f"the gradient says {claimed:.9g}"
        )
        ok = bool(off <= bound)
        return self.example.check(self.name, ok, off, bound, "" if ok else text)

    def _at(self, moves: Sequence[tuple[float, np.ndarray]]) -> list[_Terms]:
        """The outputs with this input moved by so much along a direction."""
        inputs, i = wide(self.example.inputs), self.i
        moved = [
            (*inputs[:i], inputs[i] + step * d, *inputs[i + 1 :]) for step, d in moves
        ]
        seeds = wide(self.example.seeds)
        found = []
        for outputs in self.example.truths([(values, XP) for values in moved]):
            pairs = zip(seeds, outputs, strict=False)
            found.append(_Terms([seed * y for seed, y in pairs if seed is not None]))
        return found


def _sides(low: _Terms, here: _Terms, high: _Terms, step: float) -> tuple[float, float]:
    """The least and the most that the slopes on both sides allow, term by term."""
    least = most = 0.0
    for a, b, c in zip(low.terms, here.terms, high.terms, strict=True):
        left, right = (b - a) / step, (c - b) / step
        least += float(np.sum(np.minimum(left, right)))
        most += float(np.sum(np.maximum(left, right)))
    return least, most


def _bend(low: _Terms, here: _Terms, high: _Terms) -> float:
    """How far the slopes on both sides differ, term by term: bends of opposite signs do not cancel."""
    rows = zip(low.terms, here.terms, high.terms, strict=True)
    return sum(float(np.sum(np.abs(c - 2 * b + a))) for a, b, c in rows)
