"""Gradient clipping by norm (Pascanu, Mikolov and Bengio, 2013)."""

from typing import Any, ClassVar

from ..contracts.modifier import Arrays, Modifier
from ..contracts.schedule import check_positive


class ClipByNorm(Modifier):
    """Scales all gradients together so that their Euclidean norm is at most `limit`.

    Like torch.nn.utils.clip_grad_norm_, it adds 1e-6 (`epsilon`) to the norm that it divides by.
    """

    needs_all_gradients: ClassVar[bool] = True

    limit: float
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, limit=self.limit)

    def gradients(self, xp: Any, params: Arrays, grads: Arrays) -> Arrays:
        dtype = _accumulation_dtype(grads)
        squares: Any = 0.0
        for grad in grads.values():
            wide = xp.astype(grad, dtype)
            squares = squares + xp.sum(xp.square(wide))
        norm = xp.sqrt(squares) + self.epsilon
        scale = xp.minimum(self.limit / norm, 1.0)
        clipped = {}
        for name, grad in grads.items():
            clipped[name] = grad * xp.astype(scale, grad.dtype)
        return clipped


def _accumulation_dtype(grads: Arrays) -> str:
    """The dtype for the sum of squares: float64 if any gradient has it."""
    if any("float64" in str(grad.dtype) for grad in grads.values()):
        return "float64"
    return "float32"
