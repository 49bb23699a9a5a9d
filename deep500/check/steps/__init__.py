"""Is a training step right, whoever wrote it? Its accumulation, ranks, resumption, evaluation and order of examples.

loading.py         from what a user writes to a class, function, object or module
trainings.py       what a training offers, and how it begins again
trees.py           batches, gradients and states as arrays
rounding.py        how much of a difference rounding explains
parts.py           what the parts of a batch weigh in a gradient
promises.py        the promises
transfer.py        states for another process
resuming.py        going on in a new process
executor_steps.py  an executor of ours as a training
recipe_steps.py    a recipe as a training
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import Incomplete, raise_if_internal
from ...supervision.serving import Progress, silent
from ..report import CheckReport, CheckResult, Reports
from ..schemes.faults import reason
from .loading import load_subject
from .promises import Promises
from .resuming import resume
from .trainings import Training, training_of


def check_step(
    subject: Any,
    settings: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Reports:
    """Check a training: "my_script.py:Training", a class or function that makes one (with `settings`), or an object.

    docs/check-a-step.md says which methods it has, and which check needs which of them.
    """
    text = subject if isinstance(subject, str) else ""
    value = load_subject(text) if text else subject
    training = training_of(value, settings)
    name = text or getattr(value, "__name__", type(value).__name__)
    results = [*checks(training, text, settings or {}, seed, progress or silent)]
    return Reports("step", name, [CheckReport("step", name, "", "step", results)])


def checks(
    training: Training,
    text: str,
    settings: Mapping[str, Any],
    seed: int,
    progress: Progress,
) -> Iterator[CheckResult]:
    """Every promise in turn; what a training raises is wrong."""
    promises = Promises(training, seed)
    for name in ("repeat", "accumulation", "loss", "ranks", "order", "evaluation"):
        progress(name)
        try:
            yield from getattr(promises, name)()
        except Incomplete:
            raise
        except Exception as error:  # a user's training may raise anything
            raise_if_internal(error)
            yield CheckResult(name, False, text=reason(error))
    progress("resume")
    try:
        yield promises.unless_random(lambda: resume(training, text, settings))
    except Exception as error:
        raise_if_internal(error)
        yield CheckResult("resume", False, text=reason(error))
