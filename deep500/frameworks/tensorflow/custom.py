"""Custom operators in TensorFlow: the graph calls back into Python or C++, over shared memory."""

from collections.abc import Callable
from functools import cache
from typing import Any

import tensorflow as tf  # type: ignore[import-untyped]

from ...custom.operators import CustomOp, one_or_all
from . import FRAMEWORK
from .executor import formula


@cache
def custom_op(op: CustomOp) -> Callable[..., Any]:
    """Return a differentiable function of tensors, for tf.function and GradientTape."""

    @tf.autograph.experimental.do_not_convert
    def call(*inputs: Any) -> Any:
        xs = [tf.convert_to_tensor(x) for x in inputs]
        op.kinds(xs)  # raises if the inputs do not match the signature
        if op.differentiable:
            results = formula(FRAMEWORK.xp, op.operator, xs)
        else:
            results = op.operator.run(FRAMEWORK.xp, *xs)
        return one_or_all(results)

    return call
