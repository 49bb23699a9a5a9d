"""From what a user names to operators and examples: built-in ones, objects, plain functions with a reference."""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ... import registry, user_files
from ...contracts.axis_ranges import check_axes
from ...contracts.calls import results as as_tuple
from ...contracts.inputs import canonical_inputs
from ...contracts.operator import Operator, TensorSpec
from ...custom.cpp import CppOp
from ...custom.loading import load_operator
from ...custom.operator_text import parsed_operator
from ...custom.operators import CustomOp
from ...errors import (
    Deep500Error,
    Incomplete,
    Unsupported,
    raise_if_mistake,
    unknown,
    with_place,
)
from ...frameworks import adapter_name
from ...frameworks import framework as find_framework
from ...import_path import add_import_folder
from .examples import (
    XP,
    Domain,
    Example,
    Reference,
    draw_inputs,
    drawn,
    examples_of,
    generator,
    reference_results,
)
from .formats import Values, is_float, map_arrays, map_floats
from .functions import ReferenceFailed, by_itself
from .runner import OperatorRunner

OURS = f"{__name__.split('.')[0]}.operators."
SHAPE = (4, 6)  # of inputs that nobody described


def examples_for(
    operator: Any,
    inputs: Values | None,
    reference: Reference | None,
    framework: str,
    seed: int,
    domain: Domain | None = None,
) -> list[Example]:
    """What is checked: a class with all its cases, an operator or function with these inputs or those of its cases.

    Drawn inputs lie in the domain that the operator declares, or in this one.
    """
    operator = as_operator(operator, reference, framework)
    is_class = isinstance(operator, type)
    if is_class and not issubclass(operator, Operator):
        raise _no_cases(operator)
    if is_class and inputs is None:
        examples = list(examples_of(operator, seed))
        if not examples:
            raise _no_cases(operator)
    else:
        instance = operator() if is_class else operator
        examples = _examples_of_instance(instance, inputs, seed, domain)
    referred_to = [replace(e, reference=reference, seed=seed) for e in examples]
    return referred_to if is_class and inputs is None else _working(referred_to)


def _no_cases(cls: type) -> Deep500Error:
    return Deep500Error(
        f"{cls.__name__} has no cases to check: give it attributes and inputs"
    )


def _examples_of_instance(
    operator: Operator, inputs: Values | None, seed: int, domain: Domain | None
) -> list[Example]:
    """An example with these inputs, or those of the operator's cases that its attributes fit."""
    name = type(operator).__name__
    domain = domain or declared_domain(operator)
    if inputs is None:
        every_inputs = _case_inputs(operator, seed, domain)
    else:
        every_inputs = [_complete_inputs(operator, inputs, seed, domain)]
    examples = []
    for i, values in enumerate(every_inputs):
        example = Example(f"{name}-{i}", operator, values, domain=domain)
        examples.append(example)
    return examples


def declared_domain(operator: Operator) -> Domain:
    """The domain that an operator of a user's declares: `domain = (low, high)`."""
    declared = getattr(operator, "declared_domain", None)
    declared = declared or getattr(operator.adapted, "domain", None)
    attribute: Any = operator.domain
    if declared is None and not isinstance(attribute, str):
        declared = attribute  # a text is the name of an ONNX domain
    if isinstance(declared, Domain):
        return declared
    return as_domain(declared)


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
    """Whether it adapts a CustomPythonOp or a C++ class, here or in another process."""
    return operator.adapted is not None or getattr(operator, "custom", False)


def is_compiled(operator: Operator) -> bool:
    """Whether it is in C++, here or in another process."""
    is_cpp = isinstance(operator.adapted, CppOp)
    return is_cpp or getattr(operator, "compiled", False)


def free_rank(operator: Operator) -> bool:
    """Whether its inputs may have any number of axes: neither a description nor a case says how many."""
    described = getattr(operator, "free_rank", None)
    if described is not None:
        return bool(described)
    if isinstance(operator.adapted, CustomOp):
        descriptors = operator.adapted.signature.inputs
        return all(descriptor.shape is None for descriptor in descriptors)
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
    """A plain function as an operator: the reference is its formula, the function is its kernel on the framework."""
    if not callable(function):
        raise Deep500Error(
            f"{function!r} is neither an operator nor a function: give d5.operators.Relu(), or a "
            "function"
        )
    if adapter_name(framework) == "onnxruntime":
        raise Unsupported(
            "onnxruntime has no tensors that a plain function could take: choose another framework, or write a "
            "CustomPythonOp"
        )
    name = getattr(function, "__name__", type(function).__name__)
    labels, required = parameters_of(reference or function)
    truth = reference or by_itself(function, framework)
    labels_of_function, required_by_function = parameters_of(function)
    if labels_of_function:
        required = min(required, required_by_function)
    domain = as_domain(getattr(function, "domain", None))
    if len(labels_of_function) == len(labels):
        labels = labels_of_function
    derived = None
    if find_framework(framework).abilities.autodiff:
        derived = partial(_differentiated, framework)
    return adapted(name, function, truth, framework, labels, required, domain, derived)


def _differentiated(
    framework: str, operator: Operator, calls: Sequence[tuple]
) -> list[list]:
    from .oracle import (
        OperatorOracle,  # which knows runners, and they operators
    )

    oracle = OperatorOracle(runner=OperatorRunner(find_framework(framework)))
    gradients = []
    for inputs, seeds, xp in calls:
        arrays = map_arrays(np.asarray, inputs), map_arrays(np.asarray, seeds)
        gradients.append(oracle.differentiated_by(operator, *arrays, xp))
    return gradients


def instance_of(cls: type[Operator]) -> Operator:
    """An operator without attributes."""
    try:
        return cls()
    except TypeError:
        raise Deep500Error(
            f"{cls.__name__} needs attributes: give them with --set name=value"
        ) from None


def parameters_of(function: Callable) -> tuple[tuple[str, ...], int]:
    """The names of a function's positional parameters, and how many of these have no default."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions have none
        return (), 1
    by_place = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    names = []
    required = 0
    for parameter in signature.parameters.values():
        if parameter.kind in by_place:
            names.append(parameter.name)
            required += parameter.default is parameter.empty
    return tuple(names), required


def adapted(
    name: str,
    function: Callable,
    truth: Reference,
    framework: str,
    labels: Sequence[str],
    required: int,
    domain: Domain,
    derived: Callable[..., list[list]] | None = None,
) -> Operator:
    """An operator whose formula is the truth, and whose kernel on this framework is the function.

    `derived` gives the gradients of several calls in float64, as the framework differentiates the function.
    """

    def forward(self: Operator, xp: Any, *xs: Any) -> Any:
        return truth(*xs)

    def run_each(self: Operator, calls: Sequence[tuple]) -> list[tuple]:
        return [as_tuple(result) for result in reference_results(truth, calls)]

    def infer(self: Operator, *inputs: Any) -> tuple[TensorSpec, ...]:
        float_dtype = ""
        ones = []
        for value in inputs:
            if isinstance(value, TensorSpec) and "float" in value.dtype:
                float_dtype = float_dtype or value.dtype
                value = np.ones(value.shape, "float64")
            elif isinstance(value, TensorSpec):
                value = np.ones(value.shape, value.dtype)
            ones.append(value)
        outputs = []
        for result in self.run(None, *ones):
            y = np.asarray(result)
            dtype = y.dtype.name
            if float_dtype and y.dtype.kind == "f":
                dtype = float_dtype
            outputs.append(TensorSpec(y.shape, dtype))
        return tuple(outputs)

    def derived_each(self: Operator, calls: Sequence[tuple]) -> list[list]:
        assert derived is not None  # asked only if it is differentiable
        return derived(self, calls)

    body = {
        "forward": forward,
        "run_each": run_each,
        "infer": infer,
        "outputs": ("*ys",),
        "arity": required,
        "__doc__": f"The function {name}.",
        "labels": tuple(labels),
        "is_function": True,
        "differentiable": derived is not None,
        "derived_each": derived_each,
        "data_dependent": True,  # ones may have made other shapes
        "declared_domain": domain,
        adapter_name(framework): lambda self, module, *xs: function(*xs),
    }
    return type(name, (Operator,), body)()


def _complete_inputs(
    operator: Operator, inputs: Values, seed: int, domain: Domain
) -> tuple:
    """Arrays as they are, shapes (tuples, Tensors) drawn, the values of static inputs."""
    operator_name = type(operator).__name__
    values = []
    names = operator.input_names(len(inputs))
    for i, name in enumerate(names):
        value = inputs[i]
        is_shape = isinstance(value, tuple | TensorSpec)
        if is_shape and name not in operator.static:
            draw = generator(operator_name, i, seed)
            value = np.asarray(drawn(value, draw))
            if is_float(value):
                value = domain.moved(value)
        values.append(value)
    complete = tuple(canonical_inputs(operator, values))
    if not domain.holds(complete):
        raise Deep500Error(
            f"the inputs of {operator_name} lie outside of its domain {domain}: "
            "give others, or another domain"
        )
    return complete


def _case_inputs(operator: Operator, seed: int, domain: Domain) -> list[tuple]:
    """Inputs for every case, within the domain; without cases, arrays of one shape."""
    cls = type(operator)
    name = type(operator).__name__
    if not cls.cases:
        shapes = [SHAPE] * arity(cls)
        return [_complete_inputs(operator, shapes, seed, domain)]
    every_inputs = []
    for i, case in enumerate(cls.cases):
        case_name = f"{name}-{i}"
        values = draw_inputs(cls, case.inputs, case_name, seed)
        every_inputs.append(map_floats(domain.moved, values))
    return every_inputs


def arity(cls: type[Operator]) -> int:
    """How many inputs an operator must be given."""
    required = 0
    for parameter in cls.inputs.values():
        has_default = parameter.default is not parameter.empty
        if not has_default and parameter.name not in cls.static:
            required += 1
    return getattr(cls, "arity", required)


def _working(examples: list[Example]) -> list[Example]:
    """Those that the operator takes; its attributes may not fit the inputs of every case."""
    working = []
    reasons = []
    for example in examples:
        try:
            check_axes(example.operator, example.inputs)
            example.operator.infer(*example.tensors)
            _ = example.outputs
            working.append(example)
        except (ReferenceFailed, Incomplete):
            raise  # no other inputs would help
        except Exception as error:
            # a formula may raise anything for such inputs
            raise_if_mistake(error)
            reasons.append(first_line(error))
    if not working and _takes(examples[0]):
        raise _without_truth(examples[0], reasons[0])
    if not working:
        example = examples[0]
        name = type(example.operator).__name__
        inputs = ", ".join(map(_shown, example.tensors))
        advice = "give other inputs, with --shape, as in 64x32,32 for two (inputs= in Python)"
        if getattr(example.operator, "is_function", False):
            advice += ", or the framework that it is written for"
        raise Deep500Error(f"{name} does not take {inputs}: {reasons[0]}; {advice}")
    return working


def _takes(example: Example) -> bool:
    """Whether a user's operator takes the inputs as they are, though not in float64."""
    if is_ours(example.operator) or example.reference is not None:
        return False
    try:
        example.truth(example.inputs)
    except Exception as error:
        raise_if_mistake(error)
        return False
    return True


def _without_truth(example: Example, reason: str) -> Deep500Error:
    name = type(example.operator).__name__
    return Deep500Error(
        f"{name} takes {example.dtype} and no float64, in which its own code is the truth ({reason}): give a reference"
    )


def first_line(error: Exception) -> str:
    """The first line of its message, or the name of its class if it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _shown(value: Any) -> str:
    if isinstance(value, TensorSpec):
        return f"{value.dtype}{list(value.shape)}"
    return repr(value)


def named(text: str, attributes: Mapping[str, Any], function: bool) -> Any:
    """What a command line names: a built-in operator, one in a file, or (with `function`) a function in a file."""
    if ":" not in text and not attributes and not Path(text).suffix:
        return registry.find("operators", text)  # with all its cases
    file, _, _ = text.rpartition(":")
    if function and file.endswith(".py") and Path(file).is_file():
        value = named_function(text, "operator or function")
        if not isinstance(value, type):
            if attributes:
                names = ", ".join(attributes)
                raise Deep500Error(
                    f"{text} is a function and has no attributes: leave {names} out"
                )
            return value
    return load_operator(text, attributes)


def named_reference(text: str) -> Reference:
    """What a command line names as right: the formula of a built-in operator (Softmax(axis=0)), or a function."""
    if ":" in text:
        return named_function(text)
    operator_text = parsed_operator(text)
    operator = load_operator(operator_text.address, operator_text.attributes)

    def formula(*inputs: Any) -> tuple:
        return tuple(operator.published(operator.run(XP, *inputs)))

    parameters = inspect.signature(operator.forward).parameters.values()
    _, *taken = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    vars(formula)["__signature__"] = inspect.Signature(taken)
    return formula


def named_function(text: str, role: str = "function") -> Any:
    """A function in a file (my.py:slow_relu) or in a module (numpy:tanh)."""
    place, colon, name = text.rpartition(":")
    if not colon:
        raise Deep500Error(
            f"{text!r} names no function: write my.py:slow_relu, or numpy:tanh"
        )
    add_import_folder(Path(place).parent)
    try:
        if Path(place).is_file():
            values = vars(user_files.imported(Path(place)))
        else:
            values = vars(importlib.import_module(place))
    except ModuleNotFoundError as error:
        raise Deep500Error(
            f"there is no file or module {error.name or place}, as {text!r} needs"
        ) from None
    except Deep500Error:
        raise
    except (Exception, SystemExit) as error:  # code from anyone
        reason = with_place(error)
        raise Deep500Error(f"{place} cannot be imported: {reason}") from error
    if not callable(values.get(name)):
        raise _unknown_function(place, name, values, role)
    return values[name]


def _unknown_function(
    place: str, name: str, values: Mapping[str, Any], role: str
) -> Deep500Error:
    public = []
    for key, value in values.items():
        if callable(value) and not key.startswith("_"):
            public.append(key)
    many = ""
    if len(public) > 20:
        many = f"{len(public)} of them"
    return unknown(f"{role} in {place}", name, public, many)
