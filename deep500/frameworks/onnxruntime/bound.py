"""A session that is bound to an executor's parameters and gradients once and runs many times on NumPy arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnxruntime import OrtDevice, OrtValue  # type: ignore[import-untyped]

from ...contracts.dtypes import SMALL
from ...contracts.executor import Values
from .providers import Provider

ARRAY = np.ndarray
Signature = tuple[tuple[str, tuple[int, ...], np.dtype], ...]


class BoundSession:
    """Runs a session and returns its outputs by name; those in `places` are always written there.

    It calls the engine below ONNX Runtime's Python layer, whose checks of every name take longer than a small network:
    `signature` and the declared inputs of the network have done all of these checks before.
    """

    def __init__(
        self,
        session: Any,
        params: Values,
        places: Mapping[str, OrtValue],
        provider: Provider,
    ):
        self._keeper = session.io_binding()
        self._binding = self._keeper._iobinding
        # looked up once, since a lookup takes as long as some of these calls
        self._run = session._sess.run_with_iobinding
        self._bind_input = self._binding.bind_input
        self._bind_output = self._binding.bind_output
        self._get_outputs = self._binding.get_outputs
        # the binding has their addresses only
        self._held = session, params, places
        outputs = [output.name for output in session.get_outputs()]
        self._places = [*enumerate(outputs)]
        self._new = []
        self._device = OrtDevice.make(*provider.place)._get_c_device()
        self.inputs = []
        for session_input in session.get_inputs():
            name = session_input.name
            if name in params:
                self._keeper.bind_ortvalue_input(name, params[name])
            else:
                self.inputs.append(name)
        for name in outputs:
            if name in places:
                self._keeper.bind_ortvalue_output(name, places[name])
            else:
                self._keeper.bind_output(name, *provider.place)
                self._new.append(name)

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> Values:
        for name in self.inputs:
            self._bind_input(name, inputs[name])
        for name in self._new:  # or the last results would be overwritten
            self._bind_output(name, self._device)
        self._run(self._binding, None)
        values = self._get_outputs()
        return {name: OrtValue(values[place]) for place, name in self._places}


def outputs_of(binding: Any, names: Sequence[str]) -> Values:
    """Return the outputs after a run.

    They are read by number, since the end of an iteration over them is a C++ exception, which takes 50 µs.
    """
    values = binding._iobinding.get_outputs()
    return {name: OrtValue(values[place]) for place, name in enumerate(names)}


def signature(inputs: Mapping[str, Any]) -> Signature | None:
    """Return the names, shapes and dtypes that a session depends on; None unless all inputs are contiguous arrays."""
    parts = []
    for name, value in inputs.items():
        if type(value) is not ARRAY or not value.flags.c_contiguous:
            return None
        parts.append((name, value.shape, value.dtype))
    return tuple(parts)


def is_direct(signature: Signature, dtypes: Mapping[str, str]) -> bool:
    """Whether arrays of this signature have the declared dtypes, in a form that the engine reads as it is."""
    for name, _, dtype in signature:
        if dtypes.get(name) != dtype.name:
            return False
        if dtype.name in SMALL:
            return False
    return True
