"""PyTorch's own derivative of a function, from the graph that autograd records."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from ...contracts.calls import Call
from ...contracts.calls import results as as_tuple
from ...errors import Unsupported
from . import FRAMEWORK


def derivative(
    function: Callable,
    arrays: Sequence[torch.Tensor],
    grads: Sequence[torch.Tensor | None],
) -> Call:
    """Return a call that runs one backward pass over a retained graph; the forward pass is not part of the call.

    Raises Unsupported if no output of the function depends on its inputs through autograd.
    """
    leaves = [a.detach().requires_grad_(a.is_floating_point()) for a in arrays]
    variables = [leaf for leaf in leaves if leaf.requires_grad]
    results = as_tuple(function(*leaves))
    used = []
    for i, (result, grad) in enumerate(zip(results, grads, strict=False)):
        if grad is not None and result.requires_grad:
            used.append(i)
    if not used:
        raise Unsupported("PyTorch has no derivative of its own kernel here")
    targets = tuple([results[i] for i in used])

    def bind(values: Sequence[Any]) -> tuple:
        used_grads = tuple([values[i] for i in used])
        return targets, variables, used_grads

    def outputs(gradients: Sequence[Any]) -> list:
        remaining = iter(gradients)
        arrays: list[np.ndarray | None] = []
        for leaf in leaves:
            gradient = next(remaining) if leaf.requires_grad else None
            if gradient is not None:
                gradient = FRAMEWORK.array(gradient)
            arrays.append(gradient)
        return arrays

    backward = partial(torch.autograd.grad, retain_graph=True, allow_unused=True)
    return Call(backward, bind(grads), outputs, bind)
