from typing import Literal

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case
from ._scatter import scatter, scatter_gradients


class TensorScatter(Operator):
    """A cache with an update written into it along an axis, for each element of the batch from its own index on.

    In the mode "circular" what goes beyond the end continues at the beginning.
    """

    since = 24
    axis_range = of_first_input
    axis: int = -2
    mode: Literal["linear", "circular"] = "linear"
    integers = ("write_indices",)

    def forward(self, xp, past_cache, update, write_indices=None):
        places = self._places(xp, past_cache, update, write_indices)
        return scatter(xp, past_cache, places, update, self.axis % past_cache.ndim, "none")

    def backward(self, xp, dy, past_cache, update, write_indices, y):
        places = self._places(xp, past_cache, update, write_indices)
        return scatter_gradients(
            xp, dy, past_cache, places, update, y, self.axis % past_cache.ndim, "none"
        )

    def infer(self, past_cache, update, write_indices=None):
        return (past_cache,)

    def flops(self, past_cache, update, write_indices=None):
        return 0

    def _places(self, xp, cache, update, starts):
        """For every element of the update its index along the axis."""
        axis = self.axis % cache.ndim
        places = xp.reshape(
            xp.arange(update.shape[axis], "int64"), (-1, *[1] * (cache.ndim - 1 - axis))
        )
        if starts is not None:
            places = places + xp.reshape(starts, (-1, *[1] * (cache.ndim - 1)))
        places = places % cache.shape[axis] if self.mode == "circular" else places
        return xp.broadcast_to(places, update.shape)

    cases = (
        case(past_cache=(2, 4, 3), update=(2, 2, 3), write_indices=[1, 0]),
        case(
            {"mode": "circular", "axis": 1}, past_cache=(2, 3), update=(2, 2), write_indices=[2, 4]
        ),
        case(past_cache=(1, 2, 3, 2), update=(1, 2, 2, 2)),
    )
