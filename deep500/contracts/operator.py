"""The operator contract: one definition of an ONNX operator for all frameworks."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..canonical import shown
from ..definition import Definition
from ..errors import Deep500Error, Incomplete, place_of
from ..namespace import kind
from . import random_key
from .dtypes import bits
from .kernels import own_kernel

Ints = tuple[int, ...] | None


@dataclass(frozen=True)
class TensorSpec:
    """Shape and dtype of a value. Dimensions of a network's inputs may be names instead of sizes."""

    shape: tuple[Any, ...]
    dtype: str = "float32"

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return -(-self.size * bits(self.dtype) // 8)


@dataclass(frozen=True)
class Case:
    """One test of an operator: attributes, and the shape (or the values) of every input."""

    attributes: Mapping[str, Any]
    inputs: Mapping[str, Any]


def case(attributes: Mapping[str, Any] | None = None, **inputs: Any) -> Case:
    """A test case: a tuple is the shape of a random float input, a TensorSpec that of integers, a list holds values.

    A static input is given as its value.
    """
    return Case(attributes or {}, inputs)


class Operator(Definition):
    """One ONNX operator: its fields are the attributes, `forward` is the formula, `backward` the derivative.

    forward(self, xp, *inputs)   Parameters are the ONNX inputs, in order. `= None` makes one optional, `*xs` variadic.
        One with a type annotation is *static* (never `*xs`): it arrives as a Python value, read from an input (new
        opsets) or from an attribute of that name (old ones). Returns an array, or a tuple in the order of `outputs`.
        A keyword-only `key` makes the operator random: `xp.uniform` draws with it (see contracts/random_key.py). A
        caller may pass a key after the last input; without one it is derived from the attribute `seed`. The rows of
        the first axis count as the examples of the batch.
    outputs   Names of the results, different from the inputs' names; `saved` names further ones for `backward` alone.
        `("*ys",)` stands for any number of results, without saved ones: `backward` gets them as the tuples ys and dys.
    backward(self, xp, …)   Its parameters name the values it needs: an input `x`, a result `y`, the gradient `dy` of an
        output. An executor keeps these values. Returns the gradients of the non-static inputs in order (None: no
        gradient; trailing ones may be left out). The caller sums each to its input's shape, drops the gradients of
        inputs that are not floats, and passes zeros for a float output that is not used.
    <framework>(self, module, *inputs)   Optional: that framework's own kernel for the same inputs. It returns the
        `outputs` (fewer if the others are not requested), and never `saved`. If it cannot compute them all,
        `native_outputs` is the number that it computes; `native_without` names inputs that it does not take. A node
        that needs more outputs, or has one of these inputs, runs through the formula.
    integers   Names of array inputs that are integers whatever the others are: indices, labels, lengths.
    check(self, *inputs)   Optional: raises an error for NumPy inputs whose values are invalid for the operator.
    axis_range(self, *inputs)   Optional: the axes that may be named, usually `of_first_input` (axis_ranges.py).
    infer, flops, bytes_moved, workspace   Results and costs of a call, from the inputs' Tensors (static inputs as
        values).
    unwritten   Names of attributes that are ours: ONNX files do not have them.
    on_host   Whether the formula runs code on NumPy arrays (`xp.host`), which no graph of a framework can hold.
    own_bounds, own_gradient_bounds   Optional: how far each output, each gradient may be from the exact one, if the
        operator computes in another way than its formula says; for float32, from NumPy inputs (and gradients).
    since   First opset with this meaning. A sibling class in the same file covers an older, different meaning.
    """

    domain: ClassVar[str] = ""
    since: ClassVar[int] = 1
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    saved: ClassVar[tuple[str, ...]] = ()
    native_outputs: ClassVar[int | None] = None  # all of them
    native_without: ClassVar[tuple[str, ...]] = ()
    # whether shapes depend on values: `infer` gives the largest ones then
    data_dependent: ClassVar[bool] = False
    integers: ClassVar[tuple[str, ...]] = ()
    unwritten: ClassVar[tuple[str, ...]] = ()
    # whether it may compute in a wider float and round at the end
    rounds: ClassVar[bool] = True
    cases: ClassVar[Sequence[Case]] = ()
    inputs: ClassVar[dict[str, inspect.Parameter]]  # derived from forward
    # derived from forward's annotations; never the variadic one
    static: ClassVar[frozenset[str]]
    random: ClassVar[bool]  # derived from forward's `key`
    wanted: ClassVar[tuple[str, ...]]  # derived from backward's parameters

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        signature = _signature(cls.forward)
        parameters = [*signature.parameters.values()][2:]  # without self and xp
        positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        cls.inputs = {parameter.name: parameter for parameter in positional}
        keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        cls.random = "key" in keywords
        static = set()
        for name, parameter in cls.inputs.items():
            annotated = parameter.annotation is not parameter.empty
            if annotated and parameter.kind is not parameter.VAR_POSITIONAL:
                static.add(name)
        cls.static = frozenset(static)
        cls.wanted = ()
        if cls.backward is not Operator.backward:
            cls.wanted = tuple(inspect.signature(cls.backward).parameters)[2:]
        cls._check_names()
        cls._check_cases()

    @classmethod
    def _check_cases(cls) -> None:
        """Raise a TypeError if a test case is not one."""
        for example in cls.cases:
            if not isinstance(example, Case):
                raise TypeError(
                    f"{cls.__name__}: {shown(example)} among its cases is none; write case(x=(3, 4)), "
                    "with `from deep500.contracts.operator import case`"
                )

    @classmethod
    def _check_names(cls) -> None:
        """Raise a TypeError if names clash, or if `backward` asks for a value that does not exist."""
        clash = set(cls.inputs) & {*cls.outputs, *cls.saved}
        if clash:
            raise TypeError(
                f"{cls.__name__}: {sorted(clash)} name both an input and an output; rename the output"
            )
        if cls.forward is Operator.forward:
            return
        gradients = [f"d{name}" for name in cls.outputs]
        starred_names = {*cls.inputs, *cls.outputs, *cls.saved, *gradients}
        available = {name.replace("*", "") for name in starred_names}
        missing = set(cls.wanted) - available
        if missing:
            missing_names = ", ".join(sorted(missing))
            available_names = ", ".join(sorted(available))
            raise TypeError(
                f"{cls.__name__}: backward asks for {missing_names}; there are: "
                f"{available_names}"
            )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in self.settings.items():
            # caches look operators up by their hash
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))

    def forward(self, xp: Any, *inputs: Any) -> Any:
        raise NotImplementedError

    def backward(self, xp: Any, *values: Any) -> Any:
        raise NotImplementedError

    @property
    def differentiable(self) -> bool:
        return type(self).backward is not Operator.backward

    def native(self, framework: str) -> Callable | None:
        """The method named after the framework, if this operator has one."""
        return own_kernel(self, framework, ("forward",))

    @property
    def on_host(self) -> bool:
        return False

    def own_bounds(self, *inputs: Any) -> Sequence[Any] | None:
        return None

    def own_gradient_bounds(
        self, grads: Sequence[Any], *inputs: Any
    ) -> Sequence[Any] | None:
        return None

    @property
    def adapted(self) -> "Adapted | None":
        """The custom operator that this one represents, if any."""
        return None

    def check(self, *inputs: Any) -> None:
        pass

    def axis_range(self, *inputs: Any) -> range | None:
        """The numbers that `axis` and `axes` may be for these inputs; None if they are not limited."""
        return None

    def infer(self, *inputs: Any) -> tuple[TensorSpec, ...]:
        """Elementwise by default: all inputs broadcast together, the dtype of the first."""
        tensors = [x for x in inputs if isinstance(x, TensorSpec)]
        shape = broadcast_shapes([tensor.shape for tensor in tensors])
        return (TensorSpec(shape, tensors[0].dtype),)

    def flops(self, *inputs: Any) -> int:
        """One per element of the first output by default."""
        return self.infer(*inputs)[0].size

    def backward_flops(self, *inputs: Any) -> int | None:
        """The operations of the derivative alone; None if they are not known."""
        return None

    def bytes_moved(self, *inputs: Any) -> int:
        """Every input read once, every output written once."""
        values = (*inputs, *self.infer(*inputs))
        return sum(value.nbytes for value in values if isinstance(value, TensorSpec))

    def workspace(self, framework: str, direction: str, *inputs: Any) -> int:
        """Scratch memory of a framework's own kernel while it runs "forward" or "backward", in bytes; 0 if unknown."""
        return 0

    @property
    def variadic(self) -> bool:
        """Whether the number of results depends on the call."""
        return self.outputs[-1].startswith("*")

    def published(self, results: Sequence) -> tuple:
        """The results of `run` without the saved ones."""
        if self.variadic:
            return tuple(results)
        return tuple(results[: len(self.outputs)])

    @classmethod
    def input_names(cls, count: int) -> list[str]:
        """The parameter names of the first `count` inputs.

        A variadic parameter is repeated for all further inputs; a key after the inputs is "key". Raises `Deep500Error`
        if the operator takes fewer inputs.
        """
        names = [*cls.inputs][:count]
        excess = count - len(names)
        if not excess:
            return names
        last = cls.inputs[names[-1]] if names else None
        if last is not None and last.kind is last.VAR_POSITIONAL:
            return names + [last.name] * excess
        if cls.random and excess == 1:
            return [*names, "key"]
        listed = ", ".join(names)
        raise Deep500Error(
            f"{cls.__name__} takes {len(names)} inputs ({listed}), and {count} are given"
        )

    def result_names(self, count: int) -> list[str]:
        """The names of the first `count` results, saved ones included; a variadic one is repeated."""
        starred_names = (*self.outputs, *self.saved)[:count]
        names = [name.lstrip("*") for name in starred_names]
        return names + names[-1:] * (count - len(names))

    def run(self, xp: Any, *inputs: Any) -> tuple:
        """Every result of the formula, saved ones included."""
        if self.random:
            count = len(self.inputs)
            if len(inputs) > count:
                key = inputs[count]
            else:
                key = xp.asarray(self.key(), "int64")
            result = self.forward(xp, *inputs[:count], key=key)  # type: ignore[call-arg]
        else:
            result = self.forward(xp, *inputs)
        return _as_tuple(result)

    def key(
        self,
        node: str = "",
        step: int = 0,
        *,
        seed: int = 0,
        first_row: int = 0,
        rows: int = 1,
    ) -> list[int]:
        """The key of a random operator as this node of a network, in this step of a run with this seed.

        An operator with inputs draws for a batch of which these are `rows` rows from `first_row` on.
        """
        words = random_key.derive(seed, node, self.settings.get("seed"), step)
        if not self.inputs:
            first_row = 0
        return random_key.complete(words, first_row, rows)

    def keyed(self, inputs: Sequence, key: Any) -> list:
        """The inputs followed by the key; omitted optional inputs between them are None."""
        omitted = len(self.inputs) - len(inputs)
        return [*inputs, *[None] * omitted, key]

    def gradients(
        self, xp: Any, grads: Sequence, inputs: Sequence, results: Sequence
    ) -> list:
        """One gradient per input, each of its input's shape; None for inputs without a gradient."""
        values = _bind(self.inputs, inputs)
        values.update(_named("", (*self.outputs, *self.saved), results))
        values.update(_named("d", self.outputs, grads))
        arguments = {name: values[name] for name in self.wanted}
        returned = self.backward(xp, **arguments)
        if returned is None:
            raise Incomplete(
                f"{place_of(type(self).backward)} returned None: return a gradient for every input, None for some"
            )
        gradients = _as_tuple(returned)
        self._check_gradient_count(len(gradients))
        remaining = iter(gradients)
        by_input: list[Any] = []
        names = self.input_names(len(inputs))
        for name, x in zip(names, inputs, strict=True):
            gradient = None if name in self.static else next(remaining, None)
            if gradient is None or x is None or kind(x) != "float":
                by_input.append(None)
                continue
            if not hasattr(gradient, "shape"):
                raise Deep500Error(
                    f"backward of {type(self).__name__} gives a {type(gradient).__name__} where an array is needed"
                )
            by_input.append(xp.unbroadcast(gradient, x.shape))
        return by_input

    def _check_gradient_count(self, count: int) -> None:
        """Raise a Deep500Error if `backward` has returned more gradients than there are array inputs."""
        parameters = [p for name, p in self.inputs.items() if name not in self.static]
        if count <= len(parameters):
            return
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            name = type(self).__name__
            raise Deep500Error(
                f"backward of {name} gives {count} gradients, and there are "
                f"{len(parameters)} inputs that are not static"
            )


class Adapted(ABC):
    """An object that represents an operator in another form, such as a user's own class."""

    @property
    @abstractmethod
    def operator(self) -> Operator:
        """The operator that it represents."""


def _as_tuple(result: Any) -> tuple:
    """The results of a function that may return one value, a tuple or a list."""
    if isinstance(result, tuple | list):
        return tuple(result)
    return (result,)


def _signature(function: Callable) -> inspect.Signature:
    """The signature with annotations evaluated; they stay strings if one of them names something undefined."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)


def _bind(
    parameters: Mapping[str, inspect.Parameter], values: Sequence
) -> dict[str, Any]:
    """Each parameter's value: None when left out, a tuple when variadic."""
    bound: dict[str, Any] = {}
    for place, (name, parameter) in enumerate(parameters.items()):
        if parameter.kind is parameter.VAR_POSITIONAL:
            bound[name] = tuple(values[place:])
        elif place < len(values):
            bound[name] = values[place]
        else:
            bound[name] = None
    return bound


def _named(prefix: str, names: Sequence[str], values: Sequence) -> dict[str, Any]:
    """The values by name; a name with a star gets a tuple of all remaining values."""
    by_name: dict[str, Any] = {}
    for place, name in enumerate(names[: len(values)]):
        if name.startswith("*"):
            by_name[prefix + name.lstrip("*")] = tuple(values[place:])
        else:
            by_name[prefix + name] = values[place]
    return by_name


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all of these broadcast to."""
    rank = max(map(len, shapes))
    aligned = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for lengths in zip(*aligned, strict=True):
        different = {length for length in lengths if length != 1}
        if len(different) > 1:
            listed = ", ".join(map(str, shapes))
            raise ValueError(f"shapes {listed} do not broadcast together")
        result.append(different.pop() if different else 1)
    return tuple(result)
