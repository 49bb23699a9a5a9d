"""Weight decay as L2 regularisation."""

from fnmatch import fnmatchcase
from typing import Any

from ..contracts.modifier import Arrays, Modifier


class WeightDecay(Modifier):
    """Adds decay * parameter to every gradient, as `weight_decay` of torch.optim.SGD does.

    `only` is a pattern of the names of the parameters that decay, such as "*weight".
    """

    decay: float
    only: str = "*"

    @property
    def elementwise(self) -> bool:  # type: ignore[override]
        """Whether all parameters decay, so that names do not matter."""
        return self.only == "*"

    def gradients(self, xp: Any, params: Arrays, grads: Arrays) -> Arrays:
        changed = {}
        for name, grad in grads.items():
            if fnmatchcase(name, self.only):
                grad = grad + self.decay * params[name]
            changed[name] = grad
        return changed
