"""What a job names, loaded in the process that times it: an operator, a function, or what they are judged by."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ...check.operators.examples import Reference
from ...check.operators.formats import Values
from ...check.operators.opaque import shaken
from ...check.operators.subjects import (
    function_operator,
    named_reference,
)
from ...contracts.calls import results
from ...contracts.framework import Framework
from ...contracts.operator import Operator
from ...custom.loading import load_operator
from ...errors import Deep500Error, unknown, with_place
from ...user_files import imported
from .jobs import OperatorJob


def load_subject(
    job: OperatorJob, framework: Framework, reference: Reference | None
) -> Operator:
    """The operator of a job; a plain function becomes one, compiled by the framework if the job asks for that.

    Without a reference, a function is judged by itself in float64.
    """
    function = _function(job.operator)
    if function is None:
        return load_operator(job.operator, dict(job.attributes))
    if job.attributes:
        names = ", ".join(job.attributes)
        raise Deep500Error(
            f"{job.operator} is a function and has no attributes: leave {names} out"
        )
    formula = reference or _in_float64(function, framework)
    if job.kernel == "compiled":
        function = framework.compile(function)
    return function_operator(function, formula, framework.name)


def _in_float64(function: Callable, framework: Framework) -> Reference:
    """The function itself, from NumPy arrays to NumPy arrays; those that it is given are in float64."""

    is_numpy = framework.name == "reference"

    @wraps(function)
    def formula(*inputs: Any) -> Any:
        tensors = list(inputs)
        if not is_numpy:
            tensors = [framework.tensor(x) for x in inputs]
        try:
            returned = function(*tensors)
        except Exception as error:
            raise Deep500Error(
                f"{function.__name__} cannot run on float64 arrays of {framework.name}: {with_place(error)}; give the "
                "framework that it is written for, or a --reference in NumPy if it takes float32 only"
            ) from error
        if is_numpy:  # its arrays may be of a class that makes errors
            return results(returned)
        return tuple(framework.array(y) for y in results(returned))

    def with_errors(noise: Any, inputs: Values) -> Any:
        return shaken(formula(*inputs), noise, inputs)

    if not is_numpy:
        formula.shaken = with_errors  # type: ignore[attr-defined]
    return formula


def _function(text: str) -> Callable | None:
    """The function that a Python file holds under this name; None if the text names an operator."""
    file, _, name = text.rpartition(":")
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        return None
    module = imported(path)
    value = getattr(module, name, None)
    if value is None:
        names = _own_names(module)
        raise unknown(f"operator or function in {file}", name, names)
    if isinstance(value, type) or not callable(value):
        return None
    function: Callable = value
    return function


def _own_names(module: ModuleType) -> list[str]:
    """The classes and functions that a file defines."""
    names = []
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", "") == module.__name__
        is_own = is_own and not name.startswith("_")
        if is_own and isinstance(value, type | FunctionType):
            names.append(name)
    return names


def is_function(operator: Operator) -> bool:
    """Whether it adapts a plain function."""
    return getattr(operator, "is_function", False)


def load_reference(text: str) -> Reference | None:
    """A function of NumPy arrays: one that a user names, or the formula of a built-in operator; None for no text."""
    if not text:
        return None
    reference = named_reference(text)
    return _checked(text, reference) if ":" in text else reference


def _checked(text: str, reference: Reference) -> Reference:
    """The reference, whose errors and results that are no arrays become errors that name it."""

    @wraps(reference)
    def checked(*inputs: Any) -> Any:
        try:
            returned = reference(*inputs)
        except Deep500Error:
            raise
        except Exception as error:
            raise Deep500Error(
                f"the reference {text} cannot be run: {with_place(error)}"
            ) from error
        for result in results(returned):
            if np.asarray(result).dtype.kind not in "biufc":
                raise Deep500Error(
                    f"the reference {text} returned {type(result).__name__}: it takes NumPy arrays and must return "
                    "one or several"
                )
        return returned

    return checked
