"""What it means for an operator to be right; the tests of operators and the planted errors use the same functions.

An example is one case of an operator with its inputs drawn. Its truth is the formula in float64. What a framework
returns may differ from it by what rounding explains: how far results move when every input moves by one unit of
rounding (the conditioning), times the root of the number of operations behind one element (rounding errors add up as
random numbers do).
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from deep500 import registry
from deep500.contracts.operator import Operator, Tensor
from deep500.frameworks import framework

FACTOR = 2  # correct kernels were seen to need up to 0.35
XP = framework("reference").xp


@dataclass(frozen=True, eq=False)
class Example:
    """An operator and the inputs it is called with: float32, int64 or bool arrays, static values, None."""

    name: str
    operator: Operator
    inputs: tuple[Any, ...]

    @cached_property
    def floats(self) -> list[int]:
        """The places of the float inputs."""
        return [i for i, x in enumerate(self.inputs) if is_float(x)]

    @cached_property
    def results(self) -> tuple:
        """All results of the formula in float64, saved ones included."""
        return self.operator.run(XP, *wide(self.inputs))

    @cached_property
    def seeds(self) -> tuple[np.ndarray | None, ...]:
        """A random gradient for every float output that the derivative takes one for."""
        draw, operator = generator(self.name, "seeds"), self.operator
        return tuple(draw.standard_normal(y.shape).astype("float32") if f"d{name}" in operator.wanted and is_float(y)
                     else None for name, y in zip(operator.result_names(len(self.outputs)), self.outputs, strict=True))

    @cached_property
    def smooth(self) -> bool:
        """Whether there is a derivative to test: integers and booleans have none."""
        return any(g is not None for g in self.gradients)

    @cached_property
    def tensors(self) -> tuple:
        """The inputs as shapes and dtypes, for infer and flops."""
        return tensors(self.inputs)

    @cached_property
    def outputs(self) -> list[np.ndarray]:
        return [np.asarray(y) for y in self.operator.published(self.results)]

    @cached_property
    def gradients(self) -> list[np.ndarray | None]:
        """The formula's gradient by every input in float64, None where it declares none."""
        return gradients(self, XP, wide(self.inputs), wide(self.seeds))


def examples() -> list[Example]:
    """Every case of every operator there is."""
    return [e for name in registry.known("operators") for e in examples_of(registry.find("operators", name))]


@cache
def examples_of(cls: type[Operator]) -> tuple[Example, ...]:
    assert cls.cases, f"{cls.__name__} has no cases to test"
    names = [f"{cls.__name__}-{i}" for i in range(len(cls.cases))]
    return tuple(Example(name, cls(**case.attributes), tuple(_inputs(cls, case.inputs, name)))
                 for name, case in zip(names, cls.cases, strict=True))


def _inputs(cls: type[Operator], given: Any, name: str) -> Iterator[Any]:
    left = set(given)
    for i, (parameter, signature) in enumerate(cls.inputs.items()):
        value, draw = given.get(parameter), generator(name, parameter)
        left.discard(parameter)
        if parameter in cls.static:
            yield tuple(value) if isinstance(value, list) else value
        elif signature.kind is signature.VAR_POSITIONAL:
            yield from (drawn(shape, draw) for shape in value)
        elif value is not None or any(p in given for p in list(cls.inputs)[i:]):
            yield drawn(value, draw)
    assert not left, f"{name}: {cls.__name__} has no input named {', '.join(left)}"


def drawn(value: Any, draw: np.random.Generator) -> np.ndarray | None:
    """An array: distinct values with mean 0 and deviation 1 for a shape, none of them 0; a list as it stands."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        signs = draw.choice([-1, 1] if value.dtype.startswith("int") else [1], value.shape)
        return (draw.integers(1, 8, value.shape) * signs).astype(value.dtype)
    if isinstance(value, tuple):
        n = int(np.prod(value))
        return ((draw.permutation(n) + 0.3 - n / 2) * (12**0.5 / max(n, 1))).astype("float32").reshape(value)
    array = np.asarray(value)
    return array.astype("float32") if array.dtype.kind == "f" else array


def tensors(values: Sequence[Any]) -> tuple:
    """The arrays as shapes and dtypes, the rest as it is."""
    return tuple(Tensor(x.shape, str(x.dtype)) if isinstance(x, np.ndarray) else x for x in values)


def generator(*words: Any) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(zlib.crc32(repr(words).encode())))


def wide(values: Sequence[Any]) -> tuple:
    """The float arrays in float64, the rest as it is."""
    return cast(values, "float64")


def cast(values: Sequence[Any], dtype: str) -> tuple:
    return tuple(x.astype(dtype) if is_float(x) else x for x in values)


def is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def moved(values: Sequence[Any], eps: float, k: int) -> tuple:
    draw = generator("moved", k)
    return tuple(x * (1 + eps * draw.uniform(-1, 1, x.shape)) if is_float(x) else x for x in wide(values))


def distance(a: Any, b: Any) -> float:
    return 0.0 if a is None or np.asarray(a).dtype.kind != "f" else float(np.max(np.abs(a - b), initial=0))


def gradients(example: Example, xp: Any, inputs: Sequence, seeds: Sequence) -> list:
    if all(seed is None for seed in seeds):
        return [None] * len(inputs)
    return example.operator.gradients(xp, seeds, inputs, example.operator.run(xp, *inputs))


@cache
def spread(example: Example, dtype: str) -> tuple[list[float], list[float]]:
    """The largest move of every output and gradient when all inputs and seeds move by a unit of rounding."""
    eps, operator = float(np.finfo(dtype).eps), example.operator
    outputs, grads = np.zeros(len(example.outputs)), np.zeros(len(example.gradients))
    for k in range(4):
        inputs, seeds = moved(example.inputs, eps, k), moved(example.seeds, eps, k)
        outputs = np.maximum(outputs, list(map(distance, operator.run(XP, *inputs), example.outputs)))
        grads = np.maximum(grads, list(map(distance, gradients(example, XP, inputs, seeds), example.gradients)))
    return list(outputs), list(grads)


def output_faults(example: Example, got: Sequence[Any], dtype: str) -> list[str]:
    """What is wrong with the outputs that a framework computed in this dtype; native kernels may return fewer."""
    moves, _ = spread(example, dtype)
    flops = example.operator.flops(*example.tensors)
    kinds = [made.dtype for made in example.operator.infer(*tensors(cast(example.inputs, dtype)))]
    names = example.operator.result_names(len(kinds))
    parts = zip(names, got, example.outputs, moves, kinds, strict=False)
    return [fault for name, g, want, move, kind in parts
            for fault in _faults(name, g, want, kind, allowed(want, move, dtype, flops))]


def gradient_faults(example: Example, got: Sequence[Any], dtype: str) -> list[str]:
    """What is wrong with the gradients, one for every input (None: there is none)."""
    _, moves = spread(example, dtype)
    flops = 2 * example.operator.flops(*example.tensors)
    found = []
    for i, (g, want, move) in enumerate(zip(got, example.gradients, moves, strict=True)):
        name = f"gradient by {[*example.operator.inputs][min(i, len(example.operator.inputs) - 1)]}"
        if g is None or want is None:
            found += [f"{name}: {'missing' if g is None else 'not declared'}"] if (g is None) != (want is None) else []
        else:
            found += _faults(name, g, want, dtype, allowed(want, move, dtype, flops))
    return found


def allowed(want: np.ndarray, move: float, dtype: str, flops: int) -> np.ndarray:
    """How far each element may be off: rounding, for as many operations as there are behind one element."""
    limits, depth = np.finfo(dtype), max(1, flops / max(want.size, 1))
    flushed = float(limits.tiny)  # what is below the smallest normal number may be set to 0
    return FACTOR * depth**0.5 * (move + float(limits.eps) * np.abs(want)) + flushed


def _faults(name: str, got: Any, want: np.ndarray, dtype: str, bound: np.ndarray) -> list[str]:
    got = np.asarray(got)
    if got.shape != want.shape or str(got.dtype) != dtype:
        return [f"{name}: {got.dtype}{list(got.shape)} where {dtype}{list(want.shape)} is right"]
    if want.dtype.kind != "f":
        return [] if np.array_equal(got, want) else [f"{name}: {np.sum(got != want)} of {want.size} elements are wrong"]
    share = np.abs(got.astype("float64") - want) / bound
    bad = np.sum(~(share <= 1))  # a NaN is bad
    worst = np.max(share, initial=0)
    return [f"{name}: {bad} of {share.size} elements are off, by up to {worst:.3g} × what is allowed"] if bad else []


def derivative_faults(example: Example, grads: Sequence[Any]) -> list[str]:
    """Where these gradients contradict central differences of the formula, along random directions in float64."""
    inputs, seeds, step = wide(example.inputs), wide(example.seeds), 1e-5
    found = []
    for i in (i for i in example.floats if grads[i] is not None):
        name = [*example.operator.inputs][min(i, len(example.operator.inputs) - 1)]
        for k in range(3):
            along = generator(example.name, i, k).choice([-1.0, 1.0], inputs[i].shape)
            ends = [_loss(example, seeds, [*inputs[:i], inputs[i] + h * along, *inputs[i + 1:]]) for h in (step, -step)]
            right, claimed = (ends[0][0] - ends[1][0]) / (2 * step), float(np.sum(grads[i] * along))
            if not abs(right - claimed) <= 1e-7 * (float(np.sum(np.abs(grads[i]))) + ends[0][1]):
                found.append(f"the derivative by {name} is {right:.9g}, not {claimed:.9g}")
    return found


def _loss(example: Example, seeds: Sequence, inputs: Sequence) -> tuple[float, float]:
    """The sum of the outputs weighed by the seeds, and the sum of its terms' magnitudes."""
    terms = [s * y for s, y in zip(seeds, example.operator.run(XP, *inputs), strict=False) if s is not None]
    return sum(float(np.sum(t)) for t in terms), sum(float(np.sum(np.abs(t))) for t in terms)


def autograd(example: Example, dtype: str, inputs: Sequence[Any]) -> list[np.ndarray | None]:
    """The gradients that PyTorch finds through its native kernel, for the inputs that our derivative gives one."""
    torch = framework("pytorch").module
    tensors = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in inputs]
    asked = [i for i, g in enumerate(example.gradients) if g is not None]
    for i in asked:
        tensors[i].requires_grad_()
    made = framework("pytorch").kernel(example.operator)[0](*tensors)
    seeds = [s if s is None else torch.from_numpy(s) for s in cast(example.seeds, dtype)]
    loss = sum((s * y).sum() for s, y in zip(seeds, made, strict=False) if s is not None)
    found = dict(zip(asked, torch.autograd.grad(loss, [tensors[i] for i in asked]), strict=True))
    return [found[i].numpy() if i in found else None for i in range(len(tensors))]
