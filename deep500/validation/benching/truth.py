"""The truth for a user's operator, computed in a copy of this process in which the operator has not run yet.

Otherwise an operator that remembers its inputs could falsify the truth.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import Deep500Error, one_line
from ...supervision.child import Child
from ..checking.bounds import gradient_bounds, output_bounds
from ..checking.examples import Example
from ..checking.subjects import is_ours

LONGEST_S = 3600.0  # whoever waits for this process has a shorter deadline


def settle(example: Example, direction: str) -> None:
    """Store the truth in the example; that of a built-in operator is computed when it is needed."""
    if is_ours(example.operator):
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Child.forked(
            lambda send: _witness(example, direction, place, send)
        ) as copy:
            copy.answer("settled", LONGEST_S)
        for name in _parts(direction):
            example.__dict__[name] = _loaded(place, name)


def _parts(direction: str) -> dict[str, Callable[[Example], Any]]:
    """The functions that compute the truth, by the name under which an example keeps the result."""
    parts: dict[str, Callable[[Example], Any]] = {
        "outputs": lambda example: example.outputs,
        "output_bounds": output_bounds,
    }
    if direction == "backward":
        parts["gradients"] = lambda example: example.gradients
        parts["gradient_bounds"] = gradient_bounds
    return parts


def _witness(
    example: Example, direction: str, folder: Path, send: Callable[[dict], None]
) -> None:
    try:
        _save(example, direction, folder)
    except Deep500Error as error:
        send({"error": str(error)})
    except Exception as error:  # a user's code may raise anything
        name = type(example.operator).__name__
        reason = one_line(error, kind=True)
        send({"error": f"the formula cannot run {name}: {reason}"})
    else:
        send({"settled": True})


def _save(example: Example, direction: str, folder: Path) -> None:
    with np.errstate(all="ignore"):
        for name, function in _parts(direction).items():
            for i, array in enumerate(function(example)):
                kind = "array"
                if array is None:
                    kind = "none"
                    array = np.zeros(0)
                np.save(folder / f"{name}-{i}-{kind}.npy", array)


def _loaded(folder: Path, name: str) -> list[Any]:
    arrays: list[Any] = []
    for path in sorted(folder.glob(f"{name}-*.npy"), key=_number):
        if path.stem.endswith("none"):
            arrays.append(None)
        else:
            arrays.append(np.load(path, allow_pickle=False))
    return arrays


def _number(path: Path) -> int:
    _, number, _ = path.stem.split("-")
    return int(number)
