"""The checks of test_cases.py see what they are there to see: planted errors are found on every operator they fit."""

from typing import Any

import numpy as np
import pytest

from deep500.contracts.operator import Operator

from .checking import XP, Example, derivative_faults, examples, gradient_faults, gradients, output_faults

EXAMPLES = [e for e in examples() if any(y.size for y in e.outputs)]
OTHER = {"float32": "float64", "float64": "float32"}
each = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)


def computed(example: Example, xp: Any = XP) -> tuple[list, list]:
    """Outputs and gradients in float32, as a framework would return them."""
    inputs, seeds, operator = example.inputs, example.seeds, example.operator
    outputs = [np.asarray(y) for y in operator.published(operator.run(xp, *inputs))]
    return outputs, [None if g is None else np.asarray(g) for g in gradients(example, xp, inputs, seeds)]


@each
def test_zeros_are_found(example: Example) -> None:
    outputs, grads = computed(example)
    for k in [k for k, y in enumerate(outputs) if np.any(y)]:
        assert output_faults(example, replaced(outputs, k, np.zeros_like(outputs[k])), "float32")
    for k in nonzero(grads):
        assert gradient_faults(example, replaced(grads, k, np.zeros_like(grads[k])), "float32")


@each
def test_one_element_off_by_one_percent_is_found(example: Example) -> None:
    outputs, grads = computed(example)
    for k in nonzero(outputs):
        assert output_faults(example, replaced(outputs, k, off(outputs[k])), "float32")
    wide_grads = list(example.gradients)
    for k in nonzero(grads):
        assert gradient_faults(example, replaced(grads, k, off(grads[k])), "float32")
        assert derivative_faults(example, replaced(wide_grads, k, off(wide_grads[k])))


@each
def test_a_wrong_sign_is_found(example: Example) -> None:
    _, grads = computed(example)
    for k in nonzero(grads):
        assert gradient_faults(example, replaced(grads, k, -grads[k]), "float32")
        assert derivative_faults(example, replaced(list(example.gradients), k, -example.gradients[k]))


@each
def test_a_wrong_dtype_and_a_lost_gradient_are_found(example: Example) -> None:
    outputs, grads = computed(example)
    wrong = [y.astype(OTHER.get(str(y.dtype), "int16")) for y in outputs]
    assert output_faults(example, wrong, "float32")
    for k in nonzero(grads):
        assert gradient_faults(example, replaced(grads, k, None), "float32")


class NeverSums(type(XP)):
    """A namespace that forgets to sum a gradient over the axes that broadcasting stretched."""

    def unbroadcast(self, g: Any, shape: Any) -> Any:
        return g


class OneLate(type(XP)):
    """A namespace whose windows start one element late, and are put back as late."""

    def windows(self, x: Any, kernel: Any, strides: Any, dilations: Any) -> Any:
        return super().windows(np.roll(x, -1, axis=-1), kernel, strides, dilations)

    def fold(self, w: Any, shape: Any, strides: Any, dilations: Any) -> Any:
        return np.roll(super().fold(w, shape, strides, dilations), 1, axis=-1)


def broadcasts(example: Example) -> bool:
    """Whether a gradient comes out in another shape than its input when nothing sums it."""
    try:
        found = computed(example, NeverSums())[1]
    except ValueError:  # a derivative that sums by itself (MatMul) cannot go on, which shows
        return False
    return any(g is not None and g.shape != x.shape for g, x in zip(found, example.inputs, strict=True))


@pytest.mark.parametrize("example", [e for e in EXAMPLES if broadcasts(e)], ids=lambda e: e.name)
def test_a_missing_sum_over_broadcast_axes_is_found(example: Example) -> None:
    assert gradient_faults(example, computed(example, NeverSums())[1], "float32")


@pytest.mark.parametrize("example", [e for e in EXAMPLES if "strides" in e.operator.settings], ids=lambda e: e.name)
def test_a_window_off_by_one_is_found(example: Example) -> None:
    outputs = example.operator.run(OneLate(), *example.inputs)
    assert output_faults(example, outputs, "float32")
    try:
        found = gradient_faults(example, computed(example, OneLate())[1], "float32")
    except IndexError as error:  # a place outside the input shows by itself
        found = [str(error)]
    assert found


def test_the_planted_errors_meet_operators() -> None:
    assert {type(e.operator).__name__ for e in EXAMPLES if broadcasts(e)} >= {"Add", "Mul", "Gemm"}
    assert {type(e.operator).__name__ for e in EXAMPLES if "strides" in e.operator.settings} >= {"Conv", "MaxPool"}


def test_a_definition_whose_names_clash_is_refused() -> None:
    with pytest.raises(TypeError, match="name both an input and an output"):
        class Clash(Operator):
            def forward(self, xp, y):  # type: ignore[no-untyped-def]
                return y


def nonzero(values: list) -> list[int]:
    """Where there is something to spoil."""
    return [k for k, v in enumerate(values) if v is not None and v.dtype.kind == "f" and np.any(v)]


def off(values: np.ndarray) -> np.ndarray:
    """With one element larger by one percent: a small one among those that weigh."""
    flat = values.copy().reshape(-1)
    size = np.abs(flat)
    flat[np.argmin(np.where(size >= size.max() / 10, size, np.inf))] *= 1.01
    return flat.reshape(values.shape)


def replaced(values: list, k: int, value: Any) -> list:
    return [*values[:k], value, *values[k + 1:]]
