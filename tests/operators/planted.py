"""Kernels with an error in them: the reference's own, spoilt in one way, and which examples the error fits."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from deep500.check.operators.bounds import output_moves
from deep500.check.operators.differences import absolute
from deep500.check.operators.examples import XP, Example
from deep500.check.operators.formats import FORMATS, is_float
from deep500.check.operators.runner import OperatorRunner
from deep500.contracts.framework import gradient_formula
from deep500.contracts.operator import Operator
from deep500.frameworks import framework


class Planted(OperatorRunner):
    """Right, until a subclass spoils it. One is made for every example."""

    def __init__(self) -> None:
        super().__init__(framework("reference"))

    def spoilt(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        return outputs

    def run(
        self, operator: Operator, inputs: Sequence[Any], layout: str = "plain"
    ) -> list[np.ndarray]:
        return self.spoilt(super().run(operator, inputs, layout))

    def sequence(
        self, operator: Operator, calls: Sequence[tuple[int, Sequence[Any]]]
    ) -> list[list[list[np.ndarray]]]:
        made, first = [], []
        for _, inputs in calls:
            made.append(self.spoilt(self.framework.evaluate(operator, inputs)))
            first.append([np.array(y) for y in made[-1]])
        return [[a, [np.array(y) for y in b]] for a, b in zip(first, made, strict=True)]

    def applies(self, example: Example) -> bool:
        """Whether the error changes anything: by default, the outputs."""
        right = OperatorRunner(self.framework).run(example.operator, example.inputs)
        return any(
            not same(a, b)
            for a, b in zip(self.spoilt([y.copy() for y in right]), right, strict=True)
        )


class Zeros(Planted):
    def spoilt(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        return [np.zeros_like(y) for y in outputs]


class OnePercent(Planted):
    """One element larger by one percent: the smallest of those that rounding moves by less than a hundredth of that."""

    chosen: Any

    def applies(self, example: Example) -> bool:
        found = []
        for k, (y, moves) in enumerate(
            zip(example.outputs, output_moves(example), strict=True)
        ):
            weighs = (
                is_float(y)
                & np.isfinite(y)
                & (abs(y) > 1e-30)
                & (1e-4 * abs(y) > moves)
            )
            found += [
                (abs(y[place]), k, tuple(place), y.shape)
                for place in map(tuple, np.argwhere(weighs))
            ]
        object.__setattr__(self, "chosen", min(found, default=None))
        return bool(found)

    def spoilt(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        _, k, place, shape = self.chosen
        made = [y.copy() for y in outputs]
        if made[k].shape == shape:
            made[k][place] *= 1.01
        return made


class RoundedToBfloat16(Planted):
    """Does not apply where every number lies beside one of bfloat16: within sixteen times what rounding moves it."""

    def spoilt(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        return [
            y.astype(ml_dtypes.bfloat16).astype(y.dtype) if is_float(y) else y
            for y in outputs
        ]

    def applies(self, example: Example) -> bool:
        right = OperatorRunner(self.framework).run(example.operator, example.inputs)
        triples = zip(self.spoilt(right), right, output_moves(example), strict=True)
        return any(
            np.any(
                absolute(a, b) > 16 * (moves + FORMATS[example.dtype].eps * np.abs(b))
            )
            for a, b, moves in triples
            if is_float(b) and b.size
        )


class SwappedAxes(Planted):
    def spoilt(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        return [
            np.swapaxes(y, -1, -2).reshape(y.shape).copy() if y.ndim > 1 else y
            for y in outputs
        ]


class StaleBuffer(Planted):
    """One buffer for the outputs of all calls."""

    buffers: dict[Any, np.ndarray]

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "buffers", {})

    def spoilt(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        for k, y in enumerate(outputs):
            buffer = self.buffers.setdefault((k, y.shape, y.dtype), np.empty_like(y))
            buffer[...] = y
        return [self.buffers[k, y.shape, y.dtype] for k, y in enumerate(outputs)]

    def applies(self, example: Example) -> bool:
        return changes(example)


class StaleResult(StaleBuffer):
    """The first result again, whatever the inputs are."""

    def spoilt(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        return [
            self.buffers.setdefault((k, y.shape, y.dtype), y.copy()).copy()
            for k, y in enumerate(outputs)
        ]


class InputModified(Planted):
    def touched(
        self, operator: Operator, inputs: Sequence[Any], seeds: Sequence[Any]
    ) -> list[Any]:
        after = super().touched(operator, inputs, seeds)
        x = next(x for x in after if isinstance(x, np.ndarray) and x.size)
        x.reshape(-1)[0] = not x.reshape(-1)[0]
        return after

    def applies(self, example: Example) -> bool:
        return any(isinstance(x, np.ndarray) and x.size for x in example.inputs)


class Nondeterminism(Planted):
    """The last bit of one element differs in every second call."""

    calls: list[int]

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "calls", [])

    def spoilt(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        self.calls.append(0)
        k = next(k for k, y in enumerate(outputs) if y.size)
        y = np.array(outputs[k], order="C")
        if len(self.calls) % 2:
            last = y.reshape(-1)[-1:]
            last[...] = np.nextafter(last, np.inf) if is_float(y) else ~last
        return [*outputs[:k], y, *outputs[k + 1 :]]

    def applies(self, example: Example) -> bool:
        return all(not is_float(y) or np.all(np.isfinite(y)) for y in example.outputs)


class WrongSign(Planted):
    def gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        seeds: Sequence[Any],
        layout: str = "plain",
    ) -> list[np.ndarray | None]:
        return [
            None if g is None else -g for g in super().gradient(operator, inputs, seeds)
        ]

    def applies(self, example: Example) -> bool:
        return any(g is not None and np.any(g) for g in example.gradients)


class OtherNamespace(Planted):
    """The operator's formulas over a namespace with an error in it."""

    namespace: Any

    def run(
        self, operator: Operator, inputs: Sequence[Any], layout: str = "plain"
    ) -> list[np.ndarray]:
        return [
            np.asarray(y)
            for y in operator.published(operator.run(self.namespace, *inputs))
        ]

    def gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        seeds: Sequence[Any],
        layout: str = "plain",
    ) -> list[np.ndarray | None]:
        return [
            None if g is None else np.asarray(g)
            for g in gradient_formula(self.namespace, operator, inputs, seeds)
        ]

    def applies(self, example: Example) -> bool:
        clean = OperatorRunner(self.framework)
        right = [
            *clean.run(example.operator, example.inputs),
            *_gradients(clean, example),
        ]
        try:
            found = [
                *self.run(example.operator, example.inputs),
                *_gradients(self, example),
            ]
        except (ValueError, IndexError):  # what cannot go on shows by itself
            return True
        return any(
            a is not None
            and (
                a.shape != b.shape
                or not np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)
            )
            for a, b in zip(found, right, strict=True)
        )


def _gradients(dock: OperatorRunner, example: Example) -> list[np.ndarray | None]:
    smooth = example.operator.differentiable and example.smooth
    return (
        dock.gradient(example.operator, example.inputs, example.seeds) if smooth else []
    )


class LateWindows(type(XP)):  # type: ignore[misc]
    """Windows start one element late, and are put back as late."""

    def windows(self, x: Any, kernel: Any, strides: Any, dilations: Any) -> Any:
        return super().windows(np.roll(x, -1, axis=-1), kernel, strides, dilations)

    def fold(self, w: Any, shape: Any, strides: Any, dilations: Any) -> Any:
        return np.roll(super().fold(w, shape, strides, dilations), 1, axis=-1)


class OffByOneWindow(OtherNamespace):
    namespace = LateWindows()


class Overwriting(type(XP)):  # type: ignore[misc]
    """What should add up is overwritten: repeated indices, and what windows share."""

    def scatter_add(self, x: Any, indices: Any, values: Any, axis: int) -> Any:
        made = super().scatter_add(np.zeros_like(x), indices, values, axis)
        counts = super().scatter_add(
            np.zeros(x.shape, "int64"), indices, np.ones(values.shape, "int64"), axis
        )
        return x + (made / np.maximum(counts, 1)).astype(x.dtype)

    def unbroadcast(self, g: Any, shape: Any) -> Any:
        lead = g.ndim - len(shape)
        g = g[(0,) * lead]
        return g[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)]

    def fold(self, w: Any, shape: Any, strides: Any, dilations: Any) -> Any:
        counts = super().fold(np.ones_like(w), shape, strides, dilations)
        return super().fold(w, shape, strides, dilations) / np.maximum(counts, 1)


class MissingAccumulation(OtherNamespace):
    namespace = Overwriting()


class NeverSums(type(XP)):  # type: ignore[misc]
    """A gradient is not summed over the axes that broadcasting stretched."""

    def unbroadcast(self, g: Any, shape: Any) -> Any:
        return g


class UnsummedGradient(OtherNamespace):
    namespace = NeverSums()


class ForgottenBroadcasting(Planted):
    """Inputs are read element by element, from their beginning again at their end."""

    def run(
        self, operator: Operator, inputs: Sequence[Any], layout: str = "plain"
    ) -> list[np.ndarray]:
        if not self.broadcasts(operator, inputs):
            return super().run(operator, inputs)
        shape = np.broadcast_shapes(
            *(x.shape for x in inputs if isinstance(x, np.ndarray))
        )
        return super().run(
            operator,
            [np.resize(x, shape) if isinstance(x, np.ndarray) else x for x in inputs],
        )

    def broadcasts(self, operator: Operator, inputs: Sequence[Any]) -> bool:
        shapes = {x.shape for x in inputs if isinstance(x, np.ndarray)}
        return (
            type(operator).infer is Operator.infer
            and len(shapes) > 1
            and all(np.prod(s) for s in shapes)
        )

    def applies(self, example: Example) -> bool:
        right = OperatorRunner(self.framework).run(example.operator, example.inputs)
        return any(
            not same(a, b)
            for a, b in zip(
                self.run(example.operator, example.inputs), right, strict=True
            )
        )


ERRORS = [
    Zeros,
    OnePercent,
    RoundedToBfloat16,
    SwappedAxes,
    OffByOneWindow,
    StaleBuffer,
    StaleResult,
    InputModified,
    WrongSign,
    MissingAccumulation,
    UnsummedGradient,
    ForgottenBroadcasting,
    Nondeterminism,
]


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


def changes(example: Example) -> bool:
    """Whether other inputs give other results."""
    run = OperatorRunner(framework("reference")).run
    first, second = (
        run(example.operator, example.inputs),
        run(example.operator, example.other.inputs),
    )
    return any(not same(a, b) for a, b in zip(first, second, strict=True))


def off(values: np.ndarray) -> np.ndarray:
    """With one element larger by one percent: a small one among those that weigh."""
    flat = np.array(values).reshape(-1)
    size = np.where(np.isfinite(flat), np.abs(flat), 0)
    flat[np.argmin(np.where(size >= size.max() / 10, size, np.inf))] *= 1.01
    return flat.reshape(values.shape)
