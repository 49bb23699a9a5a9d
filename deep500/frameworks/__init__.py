"""The frameworks by name: a package in this folder, or a module named in the entry point group `deep500.frameworks`."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import registry
from ..contracts.framework import Framework
from ..contracts.native_optimizer import NativeOptimizer
from ..contracts.operator import Operator
from ..custom.operators import CustomOp, as_operator
from ..errors import Deep500Error, unknown

FOR_TESTS = {"fake"}  # found by name, never listed


@cache
def framework(name: str) -> Framework:
    """The adapter of that name; nothing of the framework itself is imported yet."""
    modules = registry.packages("frameworks")
    if name not in modules:
        raise unknown("framework", name, known_frameworks())
    package = registry.package("frameworks", name)
    adapter = getattr(package, "FRAMEWORK", None)
    if not isinstance(adapter, Framework):
        raise Deep500Error(
            f"the framework {name!r} cannot be used: {package.__name__} has no FRAMEWORK"
        )
    return adapter


def known_frameworks() -> list[str]:
    """The names of all frameworks that there is an adapter for."""
    return sorted(registry.packages("frameworks").keys() - FOR_TESTS)


def available_frameworks() -> list[str]:
    """The names of the frameworks that are installed here."""
    return [name for name in known_frameworks() if framework(name).available()]


def native_optimizers(name: str) -> dict[str, type[NativeOptimizer]]:
    """The framework's own optimizers by their names, such as MomentumOptimizer."""
    members = vars(registry.package("frameworks", name))
    optimizers = {}
    for key, value in members.items():
        if isinstance(value, type) and issubclass(value, NativeOptimizer):
            optimizers[key] = value
    return optimizers


def evaluate(
    operator: Operator | CustomOp, inputs: Sequence[Any], framework: str = "reference"
) -> list[np.ndarray]:
    """The outputs of one operator, as a framework computes them.

    Inputs are arrays: NumPy's, any framework's, lists or numbers, which take the dtype of the other inputs. Static
    inputs (axes, shapes) are numbers or lists, or arrays of them. None stands for one that is left out.
    """
    return _adapter(framework).evaluate(as_operator(operator), inputs)


def gradient(
    operator: Operator | CustomOp,
    inputs: Sequence[Any],
    grads: Sequence[Any],
    framework: str = "reference",
) -> list[np.ndarray | None]:
    """One gradient per input from those of the outputs; None where there is none."""
    return _adapter(framework).gradient(as_operator(operator), inputs, grads)


_adapter = framework  # the functions above have a parameter of that name
