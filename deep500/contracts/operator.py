"""The operator contract: one ONNX operator, for every framework at once."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..definition import Definition
from ..errors import Deep500Error
from ..namespace import kind
from . import random_key
from .dtypes import bits

Ints = tuple[int, ...] | None


@dataclass(frozen=True)
class Tensor:
    """Shape and dtype of a value, without the value. A network's inputs may have names for dimensions."""

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
    """A tuple is the shape of a random float input, a Tensor that of integers; a list is values, or a static input."""
    return Case(attributes or {}, inputs)


class Operator(Definition):
    """One ONNX operator: its fields are the attributes, `forward` is the formula, `backward` the derivative.

    forward(self, xp, *inputs)   Parameters are the ONNX inputs, in order. `= None` makes one optional, `*xs` variadic.
        One with a type annotation is *static* (never `*xs`): it arrives as a Python value, read from an input (new
        opsets) or from an attribute of that name (old ones). Returns an array, or a tuple in the order of `outputs`.
        A keyword-only `key` makes the operator random: `xp.uniform` draws by it (see contracts/random_key.py). Whoever
        runs it may hand a key over behind the last input; without one it is that of the attribute `seed`. The rows of
        the first axis are taken for the examples of the batch.
    outputs   Names of the results, different from the inputs' names; `saved` names further ones for `backward` alone.
        `("*ys",)` stands for any number of results, without saved ones: `backward` knows them as the tuples ys and dys.
    backward(self, xp, …)   Asks by name for what it needs: an input `x`, a result `y`, the gradient `dy` of an output.
        What it names is what an executor keeps. Returns the gradients of the non-static inputs in order (None: no
        gradient; trailing ones may be left out). The caller sums each to its input's shape, drops that of an input
        which is no float, and passes zeros for a float output that nobody used.
    <framework>(self, module, *inputs)   Optional: that framework's own kernel for the same inputs. It returns the
        `outputs` (fewer where the rest is not asked for), and never `saved`. Where it cannot make them all,
        `native_outputs` says how many it makes, `native_without` names inputs that it does not take: a node that
        asks for more, or has one of these, runs through the formula.
    integers   Names of array inputs that are whole numbers whatever the others are: indices, labels, lengths.
    check(self, *inputs)   Optional: refuses NumPy inputs whose values mean nothing to the operator.
    infer, flops, bytes_moved, workspace   What a call makes and costs, from the inputs' Tensors (static inputs as
        values).
    since   First opset with this meaning. A sibling class in the same file covers an older, different meaning.
    """

    domain: ClassVar[str] = ""
    since: ClassVar[int] = 1
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    saved: ClassVar[tuple[str, ...]] = ()
    native_outputs: ClassVar[int | None] = None  # all of them
    native_without: ClassVar[tuple[str, ...]] = ()
    data_dependent: ClassVar[bool] = (
        False  # whether values decide on shapes: `infer` gives the largest ones then
    )
    integers: ClassVar[tuple[str, ...]] = ()
    rounds: ClassVar[bool] = (
        True  # whether it may compute in a wider float and round at the end
    )
    cases: ClassVar[Sequence[Case]] = ()
    inputs: ClassVar[dict[str, inspect.Parameter]]  # derived from forward
    static: ClassVar[
        frozenset[str]
    ]  # derived from forward's annotations; never the variadic one
    random: ClassVar[bool]  # derived from forward's `key`
    wanted: ClassVar[tuple[str, ...]]  # derived from backward

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        parameters = dict(list(_signature(cls.forward).parameters.items())[2:])
        cls.inputs = {
            n: p for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY
        }
        cls.random = "key" in parameters and "key" not in cls.inputs
        cls.static = frozenset(
            name
            for name, p in cls.inputs.items()
            if p.annotation is not p.empty and p.kind is not p.VAR_POSITIONAL
        )
        cls.wanted = (
            ()
            if cls.backward is Operator.backward
            else tuple(inspect.signature(cls.backward).parameters)[2:]
        )
        if clash := set(cls.inputs) & {*cls.outputs, *cls.saved}:
            raise TypeError(
                f"{cls.__name__}: {sorted(clash)} name both an input and an output; rename the output"
            )

        there = {
            *cls.inputs,
            *cls.outputs,
            *cls.saved,
            *(f"d{name}" for name in cls.outputs),
        }
        there = {name.replace("*", "") for name in there}
        if cls.forward is not Operator.forward and (odd := set(cls.wanted) - there):
            raise TypeError(
                f"{cls.__name__}: backward asks for {', '.join(sorted(odd))}; there are: "
                f"{', '.join(sorted(there))}"
            )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in self.settings.items():
            if isinstance(value, list):  # caches look operators up by their hash
                object.__setattr__(self, name, tuple(value))

    def forward(self, xp: Any, *inputs: Any) -> Any:
        raise NotImplementedError

    def backward(self, xp: Any, *wanted: Any) -> Any:
        raise NotImplementedError

    @property
    def differentiable(self) -> bool:
        return type(self).backward is not Operator.backward

    def native(self, framework: str) -> Callable | None:
        """The method named after the framework, if this operator has one."""
        return getattr(self, framework, None) if framework in dir(type(self)) else None

    @property
    def adapted(self) -> "Adapted | None":
        """The custom operator that this one stands for, if it stands for one."""
        return None

    def check(self, *inputs: Any) -> None:
        pass

    def infer(self, *inputs: Any) -> tuple[Tensor, ...]:
        """Elementwise by default: all inputs broadcast together, the dtype of the first."""
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        return (Tensor(broadcast_shapes([t.shape for t in tensors]), tensors[0].dtype),)

    def flops(self, *inputs: Any) -> int:
        """One per element of the first output by default."""
        return self.infer(*inputs)[0].size

    def backward_flops(self, *inputs: Any) -> int | None:
        """What the derivative alone costs, where that is known."""
        return None

    def bytes_moved(self, *inputs: Any) -> int:
        """Every input read once, every output written once."""
        return sum(
            t.nbytes for t in (*inputs, *self.infer(*inputs)) if isinstance(t, Tensor)
        )

    def workspace(self, framework: str, direction: str, *inputs: Any) -> int:
        """Bytes that a framework's own kernel takes for itself while it runs "forward" or "backward", where known."""
        return 0

    @property
    def variadic(self) -> bool:
        """Whether the number of results depends on the call."""
        return self.outputs[-1].startswith("*")

    def published(self, results: Sequence) -> tuple:
        """The results of `run` without the saved ones."""
        return tuple(results if self.variadic else results[: len(self.outputs)])

    @classmethod
    def input_names(cls, count: int) -> list[str]:
        """The name of the parameter that each of so many inputs is for.

        A variadic parameter is repeated for all that is left; a key behind the inputs is "key". Raises `Deep500Error`
        if the operator takes fewer inputs.
        """
        names = [*cls.inputs][:count]
        rest = count - len(names)
        if not rest:
            return names
        if names and cls.inputs[names[-1]].kind is inspect.Parameter.VAR_POSITIONAL:
            return names + names[-1:] * rest
        if cls.random and rest == 1:
            return [*names, "key"]
        raise Deep500Error(
            f"{cls.__name__} takes {len(names)} inputs ({', '.join(names)}), and {count} are given"
        )

    def result_names(self, count: int) -> list[str]:
        """The name of each of so many results, saved ones included."""
        names = [name.lstrip("*") for name in (*self.outputs, *self.saved)][:count]
        return names + names[-1:] * (count - len(names))

    def run(self, xp: Any, *inputs: Any) -> tuple:
        """Every result of the formula, saved ones included."""
        if self.random:
            count = len(self.inputs)
            key = (
                inputs[count]
                if len(inputs) > count
                else xp.asarray(self.key(), "int64")
            )
            result = self.forward(xp, *inputs[:count], key=key)  # type: ignore[call-arg]
        else:
            result = self.forward(xp, *inputs)
        return tuple(result) if isinstance(result, tuple | list) else (result,)

    def key(
        self,
        node: str = "",
        step: int = 0,
        *,
        seed: int = 0,
        first_row: int = 0,
        rows: int = 1,
    ) -> list[int]:
        """What a random operator draws by, as this node of a network, in this step of a run with this seed.

        An operator with inputs draws for a batch of which these are `rows` rows from `first_row` on.
        """
        words = random_key.derive(seed, node, self.settings.get("seed"), step)
        return random_key.complete(words, first_row if self.inputs else 0, rows)

    def keyed(self, inputs: Sequence, key: Any) -> list:
        """The inputs with the key behind them."""
        return [*inputs, *[None] * (len(self.inputs) - len(inputs)), key]

    def gradients(
        self, xp: Any, grads: Sequence, inputs: Sequence, results: Sequence
    ) -> list:
        """One gradient per input, each of its input's shape; None where there is none."""
        have = {
            **_bind(self.inputs, inputs),
            **_named("", (*self.outputs, *self.saved), results),
            **_named("d", self.outputs, grads),
        }
        answer = self.backward(xp, **{name: have[name] for name in self.wanted})
        given = answer if isinstance(answer, tuple | list) else (answer,)
        parameters = [p for name, p in self.inputs.items() if name not in self.static]
        if len(given) > len(parameters) and all(
            p.kind is not p.VAR_POSITIONAL for p in parameters
        ):
            raise Deep500Error(
                f"backward of {type(self).__name__} gives {len(given)} gradients, and there are "
                f"{len(parameters)} inputs that are not static"
            )
        rest = iter(given)
        names = self.input_names(len(inputs))
        found = [None if name in self.static else next(rest, None) for name in names]
        return [
            None
            if g is None or x is None or kind(x) != "float"
            else xp.unbroadcast(g, x.shape)
            for g, x in zip(found, inputs, strict=True)
        ]


class Adapted(ABC):
    """What is an operator in another form, such as a user's own class."""

    @property
    @abstractmethod
    def operator(self) -> Operator:
        """It as an Operator."""


def _signature(function: Callable) -> inspect.Signature:
    """With its annotations looked up where they are texts; one that names what cannot be found stays a text."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)


def _bind(
    parameters: Mapping[str, inspect.Parameter], values: Sequence
) -> dict[str, Any]:
    """Each parameter's value: None when left out, a tuple when variadic."""
    return {
        name: tuple(values[i:])
        if p.kind is p.VAR_POSITIONAL
        else values[i]
        if i < len(values)
        else None
        for i, (name, p) in enumerate(parameters.items())
    }


def _named(prefix: str, names: Sequence[str], values: Sequence) -> dict[str, Any]:
    """The values by name; a tuple of all the rest for a name with a star."""
    return {
        prefix + name.lstrip("*"): tuple(values[i:])
        if name.startswith("*")
        else values[i]
        for i, name in enumerate(names[: len(values)])
    }


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all of these broadcast to."""
    rank = max(map(len, shapes))
    wide = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    if any(len({n for n in dims if n != 1}) > 1 for dims in zip(*wide, strict=True)):
        raise ValueError(
            f"shapes {', '.join(map(str, shapes))} do not broadcast together"
        )
    return tuple(
        next((n for n in dims if n != 1), 1) for dims in zip(*wide, strict=True)
    )
