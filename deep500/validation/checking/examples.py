"""An operator with inputs: what its results should be, and how far rounding may move them."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from ... import registry
from ...contracts.framework import gradient_formula
from ...contracts.operator import Operator, Tensor
from ...errors import Deep500Error
from ...frameworks import framework
from .formats import (
    FORMATS,
    cast,
    is_float,
    wide,
)

XP = framework("reference").xp
Reference = Callable[..., Any]  # takes NumPy arrays, returns one or several


@dataclass(frozen=True, eq=False)
class Example:
    """An operator and the inputs it is called with: arrays, static values, None. The truth is computed in float64."""

    name: str
    operator: Operator
    inputs: tuple[Any, ...]
    reference: Reference | None = None  # the operator's own formula, where there is none
    asked: int | None = None  # how many outputs get a gradient, where not all

    @property
    def as_native(self) -> "Example":
        """With gradients for those outputs only that native kernels make."""
        return (
            self
            if self.operator.native_outputs is None
            else replace(self, asked=self.operator.native_outputs)
        )

    def cast(self, dtype: str) -> "Example":
        """The same with its float inputs in this dtype: their rounding is not the operator's error."""
        return replace(self, inputs=cast(self.inputs, dtype))

    @cached_property
    def dtype(self) -> str:
        """That of the first float input, without one that of the first float output, float32 without any."""
        given = [self.tensors[i] for i in self.floats] or self.operator.infer(*self.tensors)
        return next((t.dtype for t in given if t.dtype in FORMATS), "float32")

    @cached_property
    def floats(self) -> list[int]:
        """The places of the float inputs."""
        return [i for i, x in enumerate(self.inputs) if is_float(x)]

    @cached_property
    def tensors(self) -> tuple:
        """The inputs as shapes and dtypes, for infer and flops."""
        return tensors(self.inputs)

    @cached_property
    def outputs(self) -> list[np.ndarray]:
        return self.truth(wide(self.inputs))

    def truth(self, inputs: Sequence[Any], xp: Any = XP) -> list[np.ndarray]:
        """The outputs for these inputs, by the reference or the formula."""
        if self.reference is None:
            return [np.asarray(y) for y in self.operator.published(self.operator.run(xp, *inputs))]
        made = self.reference(*inputs)
        return [np.asarray(y) for y in (made if isinstance(made, tuple | list) else (made,))]

    @cached_property
    def other(self) -> "Example":
        """With other inputs within the same domains: rows in another order, values further from 1 and -1."""
        found = replace(self, inputs=tuple(_turned(x) if is_float(x) else x for x in self.inputs))
        try:
            _ = found.outputs
        except Exception:  # they mean nothing to this operator
            return self
        return found

    @cached_property
    def seeds(self) -> tuple[np.ndarray | None, ...]:
        """A random gradient for every float output that the derivative takes one for."""
        draw, operator = generator(self.name, "seeds"), self.operator
        wanted = [
            is_float(y) and (f"d{name}" in operator.wanted or not operator.wanted)
            for name, y in zip(operator.result_names(len(self.outputs)), self.outputs, strict=True)
        ]
        drawn = [
            draw.standard_normal(y.shape) if wants else None
            for y, wants in zip(self.outputs, wanted, strict=True)
        ]
        unused = range(len(drawn) if self.asked is None else self.asked, len(drawn))
        given = [
            np.zeros_like(s) if s is not None and i in unused else s for i, s in enumerate(drawn)
        ]
        kinds = [made.dtype for made in operator.infer(*self.tensors)]
        return tuple(
            None if s is None else np.asarray(s, "float32").astype(kinds[min(i, len(kinds) - 1)])
            for i, s in enumerate(given)
        )

    @cached_property
    def gradients(self) -> list[np.ndarray | None]:
        """The formula's gradient by every input in float64, None where it declares none."""
        return self.formula(XP, wide(self.inputs), wide(self.seeds))

    def formula(self, xp: Any, inputs: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        """The gradients by the operator's derivative, over any namespace."""
        if all(seed is None for seed in seeds) or not self.operator.differentiable:
            return [None] * len(inputs)
        return gradient_formula(xp, self.operator, inputs, seeds)

    @cached_property
    def smooth(self) -> bool:
        """Whether there is a derivative to test: integers and booleans have none."""
        return any(g is not None for g in self.gradients)

    def input_name(self, i: int) -> str:
        return self.operator.input_names(len(self.inputs))[i]


def _turned(x: np.ndarray) -> np.ndarray:
    turned = (x[::-1] if x.ndim else x).astype("float64")
    return np.asarray(turned * (1 + 2.0**-6 * np.sign(np.abs(turned) - 1)), x.dtype)


def examples(seed: int = 0) -> list[Example]:
    """Every case of every operator there is."""
    return [
        e
        for name in registry.known("operators")
        for e in examples_of(registry.find("operators", name), seed)
    ]


@cache
def examples_of(cls: type[Operator], seed: int = 0) -> tuple[Example, ...]:
    """Every case of an operator, with its inputs drawn."""
    names = [f"{cls.__name__}-{i}" for i in range(len(cls.cases))]
    return tuple(
        Example(name, cls(**case.attributes), draw_inputs(cls, case.inputs, name, seed))
        for name, case in zip(names, cls.cases, strict=True)
    )


def draw_inputs(
    cls: type[Operator], given: Mapping[str, Any], name: str, seed: int = 0
) -> tuple[Any, ...]:
    """Values for the inputs of a case, in the operator's order."""
    if cls.forward is Operator.forward:
        raise Deep500Error(f"{cls.__name__} has no method 'forward': it holds the formula")
    if left := set(given) - set(cls.inputs):
        raise Deep500Error(
            f"{cls.__name__} has no input named {', '.join(sorted(left))}; it has "
            f"{', '.join(cls.inputs) or 'none: forward takes self, xp and then the inputs'}"
        )
    return tuple(_drawn(cls, given, name, seed))


def _drawn(cls: type[Operator], given: Mapping[str, Any], name: str, seed: int) -> Iterator[Any]:
    for i, (parameter, signature) in enumerate(cls.inputs.items()):
        value, draw = given.get(parameter), generator(name, parameter, *([seed] if seed else []))
        if signature.kind is signature.VAR_POSITIONAL:
            yield from (drawn(shape, draw) for shape in value or ())
        elif parameter in cls.static:
            yield tuple(value) if isinstance(value, list) else value
        elif value is not None or any(p in given for p in list(cls.inputs)[i:]):
            yield drawn(value, draw)


def drawn(value: Any, draw: np.random.Generator) -> np.ndarray | None:
    """An array: distinct values with mean 0 and deviation 1 for a shape, none of them 0; a list as it stands."""
    if value is None:
        return None
    if isinstance(value, Tensor) and value.dtype not in FORMATS:
        signs = draw.choice([-1, 1] if value.dtype.startswith("int") else [1], value.shape)
        return (draw.integers(1, 8, value.shape) * signs).astype(value.dtype)
    if isinstance(value, tuple | Tensor):
        shape = value if isinstance(value, tuple) else value.shape
        n = int(np.prod(shape))
        return (
            ((draw.permutation(n) + 0.3 - n / 2) * (12**0.5 / max(n, 1)))
            .astype("float32")
            .reshape(shape)
        )
    array = np.asarray(value)
    return array.astype("float32") if array.dtype.kind == "f" else array


def tensors(values: Sequence[Any]) -> tuple:
    """The arrays as shapes and dtypes, the rest as it is."""
    return tuple(Tensor(x.shape, x.dtype.name) if isinstance(x, np.ndarray) else x for x in values)


def generator(*words: Any) -> np.random.Generator:
    """A generator that depends on these words alone."""
    return np.random.Generator(np.random.Philox(zlib.crc32(repr(words).encode())))
