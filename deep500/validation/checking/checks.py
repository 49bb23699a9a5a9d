"""The promises of an operator, each tested on one example: what is computed, and how it treats memory and batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...errors import Deep500Error, Unsupported, one_line
from .batches import batch
from .comparing import gradient_check, output_check, shape_check
from .derivatives import difference_check
from .examples import Example
from .formats import is_float
from .regimes import (
    LARGE,
    SCALARS,
    Regime,
    forgiven,
    in_regime,
    regimes,
    without_overflow,
)
from .report import Check
from .subjects import is_custom
from .treatment import (
    determinism,
    guards,
    interleaved,
    sequence,
    strides,
    threads,
    unchanged,
)

Promise = Callable[[Any, Example, Sequence[Any]], Check]
OWN_CODE = "against its own code in float64: give a reference"


def checks(dock: Any, example: Example) -> Iterator[Check]:
    """Every promise in turn; after a call that fails only that is told."""
    try:
        got = dock.run(example.operator, example.inputs)
    except Exception as error:  # the code of a user or a framework may raise anything
        yield failure(example, "forward", error)
        return
    yield shape_check(example, got)
    forward = output_check(example, got)
    if forward.ok and example.reference is None and is_custom(example.operator):
        forward = replace(forward, text=OWN_CODE)
    yield forward
    for name, promise in PROMISES.items():
        yield attempted(name, promise, dock, example, got)


def regime_checks(dock: Any, example: Example, free_rank: bool) -> Iterator[Check]:
    """Results and derivatives for harder inputs."""
    for regime in regimes(example, free_rank):
        yield from _in_regime(dock, example, regime)


def _in_regime(dock: Any, example: Example, regime: Regime) -> Iterator[Check]:
    made = in_regime(example, regime)
    if isinstance(made, str):
        yield replace(example, regime=regime.name).no_verdict("forward", made)
        return
    try:
        got = forgiven(made, dock.run(made.operator, made.inputs))
    except Exception as error:  # loud, and so not a wrong answer
        yield made.no_verdict("forward", f"refused: {one_line(error)}")
        return
    shape = shape_check(made, got)
    if regime.name == SCALARS and not shape.ok:
        yield made.no_verdict("forward", "a scalar becomes an array of one")
        return
    yield shape
    forward = output_check(made, got)
    if forward.ok is False and regime.flushed and not dock.keeps_denormals():
        forward = output_check(made.without_denormals, got)
    yield forward
    if regime.derived and forward.ok is not False:
        for name in ("gradient", "differences"):
            yield attempted(name, PROMISES[name], dock, made, got)


def attempted(
    name: str, promise: Promise, dock: Any, example: Example, got: Sequence[Any]
) -> Check:
    try:
        return promise(dock, example, got)
    except Exception as error:
        return failure(example, name, error)


def failure(example: Example, name: str, error: Exception) -> Check:
    """What is not offered does not apply; every other exception is wrong, but for harder inputs it refuses them."""
    text = one_line(error, kind=not isinstance(error, Deep500Error))
    if example.regime or isinstance(error, Unsupported | NotImplementedError):
        return example.no_verdict(name, text)
    return example.check(name, False, text=text)


def gradient(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """The framework's run of the derivative against the derivative in float64."""
    if reason := example.no_derivative:
        return example.no_verdict("gradient", reason)
    got_gradients = dock.gradient(example.operator, example.inputs, example.seeds)
    if example.regime.startswith(LARGE):
        got_gradients = without_overflow(example, got_gradients, example.gradients)
    return gradient_check(example, got_gradients)


def by_itself(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """The framework's own differentiation of its kernel against the derivative in float64."""
    if reason := example.no_derivative:
        return example.no_verdict("autodiff", reason)
    if dock.kernel(example.operator, example.inputs) != "native":
        return example.no_verdict(
            "autodiff", "the framework has no kernel of its own for it"
        )
    native = example.as_native
    found = autodiff(dock, native)
    if found is None:
        return example.no_verdict(
            "autodiff", "the framework does not differentiate by itself"
        )
    return gradient_check(native, found, "autodiff")


def slopes(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """The derivative in float64 against central differences of the formula, or of the reference."""
    if example.dtype != "float64":
        return example.no_verdict("differences", "made in float64 alone")
    if not example.floats or not any(map(is_float, example.outputs)):
        return example.no_verdict(
            "differences", "integers and booleans have no derivative"
        )
    if example.operator.differentiable:
        return difference_check(example, example.gradients)
    found = autodiff(dock, example) if example.reference else None
    if found is None:
        return example.no_verdict("differences", "it declares no derivative")
    return difference_check(example, found)


def autodiff(dock: Any, example: Example) -> list | None:
    """By the inputs that have a declared gradient, or by all float inputs where the operator declares none."""
    asked = example.floats
    if example.smooth:
        asked = [i for i, g in enumerate(example.gradients) if g is not None]
    found: list | None = dock.autodiff(
        example.operator, example.inputs, example.seeds, asked
    )
    return found


PROMISES: dict[str, Promise] = {
    "determinism": determinism,  # first: it looks at every call
    "gradient": gradient,
    "autodiff": by_itself,
    "differences": slopes,
    "batch": batch,
    "sequence": sequence,
    "state": interleaved,
    "inputs": unchanged,
    "memory": guards,
    "strides": strides,
    "threads": threads,
}
NAMES = ("shape", "forward", *PROMISES)
