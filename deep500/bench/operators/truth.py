"""The truth about a job: what its results should be, and how far rounding may move them.

That of a user's operator is computed in a copy of this process in which the operator has not run yet; otherwise an
operator that remembers its inputs could falsify it. The processes of one benchmark share what they have computed
through a folder: frameworks and kernels are judged by the same truth.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ...check.operators.bounds import (
    gradient_bounds,
    is_opaque,
    output_bounds,
    wider_gradient_bounds,
    wider_output_bounds,
)
from ...check.operators.examples import Example
from ...errors import (
    Deep500Error,
    InternalError,
    raise_if_mistake,
    with_place,
)
from ...supervision.child import Child
from ...supervision.serving import internal_answer

LONGEST_S = 3600.0  # whoever waits for this process has a shorter deadline
SHARED = "DEEP500_TRUTHS"  # the folder, in the environment of the processes
MOST_BYTES = 2**29  # in that folder


@contextmanager
def shared_truths() -> Iterator[None]:
    """Let the processes that are started in this block share what they compute."""
    with tempfile.TemporaryDirectory(prefix="deep500-") as folder:
        os.environ[SHARED] = folder
        try:
            yield
        finally:
            del os.environ[SHARED]


def truth_key(*facts: Any) -> str:
    """The name under which a truth is shared: the same for the same facts."""
    text = json.dumps(facts, default=repr, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def settle(example: Example, direction: str, key: str, elsewhere: bool) -> None:
    """Store the truth in the example: the shared one, or one that is computed, here or elsewhere, and shared."""
    if place := _shared(key):
        _load(example, direction, place)
        return
    if not elsewhere and SHARED not in os.environ:
        return  # computed when it is needed
    parent = os.environ.get(SHARED)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        place = Path(folder)
        if elsewhere:
            _compute_elsewhere(example, direction, place)
            _load(example, direction, place)
        else:
            _save(example, direction, place)
        _share(place, key)


def shared_arrays(key: str, name: str) -> list[Any] | None:
    """The shared "outputs" or "output_bounds" of this key; None if they were not shared."""
    place = _shared(key)
    return _arrays(place, name) if place else None


def _shared(key: str) -> Path | None:
    folder = os.environ.get(SHARED)
    if folder is None:
        return None
    place = Path(folder) / key
    return place if place.is_dir() else None


def _share(place: Path, key: str) -> None:
    """Give the folder its shared name, unless another process was first or there is too much already."""
    parent = os.environ.get(SHARED)
    if parent is None:
        return
    files = Path(parent).glob("*/*.npy")
    if sum(file.stat().st_size for file in files) > MOST_BYTES:
        return
    with suppress(OSError):
        place.rename(Path(parent) / key)
        place.mkdir()  # for whoever removes it


def _parts(example: Example, direction: str) -> dict[str, Callable[[Example], Any]]:
    """The functions that compute the truth, by the name under which an example keeps the result."""
    parts: dict[str, Callable[[Example], Any]] = {
        "outputs": lambda example: example.outputs,
        "output_bounds": output_bounds,
    }
    is_code = is_opaque(example)  # which is not run again later
    if is_code:
        parts["wider_output_bounds"] = wider_output_bounds
    if direction == "backward":
        parts["gradients"] = lambda example: example.gradients
        parts["gradient_bounds"] = gradient_bounds
    if direction == "backward" and is_code:
        parts["wider_gradient_bounds"] = wider_gradient_bounds
    return parts


def _compute_elsewhere(example: Example, direction: str, folder: Path) -> None:
    with Child.forked(lambda send: _witness(example, direction, folder, send)) as copy:
        copy.answer("settled", LONGEST_S)


def _witness(
    example: Example, direction: str, folder: Path, send: Callable[[dict], None]
) -> None:
    try:
        _save(example, direction, folder)
        send({"settled": True})
    except Deep500Error as error:
        send({"error": str(error)})
    except Exception as error:  # a user's code may raise anything
        send(_explained(error, example))


def _explained(error: Exception, example: Example) -> dict[str, Any]:
    try:
        raise_if_mistake(error)
    except InternalError as internal:
        return internal_answer(internal)
    name = type(example.operator).__name__
    subject = f"the formula cannot run {name}"
    if example.reference is not None:
        subject = f"the reference of {name} cannot be run"
    return {"error": f"{subject}: {with_place(error)}"}


def _save(example: Example, direction: str, folder: Path) -> None:
    with np.errstate(all="ignore"):
        for name, function in _parts(example, direction).items():
            _save_arrays(folder, name, function(example))


def _save_arrays(folder: Path, name: str, arrays: Sequence[Any]) -> None:
    for i, array in enumerate(arrays):
        kind = "array"
        if array is None:
            kind = "none"
            array = np.zeros(0)
        np.save(folder / f"{name}-{i}-{kind}.npy", array)


def _load(example: Example, direction: str, folder: Path) -> None:
    for name in _parts(example, direction):
        example.__dict__[name] = _arrays(folder, name)


def _arrays(folder: Path, name: str) -> list[Any]:
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
