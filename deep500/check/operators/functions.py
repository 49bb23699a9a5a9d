"""Plain functions of NumPy arrays or of a framework's tensors, as functions of NumPy arrays."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import Deep500Error, with_place
from ...frameworks import framework as find_framework
from .formats import Values, cast, map_arrays
from .opaque import shaken, shaken_by_evaluation, with_errors_inside

MODULES = {"pytorch": "torch", "jax": "jax", "tensorflow": "tensorflow"}


class ReferenceFailed(Deep500Error):
    """A reference raised something or returned no arrays, which is no fault of the operator."""


def compiled_once(function: Callable, framework: str) -> Callable:
    """The function compiled as a whole, once for inputs of a form, where its framework would compile every step.

    JAX compiles a scan or a Pallas kernel in every call otherwise. A function that cannot be traced runs as it is.
    """
    adapter = find_framework(framework)
    if adapter.usual_execution != "compiled":
        return function
    compiled = adapter.compile(function)

    def call(*tensors: Any) -> Any:
        try:
            return compiled(*tensors)
        except Exception:  # said by the function itself, if it is its fault
            return function(*tensors)

    return call


@dataclass(frozen=True)
class FrameworkFunction:
    """A function of a framework's tensors as one of NumPy arrays."""

    function: Callable
    framework: str

    @cached_property
    def _called(self) -> Callable:
        return compiled_once(self.function, self.framework)

    def __call__(self, *inputs: Any) -> tuple:
        framework = find_framework(self.framework)
        results = self._called(*map_arrays(framework.tensor, inputs))
        if not isinstance(results, tuple | list):
            results = (results,)
        return tuple([framework.array(result) for result in results])

    def shaken(self, noise: Any, inputs: Values) -> tuple:
        """Results with errors as large as its evaluation in float32 shows, elsewhere as large as a rounded input."""
        results = self(*inputs)
        if noise.dtype != "float32":
            return tuple(shaken(results, noise, inputs))
        rounded = self(*cast(inputs, "float32"))
        return shaken_by_evaluation(results, rounded, noise, inputs)


def by_itself(function: Callable, framework: str) -> Callable:
    """The function as the truth about itself, for arrays in float64."""
    if framework == "reference":
        return function
    return FrameworkFunction(function, framework)


@dataclass
class ReferenceFunction:
    """A reference of NumPy arrays, or of PyTorch's, JAX's or TensorFlow's tensors: the first that it takes."""

    function: Callable
    name: str
    called: Callable | None = field(default=None, init=False)

    def __call__(self, *inputs: Any) -> tuple:
        if self.called is None:
            self.called = self._suitable(inputs)
        try:
            return self._arrays(self.called(*inputs))
        except ReferenceFailed:
            raise
        except Exception as error:
            raise self._failed(error, inputs) from error

    def shaken(self, noise: Any, inputs: Values) -> tuple:
        """Results with errors inside, as far as they can be made there."""
        if self.called is None:
            self(*inputs)
        if isinstance(self.called, FrameworkFunction):
            return self.called.shaken(noise, inputs)
        return self._arrays(with_errors_inside(self.function, noise, inputs))

    def _suitable(self, inputs: Values) -> Callable:
        """The function itself if it takes NumPy arrays and returns some, or over the tensors that it takes."""
        try:
            results = self.function(*inputs)
        except Exception as error:
            for name, module in MODULES.items():
                if module in sys.modules:
                    candidate = FrameworkFunction(self.function, name)
                    try:
                        candidate(*inputs)
                        return candidate
                    except Exception:  # the first error is reported
                        continue
            raise self._failed(error, inputs) from error
        first = results[0] if isinstance(results, tuple | list) else results
        for name, module in MODULES.items():
            if type(first).__module__.partition(".")[0] in (
                module,
                f"{module}lib",
            ):
                return FrameworkFunction(self.function, name)
        return self.function

    def _arrays(self, results: Any) -> tuple:
        if not isinstance(results, tuple | list):
            results = (results,)
        arrays = tuple([np.asarray(result) for result in results])
        if not arrays or any(y.dtype.kind in "OSUMm" for y in arrays):
            kinds = ", ".join(type(result).__name__ for result in results)
            raise ReferenceFailed(
                f"the reference {self.name} returned {kinds or 'nothing'}: it has to return arrays"
            )
        return arrays

    def _failed(self, error: Exception, inputs: Values) -> ReferenceFailed:
        shapes = []
        for x in inputs:
            if isinstance(x, np.ndarray):
                shapes.append(f"{x.dtype.name}{list(x.shape)}")
        received = ", ".join(shapes)
        return ReferenceFailed(
            f"the reference {self.name} raised {with_place(error)}; it received the NumPy arrays {received}"
        )
