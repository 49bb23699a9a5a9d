"""A kernel that is inherited runs the parent's formula: it is not used for a class that has another one."""

import numpy as np
import pytest

import deep500 as d5
from deep500.frameworks import available_frameworks


class Clipped(d5.operators.Relu):
    """Another formula than that of the class whose kernels it inherits."""

    def forward(self, xp, x):
        return xp.minimum(xp.maximum(x, 0.0), 6.0)


class WithItsOwn(Clipped):
    def pytorch(self, torch, x):
        return torch.nn.functional.relu6(x)


class Renamed(d5.operators.Relu):
    """The same formula."""


class Ascending(d5.optimizers.SGD):
    def update(self, xp, param, grad, state, step):
        return param + self.learning_rate * grad, state


@pytest.mark.parametrize("name", available_frameworks())
@pytest.mark.parametrize("operator", [Clipped(), WithItsOwn()], ids=repr)
def test_an_overridden_formula_is_what_runs(operator: d5.Operator, name: str) -> None:
    x = np.array([-1, 3, 9], "float32")
    [y] = d5.evaluate(operator, [x], framework=name)
    assert y.tolist() == [0, 3, 6]


def test_kernels_are_inherited_with_their_formula() -> None:
    assert Renamed().native("pytorch") is not None
    assert Clipped().native("pytorch") is None
    assert WithItsOwn().native("pytorch") is not None


def test_an_overridden_update_has_no_inherited_kernel() -> None:
    for name in available_frameworks():
        assert Ascending(0.5).native(name) is None
    assert d5.optimizers.SGD(0.5).native("pytorch") is not None
