"""Gradients against the slope of the outputs themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..report import CheckResult
from .examples import XP, Example
from .formats import FORMATS, Array, Values, wide

DIRECTIONS = 3  # normal ones: errors of opposite signs do not cancel along them
# a smaller one is tried if a kink lies within the larger
STEPS = 1e-5, 1e-6, 1e-7
TOLERANCE = 1e-7
OF_A_UNIT = 8  # for gradients in shorter formats
KINK = 1e-6  # slopes on both sides that differ by more than this are two slopes
BETWEEN = 1e-4  # how far beyond these two slopes a derivative may seem to lie


def difference_check(
    example: Example, grads: Values, name: str = "differences"
) -> CheckResult:
    """Float64 gradients against central differences of the truth, along random directions of every input."""
    inputs = wide(example.inputs)
    checks = []
    for i in example.floats:
        grad = grads[i]
        x = inputs[i]
        if grad is None or not x.size:
            continue
        if np.shape(grad) != x.shape:
            shapes = f"shape {list(np.shape(grad))} where {list(x.shape)} is right"
            text = f"gradient by {example.input_name(i)}: {shapes}"
            return example.check(name, False, text=text)
        slopes = _Slopes(example, i, np.asarray(grad, "float64"), name)
        checks += slopes.checks()
    nothing = example.no_verdict(name, "there is no gradient to test")
    return max(checks, key=_weight, default=nothing)


def _sum(x: Array) -> float:
    return float(np.sum(x))


def _weight(check: CheckResult) -> tuple[int, float]:
    return check.weight


@dataclass(frozen=True)
class _Terms:
    """The outputs at one place, weighted by the seeds."""

    terms: list[Array]

    @property
    def total(self) -> float:
        return sum(_sum(term) for term in self.terms)

    @property
    def size(self) -> float:
        return sum(_sum(np.abs(term)) for term in self.terms)


@dataclass(frozen=True)
class _Slopes:
    """The slopes of the outputs along random directions of one input, and its gradient."""

    example: Example
    i: int
    grad: Array
    name: str

    def checks(self) -> list[CheckResult]:
        """One check per direction; where the first step does not agree, smaller ones are tried."""
        directions = [self._direction(k) for k in range(DIRECTIONS)]
        step = STEPS[0] * self.scale
        moves = []
        for direction in directions:
            moves += [(-step, direction), (step, direction)]
        terms = self._terms_at(moves)
        checks = []
        pairs = zip(directions, terms[::2], terms[1::2], strict=True)
        for direction, low, high in pairs:
            check = self._compared(direction, step, low, high)
            if not check.ok:
                check = self._closer(direction, check)
            checks.append(check)
        return checks

    def _direction(self, k: int) -> Array:
        draw = self.example.draw(self.i, k)
        return draw.standard_normal(self.grad.shape)

    def _closer(self, direction: Array, failed: CheckResult) -> CheckResult:
        """The check with smaller steps; where the slopes on both sides differ there is no derivative."""
        steps = [step * self.scale for step in STEPS[1:]]
        moves = []
        for step in steps:
            moves += [(-step, direction), (step, direction)]
        moves.append((0.0, direction))
        *terms, here = self._terms_at(moves)
        checks = [failed]
        pairs = zip(steps, terms[::2], terms[1::2], strict=True)
        for step, low, high in pairs:
            check = self._compared(direction, step, low, high)
            if check.ok:
                return check
            checks.append(check)
        totals = [low.total, here.total, high.total]
        are_finite = np.isfinite(totals).all()
        if are_finite and not np.isfinite(self.size):
            return checks[-1]
        unit = self.size + here.size / self.scale
        bend = _bend(low, here, high)
        is_smooth = bend / step <= KINK * unit
        if is_smooth:
            return min(checks, key=_weight)
        sides = _sides(low, here, high, step)
        return self._on_a_kink(direction, sides, BETWEEN * unit)

    def _on_a_kink(
        self, direction: Array, sides: tuple[float, float], tolerance: float
    ) -> CheckResult:
        """There is no derivative, but the gradient must lie between the slopes on both sides."""
        least, most = sides
        claimed = self._claimed(direction)
        is_between = least - tolerance <= claimed <= most + tolerance
        if is_between or not np.isfinite(sides).all():
            text = "the inputs lie on a kink, where there is no derivative"
            return self.example.no_verdict(self.name, text)
        text = (
            f"on a kink the derivative by {self.input_name} lies between {least:.6g} and "
            f"{most:.6g} along a random direction, the gradient says {claimed:.6g}"
        )
        off = max(least - claimed, claimed - most)
        return self.example.check(self.name, False, off, tolerance, text)

    def _claimed(self, direction: Array) -> float:
        """The slope along a direction by the gradient."""
        return _sum(self.grad * direction)

    @property
    def input_name(self) -> str:
        return self.example.input_name(self.i)

    @property
    def size(self) -> float:
        return _sum(np.abs(self.grad))

    @property
    def scale(self) -> float:
        x = wide(self.example.inputs)[self.i]
        largest = np.max(np.abs(x))
        return min(1.0, float(largest)) or 1.0

    def _compared(
        self, direction: Array, step: float, low: _Terms, high: _Terms
    ) -> CheckResult:
        """The gradient against the slope between two places."""
        claimed = self._claimed(direction)
        slope = (high.total - low.total) / (2 * step)
        share = max(TOLERANCE, OF_A_UNIT * FORMATS[self.example.dtype].eps)
        bound = share * (self.size + high.size / self.scale)
        off = abs(slope - claimed)
        if off <= bound:
            return self.example.check(self.name, True, off, bound)
        text = (
            f"the derivative by {self.input_name} is {slope:.9g} along a random direction, "
            f"the gradient says {claimed:.9g}"
        )
        return self.example.check(self.name, False, off, bound, text)

    def _terms_at(self, moves: Sequence[tuple[float, Array]]) -> list[_Terms]:
        """The outputs for every move: this input shifted by a step along a direction."""
        inputs = wide(self.example.inputs)
        i = self.i
        calls = []
        for step, direction in moves:
            shifted = list(inputs)
            shifted[i] = inputs[i] + step * direction
            calls.append((tuple(shifted), XP))
        seeds = wide(self.example.seeds)
        results = self.example.truths(calls)
        return [_weighted(seeds, outputs) for outputs in results]


def _weighted(seeds: Values, outputs: Sequence[Array]) -> _Terms:
    terms = []
    for seed, output in zip(seeds, outputs, strict=False):
        if seed is not None:
            terms.append(seed * output)
    return _Terms(terms)


def _sides(low: _Terms, here: _Terms, high: _Terms, step: float) -> tuple[float, float]:
    """The least and the most that the slopes on both sides allow, term by term."""
    least = most = 0.0
    for a, b, c in zip(low.terms, here.terms, high.terms, strict=True):
        before = (b - a) / step
        after = (c - b) / step
        least += _sum(np.minimum(before, after))
        most += _sum(np.maximum(before, after))
    return least, most


def _bend(low: _Terms, here: _Terms, high: _Terms) -> float:
    """How far the slopes on both sides differ, term by term: bends of opposite signs do not cancel."""
    bends = []
    for a, b, c in zip(low.terms, here.terms, high.terms, strict=True):
        bend = np.abs(c - 2 * b + a)
        bends.append(_sum(bend))
    return sum(bends)
