"""Arrays that a training step replaces: two sets that take turns, so that nothing is copied and nothing overwritten."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from onnxruntime import OrtValue  # type: ignore[import-untyped]

from ...contracts.executor import Values
from ...errors import Deep500Error
from .values import from_numpy, to_numpy


class Buffers:
    """Two sets of values by name: a step reads the current one and writes the other, then they change places.

    Values that do not change are the same in both. Those named in `flat` are parts of one vector.
    """

    def __init__(
        self, arrays: Mapping[str, np.ndarray], changing: Collection[str], flat: Sequence[str] = ()
    ):
        self.shapes = {name: value.shape for name, value in arrays.items()}
        self.turn = 0
        first, vector = _values(arrays, flat)
        second, other = _values({name: arrays[name] for name in changing}, flat)
        self.sets, self.vectors = (first, first | second), (vector, other)

    @property
    def current(self) -> Values:
        return self.sets[self.turn]

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set all arrays in place."""
        if self.shapes.keys() != arrays.keys():
            raise Deep500Error(
                f"these arrays are wanted: {', '.join(self.shapes)}; these came: "
                f"{', '.join(arrays) or 'none'}"
            )
        for name, shape in self.shapes.items():
            if shape != np.shape(arrays[name]):
                raise Deep500Error(f"{name!r} has the shape {shape}, not {np.shape(arrays[name])}")
        for name in self.shapes:
            value = self.current[name]
            value.update_inplace(
                from_numpy(np.asarray(arrays[name], to_numpy(value).dtype, order="C"))
            )


def owned(array: np.ndarray) -> OrtValue:
    """A value of its own with these contents."""
    return from_numpy(np.array(array, order="C"))


def _values(
    arrays: Mapping[str, np.ndarray], flat: Sequence[str]
) -> tuple[Values, OrtValue | None]:
    values = {name: owned(value) for name, value in arrays.items() if name not in flat}
    if not flat:
        return values, None
    memory = np.concatenate([arrays[name].ravel() for name in flat])
    parts = np.split(memory, np.cumsum([arrays[name].size for name in flat])[:-1])
    for name, part in zip(flat, parts, strict=True):
        values[name] = from_numpy(part.reshape(arrays[name].shape))
    return {name: values[name] for name in arrays}, from_numpy(memory)
