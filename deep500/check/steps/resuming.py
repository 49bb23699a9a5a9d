"""Going on in a new process from a saved state, against going on in the old one."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...import_path import add_import_folder
from ...supervision.isolation import Died, isolated
from ...supervision.serving import Progress
from ..report import CheckResult
from ..wire import decoded, encoded
from .loading import load_subject
from .promises import difference, not_applicable, undecided
from .rounding import coarseness
from .trainings import Training, largest, training_of
from .transfer import packed, unpacked
from .trees import Arrays, Batch, arrays

NAME = "resume"
AFTER = 2  # steps before the state is saved
TIMEOUT_S = 300.0
# of what the steps since then change, for kernels whose bits depend on the process
SHARE = 1e-4
ULPS = 8.0


def resume(training: Training, text: str, settings: Mapping[str, Any]) -> CheckResult:
    """The state after further steps, taken in a new process; `text` names the subject there, if it has a name."""
    if why := training.lacks("step", "state", "load"):
        return not_applicable(NAME, why)
    if not text and training.make is None:
        return not_applicable(
            NAME, "no new one can be made: give a class or function, or a file's name"
        )
    batches = _batches(training.batch)
    training.renew()
    for batch in batches[:AFTER]:
        training.step(batch)
    saved = training.saved()
    for batch in batches[AFTER:]:
        training.step(batch)
    end = arrays(training.saved())
    case = "new process" if text else "new object"
    try:
        sent = packed((saved, batches[AFTER:])) if text else None
    except TypeError as error:
        return undecided(NAME, f"state() or batch(): {error}", case=case)
    try:
        if text:
            resumed = _elsewhere(text, settings, sent)
        else:
            resumed = _continued(training_of(training.make), saved, batches[AFTER:])
    except Died as error:
        return CheckResult(NAME, False, text=f"going on fails: {error}", case=case)
    return _compared(end, arrays(saved), resumed, case)


def _batches(batch: Batch) -> list[Any]:
    """Different ones, of two sizes only: compilers make a program for every size."""
    middle = batch.length // 2
    first, second = batch.parts([middle, batch.length - middle])
    return [first, batch.tree, second, batch.tree]


def _continued(training: Training, saved: Any, batches: list[Any]) -> Arrays:
    training.restart(saved)
    for batch in batches:
        training.step(batch)
    return arrays(training.saved())


def _elsewhere(text: str, settings: Mapping[str, Any], sent: Any) -> Arrays:
    request = {
        "text": text,
        "settings": dict(settings),
        "sent": sent,
        "folders": [folder for folder in sys.path if folder],
    }
    return decoded(isolated(f"{__name__}:go_on", request, TIMEOUT_S))


def go_on(
    text: str,
    settings: Mapping[str, Any],
    sent: Any,
    folders: list[str],
    progress: Progress,
) -> Any:
    """In the new process: the end of a run that goes on from a saved state with these batches."""
    for folder in folders:
        add_import_folder(folder)
    progress("going on in a new process")
    training = training_of(load_subject(text), settings)
    saved, batches = unpacked(sent)
    return encoded(_continued(training, saved, batches))


def _compared(end: Arrays, saved: Arrays, resumed: Arrays, case: str) -> CheckResult:
    worst = ("", 0.0, 1.0)
    for name, array in end.items():
        other = resumed.get(name)
        if other is None:
            return CheckResult(
                NAME, False, text=f"the state has no {name} any more", case=case
            )
        bound = 0.0
        if array.dtype.kind == "f":
            change = difference(array, saved[name]) if name in saved else 0.0
            bound = ULPS * coarseness(array) * largest(array) + SHARE * change
        value = difference(array, other)
        bound = max(bound, float(np.finfo(np.float64).tiny))
        if not worst[0] or value * worst[2] > worst[1] * bound:
            worst = name, value, bound
    name, value, bound = worst
    text = "" if value <= bound else f"{name} is another than without the interruption"
    return CheckResult(NAME, value <= bound, value, bound, text, case=case)
