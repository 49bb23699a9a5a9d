"""An operator with inputs: what its results should be, and how far rounding may move them."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np

from ... import registry
from ...contracts.operator import Operator, TensorSpec
from ...errors import Deep500Error, raise_if_mistake
from ...frameworks import framework
from ..report import CheckResult
from .formats import (
    FORMATS,
    Array,
    Values,
    cast,
    is_float,
    largest_finite,
    map_arrays,
    map_floats,
    wide,
)
from .opaque import derive, refer, run

XP = framework("reference").xp
# as XP, and asks for a truth by code that has not run before
FRESH = type(XP)()
Reference = Callable[..., Any]  # takes NumPy arrays, returns one or several


@dataclass(frozen=True)
class Domain:
    """The numbers that an operator is defined for; all numbers, unless it is declared."""

    low: float = -np.inf
    high: float = np.inf

    @property
    def declared(self) -> bool:
        return self.low != -np.inf or self.high != np.inf

    def holds(self, values: Values) -> bool:
        """Whether all floats lie within the domain; a NaN lies within no declared one."""
        if not self.declared:
            return True
        for value in values:
            if not is_float(value):
                continue
            x = value.astype("float64")
            within = (x >= self.low) & (x <= self.high)
            if not np.all(within):
                return False
        return True

    def moved(self, x: Array) -> Array:
        """Drawn numbers (mean 0, deviation 1) moved into the domain."""
        has_low = np.isfinite(self.low)
        has_high = np.isfinite(self.high)
        if has_low and has_high:
            share = 0.5 + 0.98 * x / 12**0.5
            moved = self.low + (self.high - self.low) * share
        elif has_low:
            moved = self.low + np.abs(x)
        elif has_high:
            moved = self.high - np.abs(x)
        else:
            return x
        return moved.astype(x.dtype)

    def __str__(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"


@dataclass(frozen=True, eq=False)
class Example:
    """An operator and the inputs it is called with: arrays, static values, None. The truth is computed in float64."""

    name: str
    operator: Operator
    inputs: tuple[Any, ...]
    # without one, the operator's own formula
    reference: Reference | None = None
    asked: int | None = None  # how many outputs get a gradient; None for all
    domain: Domain = Domain()
    seed: int = 0
    # how the inputs were made from those of a case; "" for its own
    regime: str = ""
    slack: float = 0.0  # rounding of a number this large is allowed for as well
    operations: float | None = None  # of one call, if they are known already

    @property
    def regular(self) -> bool:
        """Whether there are sizes that could be others."""
        shapes = [x.shape for x in self.inputs if isinstance(x, np.ndarray)]
        sizes = set(chain.from_iterable(shapes))
        return 0 not in sizes and max(sizes, default=0) > 1

    @property
    def largest(self) -> float:
        """The largest magnitude among the finite float inputs."""
        largest = 0.0
        for i in self.floats:
            x = self.inputs[i].astype("float64")
            largest = max(largest, largest_finite(x))
        return largest

    def draw(self, *keys: Any) -> np.random.Generator:
        """A generator for this example; seed 0 gives the same as no seed."""
        all_keys = [self.name, *keys]
        if self.regime:
            all_keys.append(self.regime)
        if self.seed:
            all_keys.append(self.seed)
        return generator(*all_keys)

    @property
    def as_native(self) -> "Example":
        """The example with gradients for those outputs only that native kernels make."""
        native_outputs = self.operator.native_outputs
        if native_outputs is None:
            return self
        return replace(self, asked=native_outputs)

    def cast(self, dtype: str) -> "Example":
        """The same with its float inputs in this dtype: their rounding is not the operator's error."""
        return replace(self, inputs=cast(self.inputs, dtype))

    @cached_property
    def dtype(self) -> str:
        """That of the first float input, without one that of the first float output, float32 without any."""
        candidates: Sequence[TensorSpec] = [self.tensors[i] for i in self.floats]
        if not candidates:
            candidates = self.operator.infer(*self.tensors)
        for tensor in candidates:
            if tensor.dtype in FORMATS:
                return tensor.dtype
        return "float32"

    @cached_property
    def floats(self) -> list[int]:
        """The places of the float inputs."""
        return [i for i, x in enumerate(self.inputs) if is_float(x)]

    @cached_property
    def tensors(self) -> tuple:
        """The inputs as shapes and dtypes, for infer and flops."""
        return tensors(self.inputs)

    @cached_property
    def outputs(self) -> list[Array]:
        return self.truth(wide(self.inputs), FRESH)

    @cached_property
    def reference_dtypes(self) -> list[str]:
        """The dtypes that the reference gives for inputs in this dtype; none if there is nothing to learn from it."""
        if self.reference is None or self.regime or self.dtype == "float64":
            return []
        try:
            return [y.dtype.name for y in self.truth(self.inputs)]
        except Exception as error:  # it may take float64 alone
            raise_if_mistake(error)
            return []

    def truth(self, inputs: Values, xp: Any = XP) -> list[Array]:
        """The outputs for these inputs, by the reference or the formula."""
        return self.truths([(inputs, xp)])[0]

    def truths(self, calls: Sequence[tuple[Values, Any]]) -> list[list[Array]]:
        """The same for several calls at once, which is one question to another process."""
        if self.reference is not None:
            results = reference_results(self.reference, calls)
            return [_as_arrays(outputs) for outputs in results]
        operator = self.operator
        run_each = getattr(operator, "run_each", None)
        if run_each:
            results = run_each(calls)
        else:
            results = [run(operator, xp, inputs) for inputs, xp in calls]
        return [_as_arrays(operator.published(result)) for result in results]

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
        return self._with(_with_zeros_turned)

    @cached_property
    def with_one_changed(self) -> "Example":
        """With one element changed, in the middle of every array."""
        return self._with(_changed_in_the_middle)

    @cached_property
    def without_denormals(self) -> "Example":
        """With zeros in place of denormals, as kernels see it that flush them."""
        return self._with(_flushed)

    def _with(self, change: Callable[[Array], Array]) -> "Example":
        """With changed floats; itself, if the operator is not defined for these."""
        inputs = map_floats(change, self.inputs)
        changed = replace(self, inputs=inputs)
        if not self.domain.holds(inputs):
            return self
        try:
            _ = changed.outputs
        except Exception as error:
            raise_if_mistake(error)
            return self
        return changed

    @property
    def size(self) -> int:
        """The number of elements of its largest input."""
        sizes = [x.size for x in self.inputs if isinstance(x, np.ndarray)]
        return max(sizes, default=0)

    @cached_property
    def seeds(self) -> tuple[Array | None, ...]:
        """A random gradient for every float output that the derivative takes one for."""
        draw = self.draw("seeds")
        takes_gradients = self._takes_gradients()
        inferred = self.operator.infer(*self.tensors)
        dtypes = [tensor.dtype for tensor in inferred]
        last = len(dtypes) - 1
        seeds: list[Array | None] = []
        for i, takes_gradient in enumerate(takes_gradients):
            if not takes_gradient:
                seeds.append(None)
                continue
            seed = draw.standard_normal(self.outputs[i].shape)
            if self.asked is not None and i >= self.asked:
                seed = np.zeros_like(seed)
            seed = np.asarray(seed, "float32")
            seeds.append(seed.astype(dtypes[min(i, last)]))
        return tuple(seeds)

    def _takes_gradients(self) -> list[bool]:
        """Whether the derivative takes a gradient, for every output."""
        outputs = self.outputs
        taken_gradients = self.operator.wanted
        names = self.operator.result_names(len(outputs))
        takes = []
        for name, output in zip(names, outputs, strict=True):
            is_taken = not taken_gradients or f"d{name}" in taken_gradients
            takes.append(is_float(output) and is_taken)
        return takes

    @cached_property
    def gradients(self) -> list[Array | None]:
        """The formula's gradient by every input in float64, None where it declares none."""
        inputs = wide(self.inputs)
        return self.formula(FRESH, inputs, wide(self.seeds))

    def formula(self, xp: Any, inputs: Values, seeds: Values) -> list[Any]:
        """The gradients by the operator's derivative, over any namespace."""
        return self.formulas([(inputs, seeds, xp)])[0]

    def formulas(self, calls: Sequence[tuple[Values, Values, Any]]) -> list[list]:
        """The same for several calls at once."""
        operator = self.operator
        _, first_seeds, _ = calls[0]
        has_seeds = any(seed is not None for seed in first_seeds)
        if not operator.differentiable or not has_seeds:
            return [[None] * len(inputs) for inputs, _, _ in calls]
        derived_each = getattr(operator, "derived_each", None)
        if derived_each:
            return list(derived_each(calls))
        gradients = []
        for inputs, seeds, xp in calls:
            gradients.append(derive(operator, xp, inputs, seeds))
        return gradients

    @cached_property
    def smooth(self) -> bool:
        """Whether there is a derivative to test: integers and booleans have none."""
        return any(gradient is not None for gradient in self.gradients)

    @cached_property
    def no_derivative(self) -> str:
        """Why there is no derivative to test; "" if there is one."""
        if not self.operator.differentiable:
            return "it declares no derivative"
        if not self.smooth:
            return "integers and booleans have no derivative"
        return ""

    @cached_property
    def differentiates(self) -> bool:
        """Whether it has a derivative that works; one that fails is reported by the check of the gradient."""
        try:
            return not self.no_derivative
        except Exception as error:
            raise_if_mistake(error)
            return False

    def check(
        self,
        name: str,
        ok: bool | None,
        value: float | None = None,
        bound: float | None = None,
        text: str = "",
        decided: bool = True,
    ) -> CheckResult:
        """What was found with this example."""
        return CheckResult(
            name,
            ok,
            value,
            bound,
            text,
            self.dtype,
            self.name,
            self.regime,
            decided,
        )

    def no_verdict(self, name: str, reason: str) -> CheckResult:
        return self.check(name, None, text=reason)

    def input_name(self, i: int) -> str:
        """As the operator calls it; with a number if several inputs share the name."""
        names = self.operator.input_names(len(self.inputs))
        labels = getattr(self.operator, "labels", ())
        if i < len(labels):
            return str(labels[i])
        name = names[i]
        if names.count(name) == 1:
            return name
        number = i - names.index(name)
        return f"{name}[{number}]"


def reference_results(
    reference: Reference, calls: Sequence[tuple[Values, Any]]
) -> list:
    """What a reference returns for each call of inputs and namespace."""
    each = getattr(reference, "each", None)
    if each:
        return list(each(calls))
    return [refer(reference, xp, inputs) for inputs, xp in calls]


def _as_arrays(results: Any) -> list[Array]:
    """One result or several as a list of arrays."""
    if not isinstance(results, tuple | list):
        results = (results,)
    return [np.asarray(result) for result in results]


def _nudged(x: Array) -> Array:
    nudged = x.astype("float64") * (1 + 2.0**-16)
    return np.asarray(nudged, x.dtype)


def _with_zeros_turned(x: Array) -> Array:
    return np.where(x == 0, -x, x)


def _flushed(x: Array) -> Array:
    form = FORMATS[x.dtype.name]
    is_denormal = np.abs(x) < form.tiny
    return np.where(is_denormal, 0 * x, x)


def _changed_in_the_middle(x: Array) -> Array:
    changed = x.copy()
    middle = 0
    if x.size > 2:
        middle = x.size // 2 + 1
    if x.size:
        changed.flat[middle] *= 1.5
    return changed


def _turned(x: Array) -> Array:
    rows = x[::-1] if x.ndim else x
    turned = rows.astype("float64")
    away_from_1 = np.sign(np.abs(turned) - 1)
    moved = turned * (1 + 2.0**-6 * away_from_1)
    return np.asarray(moved, x.dtype)


def examples(seed: int = 0) -> list[Example]:
    """Every case of every operator there is."""
    every_example: list[Example] = []
    for name in registry.known("operators"):
        operator = registry.find("operators", name)
        every_example += examples_of(operator, seed)
    return every_example


@cache
def examples_of(cls: type[Operator], seed: int = 0) -> tuple[Example, ...]:
    """Every case of an operator, with its inputs drawn."""
    examples_of_cases = []
    for i, case in enumerate(cls.cases):
        name = f"{cls.__name__}-{i}"
        operator = cls(**case.attributes)
        inputs = draw_inputs(cls, case.inputs, name, seed)
        examples_of_cases.append(Example(name, operator, inputs))
    return tuple(examples_of_cases)


def draw_inputs(
    cls: type[Operator], values: Mapping[str, Any], name: str, seed: int = 0
) -> tuple[Any, ...]:
    """Values for the inputs of a case, in the operator's order; raises a Deep500Error for an input it does not have."""
    if cls.forward is Operator.forward:
        raise Deep500Error(
            f"{cls.__name__} has no method 'forward': it holds the formula"
        )
    if unknown_inputs := set(values) - set(cls.inputs):
        unknown_names = ", ".join(sorted(unknown_inputs))
        names = ", ".join(cls.inputs)
        if not names:
            names = "none: forward takes self, xp and then the inputs"
        raise Deep500Error(
            f"{cls.__name__} has no input named {unknown_names}; it has {names}"
        )
    return tuple(_drawn(cls, values, name, seed))


def _drawn(
    cls: type[Operator], values: Mapping[str, Any], name: str, seed: int
) -> Iterator[Any]:
    """The inputs; optional ones at the end that have no value are left out."""
    parameters = list(cls.inputs)
    for i, (parameter, signature) in enumerate(cls.inputs.items()):
        value = values.get(parameter)
        keys: list[Any] = [name, parameter]
        if seed:
            keys.append(seed)
        draw = generator(*keys)
        if signature.kind is signature.VAR_POSITIONAL:
            for shape in value or ():
                yield drawn(shape, draw)
        elif parameter in cls.static:
            yield tuple(value) if isinstance(value, list) else value
        elif any(other in values for other in parameters[i:]):
            yield drawn(value, draw)


def drawn(value: Any, draw: np.random.Generator) -> Array | None:
    """An array for a shape (distinct values with mean 0 and deviation 1, none of them 0), or a list as an array."""
    if value is None:
        return None
    if isinstance(value, TensorSpec) and value.dtype not in FORMATS:
        return _drawn_integers(value, draw)
    if isinstance(value, tuple):
        return _drawn_floats(value, draw)
    if isinstance(value, TensorSpec):
        return _drawn_floats(value.shape, draw)
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return array.astype("float32")
    return array


def _drawn_integers(tensor: TensorSpec, draw: np.random.Generator) -> Array:
    choice = [1]
    if tensor.dtype.startswith("int"):
        choice = [-1, 1]
    signs = draw.choice(choice, tensor.shape)
    magnitudes = draw.integers(1, 8, tensor.shape)
    return (magnitudes * signs).astype(tensor.dtype)


def _drawn_floats(shape: tuple[int, ...], draw: np.random.Generator) -> Array:
    n = int(np.prod(shape))
    centred = draw.permutation(n) + 0.3 - n / 2
    values = centred * (12**0.5 / max(n, 1))
    return values.astype("float32").reshape(shape)


def tensors(values: Values) -> tuple:
    """The arrays as shapes and dtypes, other values as they are."""
    return map_arrays(_tensor, values)


def _tensor(x: Array) -> TensorSpec:
    return TensorSpec(x.shape, x.dtype.name)


def generator(*keys: Any) -> np.random.Generator:
    """A generator that depends on these keys alone."""
    return np.random.Generator(np.random.Philox(seed_of(*keys)))


def seed_of(*keys: Any) -> int:
    return zlib.crc32(repr(keys).encode())
