"""The promises of an operator, each tested on one example: what is computed, and how it treats memory and batches."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ...errors import Deep500Error, Unsupported, one_line, raise_if_mistake
from ..report import CheckResult
from .array_checks import gradient_check, output_check, shape_check
from .batches import batch
from .derivatives import difference_check
from .examples import Example
from .formats import Values, is_float, wide
from .functions import ReferenceFailed
from .regimes import (
    LARGE,
    SCALARS,
    Regime,
    forgiven,
    in_regime,
    regimes,
    without_overflow,
)
from .robustness import (
    determinism,
    guards,
    interleaved,
    sequence,
    strides,
    threads,
    unchanged,
)
from .runner import Runner
from .subjects import is_custom

Promise = Callable[[Any, Example, Values], CheckResult]
OWN_CODE = "against its own code in float64: give a reference"


def checks(runner: Runner, example: Example) -> Iterator[CheckResult]:
    """Every promise in turn; if the call fails, only that."""
    try:
        outputs = runner.run(example.operator, example.inputs)
    except Exception as error:
        # the code of a user or a framework may raise anything
        raise_if_mistake(error)
        if _is_too_wide(runner, example):
            reason = f"it does not take float64: {one_line(error)}"
            yield example.no_verdict("forward", reason)
            return
        yield failure(example, "forward", error)
        return
    yield shape_check(example, outputs)
    forward = output_check(example, outputs)
    if forward.ok and _is_by_itself(example):
        forward = replace(forward, text=OWN_CODE)
    yield forward
    for name, promise in PROMISES.items():
        yield attempted(name, promise, runner, example, outputs)


def _is_by_itself(example: Example) -> bool:
    """Whether its own code is the truth."""
    operator = example.operator
    is_own = is_custom(operator) or getattr(operator, "is_function", False)
    return example.reference is None and is_own


def _is_too_wide(runner: Runner, example: Example) -> bool:
    """Whether it takes the same inputs in float32, and a reference tells what is right for them."""
    if example.reference is None or example.dtype != "float64":
        return False
    try:
        runner.run(example.operator, example.cast("float32").inputs)
    except Exception as error:
        raise_if_mistake(error)
        return False
    return True


def regime_checks(
    runner: Runner, example: Example, free_rank: bool
) -> Iterator[CheckResult]:
    """Results and derivatives for harder inputs."""
    for regime in regimes(example, free_rank):
        yield from _in_regime(runner, example, regime)


def _in_regime(
    runner: Runner, example: Example, regime: Regime
) -> Iterator[CheckResult]:
    harder = in_regime(example, regime)
    if isinstance(harder, str):
        yield replace(example, regime=regime.name).no_verdict("forward", harder)
        return
    try:
        outputs = forgiven(harder, runner.run(harder.operator, harder.inputs))
    except Exception as error:  # loud, and so not a wrong answer
        raise_if_mistake(error)
        yield harder.no_verdict("forward", f"refused: {one_line(error)}")
        return
    shape = shape_check(harder, outputs)
    if regime.name == SCALARS and not shape.ok:
        yield harder.no_verdict("forward", "a scalar becomes an array of one")
        return
    yield shape
    forward = output_check(harder, outputs)
    if forward.ok is False and regime.flushed and not runner.keeps_denormals():
        forward = output_check(harder.without_denormals, outputs)
    yield forward
    if regime.derived and forward.ok is not False:
        for name in ("gradient", "differences"):
            yield attempted(name, PROMISES[name], runner, harder, outputs)


def attempted(
    name: str,
    promise: Promise,
    runner: Runner,
    example: Example,
    outputs: Values,
) -> CheckResult:
    """The check of a promise; a failed one if it raises."""
    try:
        return promise(runner, example, outputs)
    except Exception as error:
        return failure(example, name, error)


def failure(example: Example, name: str, error: Exception) -> CheckResult:
    """The check for an exception: wrong, unless the framework lacks the operation or the inputs are harder ones."""
    raise_if_mistake(error)
    text = one_line(error, kind=not isinstance(error, Deep500Error))
    harmless = Unsupported | NotImplementedError | ReferenceFailed
    if example.regime or isinstance(error, harmless):
        return example.no_verdict(name, text)
    return example.check(name, False, text=text)


def gradient(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """The framework's run of the derivative against the derivative in float64."""
    try:
        reason = example.no_derivative
    except Exception as error:
        raise_if_mistake(error)
        if not _may_refuse_float64(example):
            raise
        return _gradient_of_reference(runner, example, error)
    if reason:
        return example.no_verdict("gradient", reason)
    gradients = runner.gradient(example.operator, example.inputs, example.seeds)
    if example.regime.startswith(LARGE):
        gradients = without_overflow(example, gradients, example.gradients)
    return gradient_check(example, gradients)


def _may_refuse_float64(example: Example) -> bool:
    """Whether a derivative that fails in float64 may be right: a function's, or one of code that takes none of it."""
    if getattr(example.operator, "is_function", False):
        return True
    if example.reference is None:
        return False
    try:
        replace(example, reference=None).truth(wide(example.inputs))
    except Exception as error:
        raise_if_mistake(error)
        return True
    return False


def _gradient_of_reference(
    runner: Runner, example: Example, error: Exception
) -> CheckResult:
    """The gradient of code that has none in float64, against slopes of the reference."""
    try:
        gradients = runner.gradient(example.operator, example.inputs, example.seeds)
    except Exception as raised:
        raise_if_mistake(raised)
        reason = f"it cannot be differentiated: {one_line(error)}"
        return example.no_verdict("gradient", reason)
    return difference_check(example, gradients, "gradient")


def by_itself(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """The framework's own differentiation of its kernel against the derivative in float64."""
    if getattr(example.operator, "is_function", False):
        reason = "the gradient of a function is the framework's own already"
        return example.no_verdict("autodiff", reason)
    if not example.differentiates and _may_refuse_float64(example):
        reason = "it has no derivative in float64 to compare with"
        return example.no_verdict("autodiff", reason)
    if reason := example.no_derivative:
        return example.no_verdict("autodiff", reason)
    if runner.kernel(example.operator, example.inputs) != "native":
        reason = "the framework has no kernel of its own for it"
        return example.no_verdict("autodiff", reason)
    native = example.as_native
    gradients = autodiff(runner, native)
    if gradients is None:
        reason = "the framework does not differentiate by itself"
        return example.no_verdict("autodiff", reason)
    return gradient_check(native, gradients, "autodiff")


def slopes(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """The derivative in float64 against central differences of the formula, or of the reference."""
    if example.dtype != "float64":
        return example.no_verdict("differences", "made in float64 alone")
    if not example.floats or not any(map(is_float, example.outputs)):
        reason = "integers and booleans have no derivative"
        return example.no_verdict("differences", reason)
    if not example.operator.differentiable:
        return example.no_verdict("differences", "it declares no derivative")
    try:
        gradients = example.gradients
    except Exception as error:
        raise_if_mistake(error)
        if not _may_refuse_float64(example):
            raise
        reason = f"it has no derivative in float64: {one_line(error)}"
        return example.no_verdict("differences", reason)
    return difference_check(example, gradients)


def autodiff(runner: Runner, example: Example) -> list | None:
    """Gradients by the framework, for the inputs with a declared gradient, or for all float inputs without any."""
    asked = example.floats
    if example.smooth:
        declared = enumerate(example.gradients)
        asked = [i for i, gradient in declared if gradient is not None]
    gradients: list | None = runner.autodiff(
        example.operator, example.inputs, example.seeds, asked
    )
    return gradients


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
