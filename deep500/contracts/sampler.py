"""The sampler contract: in which order a training run sees its data."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking


class Sampler(Definition):
    """Draws the batches of an epoch: a pure function of the seed and the epoch, so that a run can be resumed."""

    batch_size: int
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size < 1 or not 0 <= self.seed < 2**63:
            raise Deep500Error(
                f"batch_size is {self.batch_size} and seed is {self.seed}: a sampler needs a batch_size "
                "of at least 1 and a seed from 0 to 2**63 - 1"
            )

    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        """Index arrays of the batches of one epoch over `size` examples; the last may be smaller."""
        raise lacking(self, "epoch")

    def state(self) -> dict[str, Any]:
        """For a checkpoint: a resumed run must go on with the same sampler."""
        return {"definition": repr(self)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        if state.get("definition") != repr(self):
            raise Deep500Error(
                f"the checkpoint was made with {str(state.get('definition'))[:99]!r}, and this run has "
                f"{repr(self)!r}"
            )


def batches(order: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """The order cut into batches; the last holds what is left."""
    return (order[start : start + batch_size] for start in range(0, len(order), batch_size))
