"""An engine that is known only as a function: arrays go in by name, outputs come back, nothing inside can be seen."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import Deep500Error, errors_of_user_code, one_line
from ...graph.weights import host_array
from ..operators.subjects import named_function

Arrays = dict[str, np.ndarray]
Function = Callable[[Arrays], Any]
CONTRACT = (
    "it takes a dict of arrays by the names of the inputs, and returns a dict by the names of the outputs, a list of "
    "them, or one array"
)
LOSS = "loss"


class Engine:
    """A user's function, asked as frameworks are: `outputs` runs it once and returns arrays without judging them."""

    def __init__(self, function: Function, name: str):
        self.function = function
        self.name = name

    def outputs(self, data: Arrays, names: Sequence[str]) -> Arrays:
        """The outputs by the network's names. Raises a Deep500Error with the file and line if the function raises."""
        copies = {name: value.copy() for name, value in data.items()}
        try:
            with errors_of_user_code(self.name):
                results = self.function(copies)
        except Deep500Error:
            raise
        except Exception as error:  # of a library, such as a module's forward
            reason = one_line(error, kind=True)
            raise Deep500Error(f"{self.name} raised {reason}: {CONTRACT}") from error
        by_name = _named(self.name, results, names)
        arrays = {}
        for name, value in by_name.items():
            try:
                arrays[name] = np.array(host_array(name, value))
            except Deep500Error:
                kind = type(value).__name__
                raise Deep500Error(
                    f"{self.name} returned a {kind} as the output {name!r}: {CONTRACT}"
                ) from None
        return arrays


def engine_named(text: str) -> Engine:
    """The engine of a command line, such as my_engine.py:run."""
    return Engine(named_function(text), engine_name(text))


def engine_name(text: str) -> str:
    """The file and the function, without folders."""
    place, _, function = text.rpartition(":")
    return f"{Path(place).name}:{function}"


def engine_of(function: Function) -> Engine:
    """The engine that is a function of this process."""
    name = getattr(function, "__name__", type(function).__name__)
    return Engine(function, name)


def _named(engine: str, results: Any, outputs: Sequence[str]) -> dict[str, Any]:
    """The results by the names of the network's outputs; a Deep500Error if they are not what the contract says.

    The loss may be left out: few engines compute it.
    """
    required = [name for name in outputs if name != LOSS] or list(outputs)
    expected = ", ".join(required)
    if results is None:
        raise Deep500Error(f"{engine} returned None: {CONTRACT}")
    if isinstance(results, Mapping):
        if any(name not in results for name in required):
            given = ", ".join(map(str, results)) or "none"
            raise Deep500Error(
                f"{engine} returned {given}, and the network has the outputs {expected}: {CONTRACT}"
            )
        return {name: results[name] for name in outputs if name in results}
    if not isinstance(results, list | tuple):
        results = [results]
    for names in (outputs, required):
        if len(results) == len(names):
            return dict(zip(names, results, strict=True))
    raise Deep500Error(
        f"{engine} returned {len(results)} outputs, and the network has {len(required)} ({expected}): {CONTRACT}"
    )
