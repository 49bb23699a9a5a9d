"""What parts of a batch weigh in a gradient: the reason why an accumulated gradient is not that of the whole batch."""

import numpy as np

from .rounding import Rounding
from .trees import Arrays

# beyond so many times the bound, a gradient is no combination of those of the parts
SLACK = 4.0


def weights(
    total: Arrays, parts: list[Arrays], rounding: Rounding
) -> np.ndarray | None:
    """The weights with which the gradients of the parts give the total; None if none do."""
    columns = np.stack([_scaled(part, rounding) for part in parts], axis=1)
    target = _scaled(total, rounding)
    found, *_ = np.linalg.lstsq(columns, target, rcond=None)
    rest = np.abs(columns @ found - target).max(initial=0.0)
    reach = 1.0 + np.abs(found).sum()
    return found if rest <= SLACK * reach else None


def _scaled(gradient: Arrays, rounding: Rounding) -> np.ndarray:
    """All tensors in one vector, in units of their bounds."""
    pieces = []
    for name in rounding.gradient:
        pieces.append(gradient[name].astype(np.float64).ravel() / rounding.bounds[name])
    return np.concatenate(pieces)


def weights_text(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
