"""A session bound to an executor's parameters and gradients once, and run many times on NumPy arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnxruntime import OrtValue  # type: ignore[import-untyped]
from onnxruntime.capi import (  # type: ignore[import-untyped]
    onnxruntime_pybind11_state as native,
)

from ...contracts.dtypes import SMALL
from ...contracts.executor import Values

ARRAY = np.ndarray
Signature = tuple[tuple[str, tuple[int, ...], np.dtype], ...]


class BoundSession:
    """The outputs of one run, by name; those in `places` are always written there.

    It calls the engine below ONNX Runtime's Python layer, whose checks of every name take longer than a small
    network does: `signature` and the declared inputs of the network have settled all of them before.
    """

    def __init__(self, session: Any, params: Values, places: Mapping[str, OrtValue]):
        self._keeper = session.io_binding()
        self._binding = self._keeper._iobinding
        # looked up once: a lookup takes as long as some of these calls
        self._run = session._sess.run_with_iobinding
        self._bind_input = self._binding.bind_input
        self._bind_output = self._binding.bind_output
        self._get_outputs = self._binding.get_outputs
        self._held = (session, params, places)  # the binding has their addresses only
        self._outputs = [output.name for output in session.get_outputs()]
        self._places = [*enumerate(self._outputs)]
        self._new = [name for name in self._outputs if name not in places]
        self._device = native.OrtDevice(
            native.OrtDevice.cpu(), native.OrtDevice.default_memory(), 0
        )
        self.inputs = [i.name for i in session.get_inputs() if i.name not in params]
        for i in session.get_inputs():
            if i.name in params:
                self._keeper.bind_ortvalue_input(i.name, params[i.name])
        for name in self._outputs:
            if name in places:
                self._keeper.bind_ortvalue_output(name, places[name])
            else:
                self._keeper.bind_output(name)

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> Values:
        for name in self.inputs:
            self._bind_input(name, inputs[name])
        for name in self._new:  # or the last results are written over
            self._bind_output(name, self._device)
        self._run(self._binding, None)
        values = self._get_outputs()
        return {name: OrtValue(values[place]) for place, name in self._places}


def outputs_of(binding: Any, names: Sequence[str]) -> Values:
    """The outputs after a run, by their numbers: the end of an iteration over them is a C++ exception, 50 µs."""
    values = binding._iobinding.get_outputs()
    return {name: OrtValue(values[place]) for place, name in enumerate(names)}


def signature(inputs: Mapping[str, Any]) -> Signature | None:
    """What tells inputs apart that need other sessions; None where they are no arrays to be used as they are."""
    parts = []
    for name, value in inputs.items():
        if type(value) is not ARRAY or not value.flags.c_contiguous:
            return None
        parts.append((name, value.shape, value.dtype))
    return tuple(parts)


def is_direct(signature: Signature, dtypes: Mapping[str, str]) -> bool:
    """Whether arrays of this signature have the declared dtypes, in a form that the engine reads as it is."""
    kinds = {name: dtype.name for name, _, dtype in signature}
    declared = all(dtypes.get(name) == kind for name, kind in kinds.items())
    return declared and not any(kind in SMALL for kind in kinds.values())
