"""Gradients of a bounded length (Pascanu, Mikolov and Bengio, 2013)."""

from typing import Any, ClassVar

from ..contracts.modifier import Arrays, Modifier
from ..contracts.schedule import check_positive


class ClipByNorm(Modifier):
    """All gradients together are scaled down so that their Euclidean norm is at most `limit`.

    As torch.nn.utils.clip_grad_norm_, which adds 1e-6 to the norm that it divides by.
    """

    needs_all_gradients: ClassVar[bool] = True

    limit: float
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, limit=self.limit)

    def gradients(self, xp: Any, params: Arrays, grads: Arrays) -> Arrays:
        dtype = "float32"
        if any("float64" in str(grad.dtype) for grad in grads.values()):
            dtype = "float64"
        squares: Any = 0.0
        for grad in grads.values():
            squares = squares + xp.sum(xp.square(xp.astype(grad, dtype)))
        scale = xp.minimum(self.limit / (xp.sqrt(squares) + self.epsilon), 1.0)
        return {
            name: grad * xp.astype(scale, grad.dtype) for name, grad in grads.items()
        }
