"""One run of an operator as one run of a session: what is recorded before, a clock does not see."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...contracts.calls import (
    Call,
    arrays,
    check_differentiable,
    fill,
)
from ...contracts.operator import Operator
from ...errors import Unsupported
from ...onnx.recording.arrays import argument, build
from . import FRAMEWORK


def forward(operator: Operator, inputs: Sequence[Any], kernel: str) -> Call:
    """The node itself, or our formula recorded."""
    if kernel == "native":
        run, word = FRAMEWORK.kernel(operator, inputs=inputs)
        if word != "native":
            raise Unsupported(
                f"ONNX Runtime has no node for {type(operator).__name__}: ask for composed"
            )
    else:
        _check_kernel(kernel)
        run = FRAMEWORK.formula(operator)
    given = arrays(inputs)
    recorded = _arguments("i", given)
    made = operator.published(run(*fill(inputs, inputs, list(recorded.values()))))
    return _call(recorded, list(made), given)


def backward(
    operator: Operator, inputs: Sequence[Any], grads: Sequence[Any], kernel: str
) -> Call:
    """Our derivative recorded; results of the forward pass go in."""
    if kernel == "native":
        raise Unsupported(
            "ONNX Runtime does not differentiate by itself: ask for composed"
        )
    _check_kernel(kernel)
    check_differentiable(operator)
    given = arrays(inputs)
    first = _arguments("i", given)
    forwards = _call(
        first,
        list(operator.run(FRAMEWORK.xp, *fill(inputs, inputs, list(first.values())))),
        given,
    )
    left = forwards.run()

    def every(values: Sequence[Any]) -> list[np.ndarray]:
        dys = [*values, *[None] * len(left)]
        pairs = zip(dys, operator.published(left), strict=False)
        return [
            *given,
            *left,
            *(np.zeros_like(y) if dy is None else dy for dy, y in pairs),
        ]

    x, y = _arguments("i", given), _arguments("r", left)
    dy = _arguments("d", every(grads)[len(x) + len(y) :])
    found = operator.gradients(
        FRAMEWORK.xp,
        list(dy.values()),
        fill(inputs, inputs, list(x.values())),
        list(y.values()),
    )
    return _call(x | y | dy, found, grads, every)


def _check_kernel(kernel: str) -> None:
    if kernel == "compiled":
        raise Unsupported(
            "onnxruntime has no compiler of its own: every graph is optimised when it is loaded"
        )


def _arguments(prefix: str, values: Sequence[np.ndarray]) -> dict[str, Any]:
    return {
        f"{prefix}{k}": argument(v.shape, v.dtype.name) for k, v in enumerate(values)
    }


def _call(
    recorded: dict[str, Any],
    made: list,
    values: Sequence[Any],
    every: Callable[[Sequence[Any]], list[np.ndarray]] = list,
) -> Call:
    """The session of a recorded graph; `every` completes the values that vary, a None in `made` stays None."""
    names = [f"o{k}" for k, y in enumerate(made) if y is not None]
    session = FRAMEWORK.session(
        build(recorded, {f"o{k}": y for k, y in enumerate(made) if y is not None})
    )

    def outputs(found: Sequence[Any]) -> list:
        rest = iter(found)
        return [None if y is None else FRAMEWORK.array(next(rest)) for y in made]

    def bind(new: Sequence[Any]) -> tuple:
        return names, {
            name: FRAMEWORK.tensor(v)
            for name, v in zip(recorded, every(new), strict=True)
        }

    return Call(session.run_with_ort_values, bind(values), outputs, bind)
