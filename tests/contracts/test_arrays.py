"""Arrays that do not fit are refused in one line that names the first odd one."""

from typing import Any

import numpy as np
import pytest

from deep500.contracts.operator import TensorSpec
from deep500.errors import Deep500Error
from deep500.graph.arrays import check_matching

OWN = {"w": np.zeros((3, 4), np.float32), "b": np.zeros(4, np.float32)}


def test_equal_names_shapes_and_dtypes_pass() -> None:
    check_matching(
        "the parameters", OWN, {name: value + 1 for name, value in OWN.items()}
    )
    check_matching("the parameters", OWN, dict(reversed(OWN.items())))
    check_matching("nothing", {}, {})


def test_descriptions_and_native_tensors_are_enough() -> None:
    torch = pytest.importorskip("torch")
    described = {
        name: TensorSpec(value.shape, value.dtype.name) for name, value in OWN.items()
    }
    check_matching("the parameters", described, OWN)
    tensors = {name: torch.zeros(value.shape) for name, value in OWN.items()}
    check_matching("the parameters", tensors, OWN)
    with pytest.raises(Deep500Error, match="'w' is float32.*, expected float64"):
        check_matching(
            "the parameters", {n: t.double() for n, t in tensors.items()}, OWN
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": None}, "the parameters: 'b' is missing among w"),
        ({"c": np.zeros(1)}, "the parameters: 'c' is not one of w, b"),
        (
            {"w": np.zeros((4, 3), np.float32)},
            "the parameters: 'w' is float32[4, 3], expected float32[3, 4]",
        ),
        ({"b": np.zeros(4)}, "the parameters: 'b' is float64[4], expected float32[4]"),
    ],
)
def test_the_first_odd_array_is_named(change: dict[str, Any], message: str) -> None:
    changed: dict[str, Any] = OWN | change
    given = {name: value for name, value in changed.items() if value is not None}
    with pytest.raises(Deep500Error) as caught:
        check_matching("the parameters", OWN, given)
    assert str(caught.value) == message


def test_dtypes_may_differ_where_the_caller_converts_them() -> None:
    wide = {name: value.astype(np.float64) for name, value in OWN.items()}
    check_matching("the parameters", OWN, wide, dtypes=False)
    with pytest.raises(Deep500Error, match="expected float32"):
        check_matching("the parameters", OWN, wide)


def test_many_names_stay_one_readable_line() -> None:
    many = {f"layer{i}": np.zeros(1) for i in range(200)}
    with pytest.raises(Deep500Error, match="layer9 and 190 more") as caught:
        check_matching("the parameters", many, many | {"x": np.zeros(1)})
    assert len(str(caught.value)) < 200
    with pytest.raises(Deep500Error, match="'layer0' is missing among no arrays"):
        check_matching("the parameters", many, {})
