"""Every operator that names axes refuses one that its input does not have, alone and in a network."""

import dataclasses

import numpy as np
import onnx
import pytest

import deep500 as d5
from deep500.contracts.axis_ranges import NAMES
from deep500.contracts.operator import Operator, TensorSpec
from deep500.errors import Deep500Error
from deep500.graph.graph import Node
from deep500.graph.shape_inference import Mismatch, node_specs

from .checking import Example, examples

FAR = 99


def with_far_axis(example: Example) -> Example | None:
    """The example with one axis that no input has; None if it names no axis."""
    operator = example.operator
    for name in NAMES:
        axes = operator.settings.get(name)
        if axes is not None:
            far = far_of(axes)
            changed = dataclasses.replace(operator, **{name: far})
            return dataclasses.replace(example, operator=changed)
    inputs = list(example.inputs)
    for place, name in enumerate(type(operator).inputs):
        if name in NAMES and place < len(inputs) and inputs[place] not in (None, ()):
            inputs[place] = far_of(inputs[place])
            return dataclasses.replace(example, inputs=tuple(inputs))
    return None


def far_of(axes: int | tuple[int, ...]) -> int | tuple[int, ...]:
    return FAR if isinstance(axes, int) else (*axes[:-1], FAR)


def far_examples() -> list[Example]:
    by_class: dict[type[Operator], Example] = {}
    for example in examples():
        far = with_far_axis(example)
        if far is not None and scales_of_its_own(far):
            by_class.setdefault(type(example.operator), far)
    return list(by_class.values())


def scales_of_its_own(example: Example) -> bool:
    """Whether the axis matters: one scale per tensor has none."""
    if "quantize" not in type(example.operator).__name__.lower():
        return True
    return np.size(example.inputs[1]) > 1


FAR_EXAMPLES = far_examples()
IDS = [type(example.operator).__name__ for example in FAR_EXAMPLES]


def test_there_are_many() -> None:
    assert len(FAR_EXAMPLES) > 35


@pytest.mark.parametrize("example", FAR_EXAMPLES, ids=IDS)
def test_evaluated_alone(example: Example) -> None:
    with pytest.raises(Deep500Error, match=str(FAR)):
        d5.evaluate(example.operator, example.inputs, framework="reference")


@pytest.mark.parametrize("example", FAR_EXAMPLES, ids=IDS)
def test_inferred_in_a_network(example: Example) -> None:
    specs, names = {}, []
    for place, value in enumerate(example.inputs):
        if isinstance(value, np.ndarray):
            specs[f"x{place}"] = TensorSpec(value.shape, value.dtype.name)
            value = f"x{place}"
        names.append(value)
    node = Node("node", example.operator, tuple(names), ("y",))
    with pytest.raises(Mismatch, match=f"axis {FAR}"):
        node_specs(node, specs)


def test_a_node_is_not_added() -> None:
    network = d5.Network()
    network.add_input("x", (0, 3, 4))
    with pytest.raises(Deep500Error, match="axis 7 of Softmax .* -3 to 2"):
        network.add_node("Softmax", ["x"], axis=7)
    assert not network.nodes


def test_a_file_is_refused() -> None:
    network = d5.Network("sums")
    network.add_input("x", ("batch", "length"))
    network.add_node("ReduceSum", ["x", (1,)], ["y"], name="sum")
    network.add_output("y")
    model = network.to_onnx()
    [axes] = [w for w in model.graph.initializer if w.dims]
    axes.CopyFrom(onnx.numpy_helper.from_array(np.array([7]), axes.name))
    with pytest.raises(Deep500Error, match="node 'sum': axis 7 of ReduceSum"):
        d5.Network.from_onnx(model)


def test_axes_from_the_back_and_new_ones_are_taken() -> None:
    x = np.ones((2, 3), np.float32)
    [y] = d5.evaluate(d5.operators.Unsqueeze(), [x, [2, -4]], framework="reference")
    assert y.shape == (1, 2, 1, 3) or y.shape == (1, 2, 3, 1)
    [flat] = d5.evaluate(d5.operators.Flatten(axis=2), [x], framework="reference")
    assert flat.shape == (6, 1)
