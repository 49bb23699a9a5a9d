"""What a user's training offers, and how to begin it again."""

import copy
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from ...errors import Deep500Error, with_place
from .trees import Arrays, Batch, arrays

METHODS = (
    "batch() and gradients(micro_batches), or batch(), step(micro_batches), state() and load(state); "
    "docs/check-a-step.md shows one"
)
FEWEST = 4  # examples
MOST = 512


class Training:
    """A user's object; `make` gives a fresh one, if there is one."""

    def __init__(self, subject: Any, make: Callable[[], Any] | None = None):
        self.subject = subject
        self.make = make
        # of the gradient's tensors: name and shape
        self._form: dict[str, tuple[int, ...]] = {}
        if not self.has("batch") or not (self.has("gradients") or self.has_steps):
            kind = type(subject).__name__
            raise Deep500Error(
                f"a training has the methods {METHODS}; this {kind} has not"
            )
        self.batch = Batch(subject.batch())
        if not FEWEST <= self.batch.length <= MOST:
            raise Deep500Error(
                f"batch() gives {self.batch.length} examples: give {FEWEST} to {MOST}"
            )
        self._start = self.saved() if self.has("state", "load") else None

    def has(self, *names: str) -> bool:
        return all(callable(getattr(self.subject, name, None)) for name in names)

    def lacks(self, *names: str) -> str:
        """Why a check that needs these methods does not apply; "" if it does."""
        missing = [f"{name}()" for name in names if not self.has(name)]
        return f"it has no {', '.join(missing)}" if missing else ""

    @property
    def has_steps(self) -> bool:
        """Whether whole steps can be compared."""
        return self.has("step", "state", "load")

    @property
    def linear(self) -> bool:
        """Whether what is compared is a gradient, and not what an optimizer makes of it."""
        return self.has("gradients")

    @property
    def accumulates(self) -> bool:
        return bool(getattr(self.subject, "accumulates", True))

    def saved(self) -> Any:
        """A copy of the state, which later steps do not change."""
        return copy.deepcopy(self.subject.state())

    def restart(self, state: Any = None) -> None:
        """Go back to the first state, or to another one."""
        if self._start is not None:
            state = self._start if state is None else state
            self.subject.load(copy.deepcopy(state))
        elif self.make is not None:
            self.subject = self.make()

    def renew(self) -> None:
        """Take a new object, if one can be made: checks before may have left something in the old one."""
        if self.make is not None:
            self.subject = self.make()
        self.restart()

    @property
    def start(self) -> Any:
        """The first state; None if states cannot be loaded."""
        return self._start

    def gradient(self, micro_batches: list[Any], state: Any = None) -> Arrays:
        """The gradient of these parts of a batch from the first state; without gradients(), the change by a step."""
        self.restart(state)
        if self.has("gradients"):
            return self.further_gradient(micro_batches)
        before = arrays(self.subject.state())
        self.subject.step(micro_batches)
        after = arrays(self.subject.state())
        changes = {}
        for name, array in before.items():
            if array.dtype.kind == "f" and name in after:
                changes[name] = after[name] - array
        return changes

    def further_gradient(self, micro_batches: list[Any]) -> Arrays:
        """The gradient from the state as it is."""
        gradient = checked(self.subject.gradients(micro_batches), "gradients")
        return self._of_the_same_form(gradient, "gradients")

    def _of_the_same_form(self, gradient: Arrays, method: str) -> Arrays:
        """The gradient, if its tensors are those of the first one."""
        form = {name: array.shape for name, array in gradient.items()}
        self._form = self._form or form
        if form == self._form:
            return gradient
        names = sorted({*form, *self._form})
        differing = [name for name in names if form.get(name) != self._form.get(name)]
        raise Deep500Error(
            f"{method}() gives tensors of other names or shapes than at first: {', '.join(differing[:3])}"
        )

    def rank_gradient(self, shards: list[Any]) -> Arrays:
        """What ranks agree on that have one micro-batch each."""
        self.restart()
        lists = [[shard] for shard in shards]
        gradient = checked(self.subject.over_ranks(lists), "over_ranks")
        return self._of_the_same_form(gradient, "over_ranks")

    def evaluate(self) -> None:
        self.subject.evaluate(self.batch.tree)

    def step(self, batch: Any) -> None:
        """A step on one batch, from the state as it is."""
        self.subject.step([batch])

    def loss(self, micro_batches: list[Any], state: Any = None) -> float | None:
        """What a step from the first state, or from another one, returns, if that is a number."""
        self.restart(state)
        loss = arrays(self.subject.step(micro_batches)).get("value")
        return float(loss) if loss is not None and loss.size == 1 else None


def checked(gradients: Any, method: str) -> Arrays:
    """The arrays of a gradient, in float64 or as they are; a Deep500Error if there are none."""
    found = {
        name: array
        for name, array in arrays(gradients).items()
        if array.dtype.kind == "f"
    }
    if not found:
        kind = type(gradients).__name__
        raise Deep500Error(
            f"{method}() gives a {kind} without arrays of floats: give a dict of arrays"
        )
    return found


def training_of(subject: Any, settings: Mapping[str, Any] | None = None) -> Training:
    """The training that a class, a function without arguments, an object or a module is or makes."""
    is_factory = callable(subject) and not hasattr(subject, "batch")
    if isinstance(subject, type):
        is_factory = True
    if not is_factory or isinstance(subject, ModuleType):
        if settings:
            raise Deep500Error(
                "--set is for a class or function that makes the training"
            )
        return Training(subject)

    def make() -> Any:
        try:
            return subject(**(settings or {}))
        except Deep500Error:
            raise
        except Exception as error:  # code from anyone
            name = getattr(subject, "__name__", str(subject))
            raise Deep500Error(
                f"{name}() cannot be called: {with_place(error)}. It makes an object with {METHODS}"
            ) from error

    return Training(make(), make)


def largest(array: np.ndarray) -> float:
    return float(np.abs(array.astype(np.float64)).max(initial=0.0))
