"""The contract of objects with a state that checkpoints save and restore."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

# NumPy arrays, and values that JSON can hold
State = Mapping[str, np.ndarray | Any]


class Stateful(Protocol):
    """A section of a checkpoint: parameters, optimizer, sampler, an event, communication …"""

    def state(self) -> State:
        """Everything that a resumed run needs of this object; may be empty."""

    def load_state(self, state: State) -> None:
        """Restore a result of `state`; a Deep500Error if it belongs to something else."""
