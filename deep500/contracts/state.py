"""The contract of what has a state: a checkpoint keeps it, and gives it back."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

State = Mapping[str, np.ndarray | Any]  # NumPy arrays, and values that JSON can hold


class Stateful(Protocol):
    """A section of a checkpoint: parameters, optimizer, sampler, an event, communication …"""

    def state(self) -> State:
        """Everything that a resumed run needs of this; empty if that is nothing."""

    def load_state(self, state: State) -> None:
        """Take back what `state` gave; a Deep500Error if it is another thing's."""
