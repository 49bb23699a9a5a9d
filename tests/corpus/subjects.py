"""The operators of the corpus, called directly: nothing here passes through the checks."""

import inspect
import runpy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import deep500 as d5
from deep500.contracts.operator import Operator
from deep500.custom.cpp import CppOp

FOLDER = Path(__file__).parent
XP = d5.framework("reference").xp


class Subject:
    """An operator with its reference: what it returns, as arrays."""

    def __init__(self, operator: str, reference: str):
        file, _, name = operator.rpartition(":")
        self.operator = _loaded(FOLDER / file, name)
        self.truth = _loaded(FOLDER / "references.py", reference)

    @property
    def differentiable(self) -> bool:
        return getattr(self.operator, "differentiable", False)

    @property
    def domain(self) -> tuple[float, float] | None:
        domain = getattr(self.operator, "domain", None)
        return domain if isinstance(domain, tuple) else None

    def forward(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs as the operator returns them, without a copy."""
        with quiet():
            if isinstance(self.operator, CppOp):
                return list(self.operator.run(inputs))
            if isinstance(self.operator, d5.CustomPythonOp):
                return _arrays(self.operator.forward(inputs))
            if isinstance(self.operator, Operator):
                return _arrays(self.operator.run(XP, *inputs))
            return _arrays(self.operator(*inputs))

    def backward(
        self,
        grads: Sequence[np.ndarray],
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
    ) -> list[Any]:
        """One gradient per input as the operator returns them, None where it gives none."""
        with quiet():
            if isinstance(self.operator, CppOp):
                return list(self.operator.gradients(grads, inputs, outputs))
            if isinstance(self.operator, Operator):
                return list(self.operator.gradients(XP, grads, inputs, outputs))
            made = self.operator.backward(grads, inputs, outputs)
        return list(made) if isinstance(made, tuple | list) else [made]

    def reference(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The truth for these inputs, computed in float64 and rounded to their dtype."""
        dtype = next((x.dtype for x in inputs if x.dtype.kind == "f"), None)
        with quiet():
            outputs = _arrays(self.truth(*map(widened, inputs)))
            return [
                y.astype(dtype) if dtype and y.dtype.kind == "f" else y for y in outputs
            ]

    def slope(
        self,
        grads: Sequence[np.ndarray],
        inputs: Sequence[np.ndarray],
        which: int,
        step: float = 1e-5,
    ) -> np.ndarray:
        """The gradient by one input, by central differences of the reference in float64."""
        wide = [widened(x) for x in inputs]
        gradient = np.zeros(wide[which].shape)
        for place in np.ndindex(gradient.shape):
            ends = []
            for sign in (1, -1):
                moved = [x.copy() for x in wide]
                moved[which][place] += sign * step
                ends.append(_arrays(self.truth(*moved)))
            changes = [(up - down) / (2 * step) for up, down in zip(*ends, strict=True)]
            gradient[place] = sum(
                float((g * c).sum()) for g, c in zip(grads, changes, strict=True)
            )
        return gradient


@contextmanager
def quiet() -> Iterator[None]:
    """Empty means and numbers that are not finite are meant."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def widened(x: np.ndarray) -> np.ndarray:
    return x.astype("float64") if x.dtype.kind == "f" else x.copy()


def _arrays(made: Any) -> list[np.ndarray]:
    results = made if isinstance(made, tuple | list) else [made]
    return [np.asarray(y) for y in results]


def _loaded(path: Path, name: str) -> Callable | Any:
    if path.suffix == ".cpp":
        return d5.compile_custom_cppop(name, path)
    found = (
        _references()[name]
        if path.stem == "references"
        else runpy.run_path(str(path))[name]
    )
    return found() if inspect.isclass(found) else found


@cache
def _references() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "references.py"))
