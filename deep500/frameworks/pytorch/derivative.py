"""PyTorch's own derivative of a function, from the graph that it records."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from ...contracts.calls import Call, results
from ...errors import Unsupported
from . import FRAMEWORK


def derivative(
    function: Callable,
    arrays: Sequence[torch.Tensor],
    grads: Sequence[torch.Tensor | None],
) -> Call:
    """One backward pass over a graph that is kept; forward is not part of the call."""
    leaves = [a.detach().requires_grad_(a.is_floating_point()) for a in arrays]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    made = results(function(*leaves))
    used = [
        i
        for i, (y, g) in enumerate(zip(made, grads, strict=False))
        if g is not None and y.requires_grad
    ]
    if not used:
        raise Unsupported("PyTorch has no derivative of its own kernel here")

    def bind(values: Sequence[Any]) -> tuple:
        return tuple(made[i] for i in used), wanted, tuple(values[i] for i in used)

    def outputs(found: Sequence[Any]) -> list:
        rest = iter(found)
        given = [next(rest) if leaf.requires_grad else None for leaf in leaves]
        return [None if g is None else FRAMEWORK.array(g) for g in given]

    return Call(
        partial(torch.autograd.grad, retain_graph=True, allow_unused=True),
        bind(grads),
        outputs,
        bind,
    )
