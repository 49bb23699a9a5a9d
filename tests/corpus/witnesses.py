"""How an operator of the corpus is shown to be wrong, each by calling it and its reference directly."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deep500.contracts.operator import TensorSpec

from .subjects import Subject, widened

Witness = Callable[[Subject], bool]  # whether the mistake shows
# what central differences in float64 are good for, of the largest element
DIFFERENCES = 1e-6


def forward(*inputs: Any, dtype: str = "float32") -> Witness:
    """The outputs for these inputs are not those of the reference."""
    return lambda subject: _wrong(subject, _floats(inputs, dtype))


def gradient(*inputs: Any, grads: Sequence[Any] | None = None) -> Witness:
    """The gradient for these inputs is not that of central differences."""

    def shown(subject: Subject) -> bool:
        arrays = _floats(inputs, "float64")
        outputs = subject.forward(arrays)
        seeds = _seeds(outputs) if grads is None else _floats(grads, "float64")
        found = subject.backward(seeds, arrays, outputs)
        return any(
            _differs(_or_zeros(g, x), subject.slope(seeds, arrays, i), DIFFERENCES)
            for i, (g, x) in enumerate(zip(found, arrays, strict=True))
        )

    return shown


def single_gradient(x: Any) -> Witness:
    """The gradient in float32 is not that of float64."""

    def shown(subject: Subject) -> bool:
        gradients = []
        for dtype in ("float32", "float64"):
            arrays = _floats([np.float32(x)], dtype)
            outputs = subject.forward(arrays)
            gradients.append(
                subject.backward(_seeds(outputs, dtype), arrays, outputs)[0]
            )
        return _differs(gradients[0], gradients[1].astype("float32"), 1e-4)

    return shown


def gradient_of_transposed(x: Any) -> Witness:
    """The gradient for incoming ones with other strides is not right."""

    def shown(subject: Subject) -> bool:
        arrays = _floats([x], "float64")
        outputs = subject.forward(arrays)
        seeds = [np.asfortranarray(seed) for seed in _seeds(outputs)]
        found = subject.backward(seeds, arrays, outputs)[0]
        return _differs(found, subject.slope(seeds, arrays, 0), DIFFERENCES)

    return shown


def gradient_sum(x: Any) -> Witness:
    """Moving all elements alike moves the result by another amount than the gradient says."""

    def shown(subject: Subject) -> bool:
        arrays = _floats([x], "float64")
        outputs = subject.forward(arrays)
        seeds = [np.ones_like(y) for y in outputs]
        found = subject.backward(seeds, arrays, outputs)[0]
        step = 1e-5
        ends = [subject.forward([arrays[0] + sign * step])[0].sum() for sign in (1, -1)]
        return _differs(
            found.sum(), np.asarray((ends[0] - ends[1]) / (2 * step)), DIFFERENCES
        )

    return shown


def misaligned(n: int) -> Witness:
    """In C++: the result depends on where the input begins."""

    def shown(subject: Subject) -> bool:
        room = np.linspace(-1, 1, n + 1)
        return any(_wrong(subject, [room[i : i + n]]) for i in (0, 1))

    return shown


def failing_backward(*inputs: Any) -> Witness:
    """Backward raises."""

    def shown(subject: Subject) -> bool:
        arrays = _floats(inputs, "float64")
        outputs = subject.forward(arrays)
        try:
            subject.backward(_seeds(outputs), arrays, outputs)
        except RuntimeError:
            return True
        return False

    return shown


def failing(*inputs: Any) -> Witness:
    """Forward raises where the reference has a value."""

    def shown(subject: Subject) -> bool:
        arrays = _floats(inputs, "float64")
        subject.reference(arrays)
        try:
            subject.forward(arrays)
        except ValueError:
            return True
        return False

    return shown


def sequence(*calls: Any) -> Witness:
    """One of several calls in a row, each with one input, is wrong."""

    def shown(subject: Subject) -> bool:
        return any([_wrong(subject, _floats([x], "float64")) for x in calls])

    return shown


def same_storage(first: Any, second: Any, *fixed: Any) -> Witness:
    """The last input gets new values in the same memory, and the result is not theirs."""

    def shown(subject: Subject) -> bool:
        arrays = _floats([*fixed, first], "float64")
        subject.forward(arrays)
        arrays[-1][...] = second
        return _wrong(subject, arrays)

    return shown


def same_storage_backward(first: Any, second: Any) -> Witness:
    """The same for the gradient."""

    def shown(subject: Subject) -> bool:
        arrays = _floats([first], "float64")
        outputs = subject.forward(arrays)
        seeds = _seeds(outputs)
        subject.backward(seeds, arrays, outputs)
        arrays[0][...] = second
        found = subject.backward(seeds, arrays, subject.forward(arrays))[0]
        return _differs(found, subject.slope(seeds, arrays, 0), DIFFERENCES)

    return shown


def interleaved(first: Any, second: Any) -> Witness:
    """Two forwards, then the backward of the first: its gradient is not its own."""

    def shown(subject: Subject) -> bool:
        one, two = _floats([first], "float64"), _floats([second], "float64")
        outputs = subject.forward(one)
        seeds = _seeds(outputs)
        subject.forward(two)
        found = subject.backward(seeds, one, outputs)[0]
        return _differs(found, subject.slope(seeds, one, 0), DIFFERENCES)

    return shown


def backward_calls(x: Any, count: int) -> Witness:
    """One of so many backwards is wrong."""

    def shown(subject: Subject) -> bool:
        arrays = _floats([x], "float64")
        outputs = subject.forward(arrays)
        seeds = _seeds(outputs)
        want = subject.slope(seeds, arrays, 0)
        found = [subject.backward(seeds, arrays, outputs)[0] for _ in range(count)]
        return any(_differs(g, want, DIFFERENCES) for g in found)

    return shown


def overwritten(x: Any) -> Witness:
    """Forward or backward changes what it was given."""

    def shown(subject: Subject) -> bool:
        arrays = _floats([x], "float32")
        before = [a.tobytes() for a in arrays]
        outputs = subject.forward(arrays)
        if [a.tobytes() for a in arrays] != before:
            return True
        if not subject.differentiable:
            return False
        given = [*_seeds(outputs, "float32"), *arrays, *outputs]
        bytes_before = [a.tobytes() for a in given]
        count = len(outputs)
        subject.backward(given[:count], arrays, outputs)
        return [a.tobytes() for a in given] != bytes_before

    return shown


def changed_later(
    first: Any, second: Any, calls: int = 1, pause: float = 0.0
) -> Witness:
    """What the first call was given or has returned changes afterwards, within `pause` seconds."""

    def shown(subject: Subject) -> bool:
        arrays = _floats([first], "float64")
        outputs = subject.forward(arrays)
        kept = [*arrays, *outputs]
        before = [a.tobytes() for a in kept]
        for _ in range(calls):
            subject.forward(_floats([second], "float64"))
        until = time.monotonic() + pause
        while time.monotonic() < until and [a.tobytes() for a in kept] == before:
            time.sleep(0.002)
        return [a.tobytes() for a in kept] != before

    return shown


def gradient_changed_later(first: Any, second: Any) -> Witness:
    """The first gradient changes when the second is computed."""

    def shown(subject: Subject) -> bool:
        gradients = []
        for x in (first, second):
            arrays = _floats([x], "float64")
            outputs = subject.forward(arrays)
            gradients.append(subject.backward(_seeds(outputs), arrays, outputs)[0])
            if len(gradients) == 1:
                before = gradients[0].tobytes()
        return gradients[0].tobytes() != before

    return shown


def transposed(x: Any) -> Witness:
    """Right for an array, wrong for the same values with other strides."""
    return lambda subject: _wrong(subject, [np.asarray(x, "float64").T])


def transposed_backward(x: Any) -> Witness:
    def shown(subject: Subject) -> bool:
        arrays = [np.asarray(x, "float64").T]
        outputs = subject.forward(arrays)
        seeds = _seeds(outputs)
        found = subject.backward(seeds, arrays, outputs)[0]
        return _differs(found, subject.slope(seeds, arrays, 0), DIFFERENCES)

    return shown


def unwritten(x: Any) -> Witness:
    """The result depends on what lay in the memory that is handed out next."""

    def shown(subject: Subject) -> bool:
        arrays = _floats([x], "float64")
        want = subject.reference(arrays)
        sizes = {y.size for y in [*want, *arrays]}
        for size in sizes | {n + 1 for n in sizes}:
            poison = [np.full(size, 1e30) for _ in range(16)]
            del poison
        return any(
            _differs(y, w) for y, w in zip(subject.forward(arrays), want, strict=True)
        )

    return shown


def unwritten_gradient(x: Any) -> Witness:
    def shown(subject: Subject) -> bool:
        arrays = _floats([x], "float64")
        outputs = subject.forward(arrays)
        seeds = _seeds(outputs)
        want = subject.slope(seeds, arrays, 0)
        poison = [np.full(want.shape, 1e30) for _ in range(16)]
        del poison
        return _differs(subject.backward(seeds, arrays, outputs)[0], want, DIFFERENCES)

    return shown


def other_dtype(x: Any, dtype: str) -> Witness:
    """The output is not of the input's dtype."""

    def shown(subject: Subject) -> bool:
        return str(subject.forward([np.asarray(x, dtype)])[0].dtype) != dtype

    return shown


def outside(n: int, backward: bool = False) -> Witness:
    """In C++: an element before or behind a buffer is read or written."""

    def shown(subject: Subject) -> bool:
        return any(_outside(subject, n, backward, fill) for fill in (7.0, np.nan))

    return shown


def poisoned_output(n: int) -> Witness:
    """In C++: the output depends on what was in its memory."""

    def shown(subject: Subject) -> bool:
        x = np.linspace(-1, 1, n)
        results = []
        for fill in (3.0, 5.0):
            y = np.full(n, fill)
            _call(subject, "forward", [x, y], n)
            results.append(y)
        return not np.array_equal(results[0], results[1])

    return shown


def large(n: int, repeats: int = 20, backward: bool = False) -> Witness:
    """Wrong in one of several runs on many elements, with all threads."""

    def shown(subject: Subject) -> bool:
        x = np.random.default_rng(1).standard_normal(n)
        if not backward:
            want = subject.reference([x])[0]
            return any(_differs(subject.forward([x])[0], want) for _ in range(repeats))
        outputs = subject.forward([x])
        found = [subject.backward([x], [x], outputs)[0] for _ in range(repeats)]
        return any(_differs(g, found[0]) for g in found)

    return shown


def repeated(x: Any, count: int, pause: float = 0.0) -> Witness:
    """Wrong in one of so many calls with the same input."""

    def shown(subject: Subject) -> bool:
        for _ in range(count):
            if _wrong(subject, _floats([x], "float64")):
                return True
            time.sleep(pause)
        return False

    return shown


def _wrong(subject: Subject, inputs: Sequence[np.ndarray]) -> bool:
    want = subject.reference([x.copy() for x in inputs])
    found = subject.forward(inputs)
    return len(found) != len(want) or any(map(_differs, found, want))


def _differs(found: Any, want: np.ndarray, tolerance: float = 0.0) -> bool:
    """By shape, by kind of number, or by more than rounding explains."""
    found = np.asarray(found)
    if found.shape != want.shape or (found.dtype.kind != want.dtype.kind):
        return True
    if want.dtype.kind != "f":
        return not np.array_equal(found, want)
    largest = np.max(np.abs(want), initial=0)
    eps = float(np.finfo(want.dtype).eps)
    relative, absolute = (
        (tolerance, tolerance * largest) if tolerance else (100 * eps, 0.0)
    )
    with np.errstate(all="ignore"):
        return not np.allclose(found, want, relative, absolute, equal_nan=True)


def _floats(values: Sequence[Any], dtype: str) -> list[np.ndarray]:
    """Arrays of their own; lists and arrays of floats in this dtype."""
    arrays = [np.array(value) for value in values]
    return [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays]


def _seeds(outputs: Sequence[np.ndarray], dtype: str = "float64") -> list[np.ndarray]:
    draw = np.random.default_rng(5)
    return [np.asarray(draw.standard_normal(y.shape)).astype(dtype) for y in outputs]


def _or_zeros(gradient: Any, x: np.ndarray) -> np.ndarray:
    return np.zeros(x.shape) if gradient is None else widened(np.asarray(gradient))


def _guarded(values: np.ndarray, fill: float) -> tuple[np.ndarray, np.ndarray]:
    """A buffer with guards around, and the part of it inside."""
    whole = np.full(values.size + 16, fill)
    inside = whole[8:-8]
    inside[...] = values
    return whole, inside


def _outside(subject: Subject, n: int, backward: bool, fill: float) -> bool:
    x = np.linspace(-1, 1, n)
    values = [x, x, x, x] if backward else [x, x]
    pairs = [_guarded(v, fill) for v in values]
    name = "backward" if backward else "forward"
    _call(subject, name, [inside for _, inside in pairs], n)
    for whole, _ in pairs:
        guards = np.concatenate([whole[:8], whole[-8:]])
        if not np.array_equal(guards, np.full(16, fill), equal_nan=True):
            return True
    if backward:
        return False
    return _differs(pairs[-1][1], subject.reference([x])[0])


def _call(subject: Subject, name: str, arrays: Sequence[np.ndarray], n: int) -> None:
    library = subject.operator.library("float64")
    tensors = [TensorSpec((n,), "float64")] * 2
    library.call(getattr(library, name), tensors, arrays, threads=0)
