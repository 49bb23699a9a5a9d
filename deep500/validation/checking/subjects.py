"""From what a user names to operators and examples: built-in ones, objects, plain functions with a reference."""

import importlib
import inspect
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ... import registry
from ...contracts.inputs import canonical_inputs
from ...contracts.operator import Operator, Tensor
from ...custom.cpp import CppOp
from ...custom.loading import load_operator
from ...custom.operators import CustomOp
from ...errors import Deep500Error, one_line, unknown
from ...import_path import add_import_folder
from .examples import (
    Domain,
    Example,
    Reference,
    draw_inputs,
    drawn,
    examples_of,
    generator,
)
from .formats import is_float

OURS = f"{__name__.split('.')[0]}.operators."
SHAPE = (4, 6)  # of inputs that nobody described


def examples_for(
    operator: Any,
    inputs: Sequence[Any] | None,
    reference: Reference | None,
    framework: str,
    seed: int,
    domain: Domain | None = None,
) -> list[Example]:
    """What is checked: a class with all its cases, an operator or function with these inputs or those of its cases.

    Drawn inputs lie in the domain that the operator declares, or in this one.
    """
    operator = as_operator(operator, reference, framework)
    name = operator.__name__ if isinstance(operator, type) else type(operator).__name__
    if isinstance(operator, type) and (
        not issubclass(operator, Operator) or inputs is None
    ):
        found = []
        if issubclass(operator, Operator):
            found = list(examples_of(operator, seed))  # type: ignore[arg-type]
        if not found:
            raise Deep500Error(
                f"{name} has no cases to check: give it attributes and inputs"
            )
    else:
        instance = operator() if isinstance(operator, type) else operator
        domain = domain or declared_domain(instance)
        given = (
            [_given(instance, inputs, seed, domain)]
            if inputs is not None
            else _case_inputs(instance, seed, domain)
        )
        found = _working(
            [
                Example(f"{name}-{i}", instance, values, domain=domain)
                for i, values in enumerate(given)
            ]
        )
    return [replace(e, reference=reference, seed=seed) for e in found]


def declared_domain(operator: Operator) -> Domain:
    """The domain that an operator of a user's declares: `domain = (low, high)`."""
    told = getattr(operator, "declared_domain", None) or getattr(
        operator.adapted, "domain", None
    )
    own: Any = operator.domain
    if told is None and not isinstance(own, str):
        told = own  # elsewhere it is ONNX's
    return told if isinstance(told, Domain) else as_domain(told)


def as_domain(ends: Any) -> Domain:
    """A domain from (low, high); None stands for all numbers."""
    if ends is None:
        return Domain()
    try:
        low, high = map(float, ends)
    except (TypeError, ValueError):
        raise Deep500Error(
            f"{ends!r} is no domain: give two numbers, as in domain = (0.0, 10.0)"
        ) from None
    if not low < high:
        raise Deep500Error(
            f"the domain from {low:g} to {high:g} is empty: give the lower end first"
        )
    return Domain(low, high)


def is_ours(operator: Operator) -> bool:
    """Whether it is built in."""
    return type(operator).__module__.startswith(OURS)


def has_own_code(operator: Operator) -> bool:
    """Whether a user wrote what it does to NumPy arrays."""
    return not is_ours(operator) and not getattr(operator, "is_function", False)


def is_custom(operator: Operator) -> bool:
    """Whether it stands for a CustomPythonOp or a C++ class, here or in another process."""
    return operator.adapted is not None or getattr(operator, "custom", False)


def is_compiled(operator: Operator) -> bool:
    """Whether it is in C++, here or in another process."""
    return isinstance(operator.adapted, CppOp) or getattr(operator, "compiled", False)


def free_rank(operator: Operator) -> bool:
    """Whether nothing says how many axes its inputs have."""
    told = getattr(operator, "free_rank", None)
    if told is not None:
        return bool(told)
    if isinstance(operator.adapted, CustomOp):
        return all(desc.shape is None for desc in operator.adapted.signature.inputs)
    return not operator.cases


def as_operator(subject: Any, reference: Reference | None, framework: str) -> Any:
    """An operator of a user's or a plain function as an Operator; a class stays what it is."""
    if isinstance(subject, CustomOp):
        return subject.operator
    if isinstance(subject, Operator | type):
        return subject
    return function_operator(subject, reference, framework)


def function_operator(
    function: Any, reference: Reference | None, framework: str
) -> Operator:
    """A plain function as an operator: the reference is its formula, it is the kernel of the framework."""
    if not callable(function):
        raise Deep500Error(
            f"{function!r} is neither an operator nor a function: give d5.operators.Relu(), or a "
            "function"
        )
    name = getattr(function, "__name__", type(function).__name__)
    if reference is None:
        raise needs_reference(name)
    labels, required = parameters_of(reference)
    own = parameters_of(function)[0]
    domain = as_domain(getattr(function, "domain", None))
    labels = own if len(own) == len(labels) else labels
    return adapted(name, function, reference, framework, labels, required, domain)


def needs_reference(name: str) -> Deep500Error:
    return Deep500Error(
        f"the function {name} needs a reference: a function that computes the same, slow and simple"
    )


def instance_of(cls: type[Operator]) -> Operator:
    """An operator without attributes."""
    try:
        return cls()
    except TypeError:
        raise Deep500Error(
            f"{cls.__name__} needs attributes: give them with --set name=value"
        ) from None


def parameters_of(function: Callable) -> tuple[tuple[str, ...], int]:
    """The names of what a function takes, and how many of these it must be given."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions have none
        return (), 1
    by_place = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    found = [p for p in signature.parameters.values() if p.kind in by_place]
    return tuple(p.name for p in found), len([p for p in found if p.default is p.empty])


def adapted(
    name: str,
    function: Callable,
    truth: Reference,
    framework: str,
    labels: Sequence[str],
    required: int,
    domain: Domain,
) -> Operator:
    """An operator whose formula is the truth, and whose kernel on this framework is the function."""

    def forward(self: Operator, xp: Any, *xs: Any) -> Any:
        return truth(*xs)

    def infer(self: Operator, *inputs: Any) -> tuple[Tensor, ...]:
        dtype = next(
            (t.dtype for t in inputs if isinstance(t, Tensor) and "float" in t.dtype),
            "",
        )
        wide = [
            np.ones(t.shape, "float64" if "float" in t.dtype else t.dtype)
            if isinstance(t, Tensor)
            else t
            for t in inputs
        ]
        return tuple(
            Tensor(y.shape, dtype if dtype and y.dtype.kind == "f" else y.dtype.name)
            for y in map(np.asarray, self.run(None, *wide))
        )

    body = {
        "forward": forward,
        "infer": infer,
        "outputs": ("*ys",),
        "arity": required,
        "__doc__": f"The function {name}.",
        "labels": tuple(labels),
        "is_function": True,
        "data_dependent": True,  # ones may have made other shapes
        "declared_domain": domain,
        framework: lambda self, module, *xs: function(*xs),
    }
    return type(name, (Operator,), body)()


def _given(
    operator: Operator, inputs: Sequence[Any], seed: int, domain: Domain
) -> tuple:
    """Arrays as they are, shapes (tuples, Tensors) drawn, the values of static inputs."""
    values = []
    for i, name in enumerate(operator.input_names(len(inputs))):
        value = inputs[i]
        if isinstance(value, tuple | Tensor) and name not in operator.static:
            value = np.asarray(
                drawn(value, generator(type(operator).__name__, i, seed))
            )
            value = domain.moved(value) if is_float(value) else value
        values.append(value)
    given = tuple(canonical_inputs(operator, values))
    if not domain.holds(given):
        raise Deep500Error(
            f"the inputs of {type(operator).__name__} lie outside of its domain {domain}: "
            "give others, or another domain"
        )
    return given


def _case_inputs(operator: Operator, seed: int, domain: Domain) -> list[tuple]:
    cls, name = type(operator), type(operator).__name__
    if cls.cases:
        drawn_ones = [
            draw_inputs(cls, case.inputs, f"{name}-{i}", seed)
            for i, case in enumerate(cls.cases)
        ]
        return [
            tuple(domain.moved(x) if is_float(x) else x for x in values)
            for values in drawn_ones
        ]
    required = [
        p
        for p in cls.inputs.values()
        if p.default is p.empty and p.name not in cls.static
    ]
    count = getattr(cls, "arity", len(required))
    return [_given(operator, [SHAPE] * count, seed, domain)]


def _working(found: list[Example]) -> list[Example]:
    """Those that the operator takes; its attributes may not fit the inputs of every case."""
    kept, reasons = [], []
    for example in found:
        try:
            example.operator.infer(*example.tensors)
            _ = example.outputs
            kept.append(example)
        except Exception as error:  # whatever a formula says to inputs that do not fit
            reasons.append(
                next(iter(str(error).strip().splitlines()), type(error).__name__)
            )
    if not kept:
        example = found[0]
        shown = ", ".join(
            f"{t.dtype}{list(t.shape)}" if isinstance(t, Tensor) else repr(t)
            for t in example.tensors
        )
        raise Deep500Error(
            f"{type(example.operator).__name__} does not take {shown}: {reasons[0]}; give other inputs"
        )
    return kept


def named(text: str, attributes: Mapping[str, Any], function: bool) -> Any:
    """What a command line names: a built-in operator, one in a file, or (with a reference) a function in a file."""
    if ":" not in text and not attributes and not Path(text).suffix:
        return registry.find("operators", text)  # with all its cases
    found = (
        named_function(text)
        if function and text.rpartition(":")[0].endswith(".py")
        else None
    )
    return (
        load_operator(text, attributes)
        if found is None or isinstance(found, type)
        else found
    )


def imported(module: str, name: str) -> Any:
    """What a module holds under a name, which may have dots."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def named_function(text: str) -> Any:
    """A function in a file (my.py:slow_relu) or in a module (numpy:tanh)."""
    place, colon, name = text.rpartition(":")
    if not colon:
        raise Deep500Error(
            f"{text!r} names no function: write my.py:slow_relu, or numpy:tanh"
        )
    add_import_folder(Path(place).parent)
    try:
        values = (
            runpy.run_path(place)
            if Path(place).is_file()
            else vars(importlib.import_module(place))
        )
    except ModuleNotFoundError as error:
        raise Deep500Error(
            f"there is no file or module {error.name or place}, as {text!r} needs"
        ) from None
    except Exception as error:  # whatever the user's code says
        raise Deep500Error(
            f"{place} cannot be run: {one_line(error, kind=True)}"
        ) from error
    if not callable(values.get(name)):
        public = [
            key for key, v in values.items() if callable(v) and not key.startswith("_")
        ]
        many = f"{len(public)} of them" if len(public) > 20 else ""
        raise unknown(f"function in {place}", name, public, many)
    return values[name]
