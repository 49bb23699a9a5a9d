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
from .report import Check

XP = framework("reference").xp
FIRST = type(
    XP
)()  # the same; by this one a truth is asked of code that has not run before
Reference = Callable[..., Any]  # takes NumPy arrays, returns one or several


@dataclass(frozen=True)
class Domain:
    """The numbers that an operator is for; everything, unless it is declared."""

    low: float = -np.inf
    high: float = np.inf

    @property
    def declared(self) -> bool:
        return (self.low, self.high) != (-np.inf, np.inf)

    def holds(self, values: Sequence[Any]) -> bool:
        """Whether all floats lie within; a NaN lies within no declared domain."""
        if not self.declared:
            return True
        floats = [x.astype("float64") for x in values if is_float(x)]
        return all(bool(np.all((x >= self.low) & (x <= self.high))) for x in floats)

    def moved(self, x: np.ndarray) -> np.ndarray:
        """Drawn numbers (mean 0, deviation 1) moved into it."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            share = 0.5 + 0.98 * x / 12**0.5
            return (self.low + (self.high - self.low) * share).astype(x.dtype)
        if np.isfinite(self.low):
            return (self.low + np.abs(x)).astype(x.dtype)
        if np.isfinite(self.high):
            return (self.high - np.abs(x)).astype(x.dtype)
        return x

    def __str__(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"


@dataclass(frozen=True, eq=False)
class Example:
    """An operator and the inputs it is called with: arrays, static values, None. The truth is computed in float64."""

    name: str
    operator: Operator
    inputs: tuple[Any, ...]
    reference: Reference | None = (
        None  # the operator's own formula, where there is none
    )
    asked: int | None = None  # how many outputs get a gradient, where not all
    domain: Domain = Domain()
    seed: int = 0
    regime: str = (
        ""  # how these inputs were made from those of a case; "" for them themselves
    )
    slack: float = (
        0.0  # units of rounding of this number that a result may be off by as well
    )
    operations: float | None = None  # of one call, where they are known already

    @property
    def regular(self) -> bool:
        """Whether there are sizes that could be others."""
        shapes = [x.shape for x in self.inputs if isinstance(x, np.ndarray)]
        return any(max(shape, default=0) > 1 for shape in shapes) and not any(
            0 in shape for shape in shapes
        )

    @property
    def largest(self) -> float:
        """The largest magnitude among the finite float inputs."""
        sizes = [np.abs(self.inputs[i].astype("float64")) for i in self.floats]
        finite = [float(np.max(x, where=np.isfinite(x), initial=0)) for x in sizes]
        return max(finite, default=0.0)

    def draw(self, *words: Any) -> np.random.Generator:
        """A generator for this example; the same for the first seed as if there were none."""
        more = [self.regime] * bool(self.regime) + [self.seed] * bool(self.seed)
        return generator(self.name, *words, *more)

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
        given = [self.tensors[i] for i in self.floats] or self.operator.infer(
            *self.tensors
        )
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
        return self.truth(wide(self.inputs), FIRST)

    def truth(self, inputs: Sequence[Any], xp: Any = XP) -> list[np.ndarray]:
        """The outputs for these inputs, by the reference or the formula."""
        return self.truths([(inputs, xp)])[0]

    def truths(
        self, calls: Sequence[tuple[Sequence[Any], Any]]
    ) -> list[list[np.ndarray]]:
        """The same for several calls at once, which is one question to another process."""
        if self.reference is not None:
            each = getattr(self.reference, "each", None)
            given = [inputs for inputs, _ in calls]
            made = (
                each(given) if each else [self.reference(*inputs) for inputs in given]
            )
            return [_as_arrays(outputs) for outputs in made]
        each = getattr(self.operator, "run_each", None)
        made = (
            each(calls)
            if each
            else [self.operator.run(xp, *inputs) for inputs, xp in calls]
        )
        return [_as_arrays(self.operator.published(results)) for results in made]

    @cached_property
    def other(self) -> "Example":
        """With other inputs within the same domains: rows in another order, values further from 1 and -1."""
        return self._with(_turned)

    @cached_property
    def rolled(self) -> "Example":
        """With the same values, each in the place of its neighbour."""
        return self._with(lambda x: np.roll(x, 1))

    @cached_property
    def nudged(self) -> "Example":
        """With values that are other in the fifth digit."""
        return self._with(_nudged)

    @cached_property
    def with_zeros_turned(self) -> "Example":
        """With zeros of the other sign."""
        return self._with(lambda x: np.where(x == 0, -x, x))

    @cached_property
    def with_one_changed(self) -> "Example":
        """With one element changed, in the middle of every array."""
        return self._with(_changed_in_the_middle)

    @cached_property
    def without_denormals(self) -> "Example":
        """As kernels see it that take the smallest numbers for 0."""
        return self._with(
            lambda x: np.where(np.abs(x) < FORMATS[x.dtype.name].tiny, 0 * x, x)
        )

    def _with(self, change: Callable[[np.ndarray], np.ndarray]) -> "Example":
        """With changed floats; itself, where these mean nothing to the operator."""
        inputs = tuple(change(x) if is_float(x) else x for x in self.inputs)
        found = replace(self, inputs=inputs)
        if not self.domain.holds(inputs):
            return self
        try:
            _ = found.outputs
        except Exception:
            return self
        return found

    @property
    def size(self) -> int:
        """The elements of its largest input."""
        return max(
            (x.size for x in self.inputs if isinstance(x, np.ndarray)), default=0
        )

    @cached_property
    def seeds(self) -> tuple[np.ndarray | None, ...]:
        """A random gradient for every float output that the derivative takes one for."""
        draw, operator = self.draw("seeds"), self.operator
        wanted = [
            is_float(y) and (f"d{name}" in operator.wanted or not operator.wanted)
            for name, y in zip(
                operator.result_names(len(self.outputs)), self.outputs, strict=True
            )
        ]
        drawn = [
            draw.standard_normal(y.shape) if wants else None
            for y, wants in zip(self.outputs, wanted, strict=True)
        ]
        unused = range(len(drawn) if self.asked is None else self.asked, len(drawn))
        given = [
            np.zeros_like(s) if s is not None and i in unused else s
            for i, s in enumerate(drawn)
        ]
        kinds = [made.dtype for made in operator.infer(*self.tensors)]
        return tuple(
            None
            if s is None
            else np.asarray(s, "float32").astype(kinds[min(i, len(kinds) - 1)])
            for i, s in enumerate(given)
        )

    @cached_property
    def gradients(self) -> list[np.ndarray | None]:
        """The formula's gradient by every input in float64, None where it declares none."""
        return self.formula(FIRST, wide(self.inputs), wide(self.seeds))

    def formula(
        self, xp: Any, inputs: Sequence[Any], seeds: Sequence[Any]
    ) -> list[Any]:
        """The gradients by the operator's derivative, over any namespace."""
        return self.formulas([(inputs, seeds, xp)])[0]

    def formulas(
        self, calls: Sequence[tuple[Sequence[Any], Sequence[Any], Any]]
    ) -> list[list]:
        """The same for several calls at once."""
        if not self.operator.differentiable or all(
            seed is None for seed in calls[0][1]
        ):
            return [[None] * len(inputs) for inputs, _, _ in calls]
        each = getattr(self.operator, "derived_each", None)
        if each:
            return list(each(calls))
        return [
            gradient_formula(xp, self.operator, xs, seeds) for xs, seeds, xp in calls
        ]

    @cached_property
    def smooth(self) -> bool:
        """Whether there is a derivative to test: integers and booleans have none."""
        return any(g is not None for g in self.gradients)

    @cached_property
    def no_derivative(self) -> str:
        """Why there is no derivative to test; "" where there is one."""
        if not self.operator.differentiable:
            return "it declares no derivative"
        return "" if self.smooth else "integers and booleans have no derivative"

    @cached_property
    def differentiates(self) -> bool:
        """Whether its derivative can be asked for; one that fails is told by the check of the gradient."""
        try:
            return not self.no_derivative
        except Exception:
            return False

    def check(
        self,
        name: str,
        ok: bool | None,
        value: float | None = None,
        bound: float | None = None,
        text: str = "",
        decided: bool = True,
    ) -> Check:
        """What was found with this example."""
        return Check(
            name, ok, value, bound, text, self.dtype, self.name, self.regime, decided
        )

    def no_verdict(self, name: str, reason: str) -> Check:
        return self.check(name, None, text=reason)

    def input_name(self, i: int) -> str:
        """As the operator calls it; by its number where it has no name of its own."""
        names = self.operator.input_names(len(self.inputs))
        labels = getattr(self.operator, "labels", ())
        if i < len(labels):
            return str(labels[i])
        return (
            names[i]
            if names.count(names[i]) == 1
            else f"{names[i]}[{i - names.index(names[i])}]"
        )


def _as_arrays(made: Any) -> list[np.ndarray]:
    return [
        np.asarray(y) for y in (made if isinstance(made, tuple | list) else (made,))
    ]


def _nudged(x: np.ndarray) -> np.ndarray:
    return np.asarray(x.astype("float64") * (1 + 2.0**-16), x.dtype)


def _changed_in_the_middle(x: np.ndarray) -> np.ndarray:
    changed = x.copy()
    if x.size:
        changed.reshape(-1)[x.size // 2 + 1 if x.size > 2 else 0] *= 1.5
    return changed


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
        raise Deep500Error(
            f"{cls.__name__} has no method 'forward': it holds the formula"
        )
    if left := set(given) - set(cls.inputs):
        raise Deep500Error(
            f"{cls.__name__} has no input named {', '.join(sorted(left))}; it has "
            f"{', '.join(cls.inputs) or 'none: forward takes self, xp and then the inputs'}"
        )
    return tuple(_drawn(cls, given, name, seed))


def _drawn(
    cls: type[Operator], given: Mapping[str, Any], name: str, seed: int
) -> Iterator[Any]:
    for i, (parameter, signature) in enumerate(cls.inputs.items()):
        value, draw = (
            given.get(parameter),
            generator(name, parameter, *([seed] if seed else [])),
        )
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
        signs = draw.choice(
            [-1, 1] if value.dtype.startswith("int") else [1], value.shape
        )
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
    return tuple(
        Tensor(x.shape, x.dtype.name) if isinstance(x, np.ndarray) else x
        for x in values
    )


def generator(*words: Any) -> np.random.Generator:
    """A generator that depends on these words alone."""
    return np.random.Generator(np.random.Philox(zlib.crc32(repr(words).encode())))
