"""The sections of a checkpoint: which part of a run each one keeps, and how they are given back."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..contracts.executor import Executor
from ..contracts.procedure import Procedure
from ..contracts.sampler import Sampler
from ..contracts.state import State, Stateful
from ..errors import Deep500Error
from .checkpoint import Sections, check_fit
from .events import Event


class Parameters:
    """The parameters of an executor, as a section."""

    def __init__(self, executor: Executor):
        self.executor = executor

    def state(self) -> dict[str, np.ndarray]:
        return self.executor.arrays()

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.executor.load(state)


def procedure_sections(procedure: Procedure) -> dict[str, Stateful]:
    """What is trained: the parameters of every network, and the optimizer (or all of them)."""
    if len(procedure.executors) == 1:
        [executor] = procedure.executors.values()
        return {"parameters": Parameters(executor), "optimizer": procedure}
    parameters = {
        f"parameters of {name}": Parameters(executor)
        for name, executor in procedure.executors.items()
    }
    return {**parameters, "optimizer": procedure}


def event_sections(events: Sequence[Event]) -> dict[str, Stateful]:
    """Every event by the name of its class, numbered where there are several of one class."""
    sections: dict[str, Stateful] = {}
    seen: Counter[str] = Counter()
    for event in events:
        kind = type(event).__name__
        seen[kind] += 1
        number = f" {seen[kind]}" if seen[kind] > 1 else ""
        sections[f"event {kind}{number}"] = event
    return sections


def saved_sections(
    procedure: Procedure, sampler: Sampler, events: Sequence[Event]
) -> Sections:
    """Copies of the state of everything; an event without state has no section."""
    sections = {**procedure_sections(procedure), **procedure.parts, "sampler": sampler}
    saved = {name: _copied(part.state()) for name, part in sections.items()}
    for name, event in event_sections(events).items():
        if state := _copied(event.state()):
            saved[name] = state
    return saved


def load_sections(
    saved: Sections, procedure: Procedure, sampler: Sampler, events: Sequence[Event]
) -> None:
    """Give everything its state back; nothing is changed if a section is missing or does not fit."""
    trained = procedure_sections(procedure)
    others = {"sampler": sampler, **procedure.parts, **event_sections(events)}
    needed = {
        *trained,
        *procedure.parts,
        "sampler",
        *(n for n, event in event_sections(events).items() if event.state()),
    }
    if unknown := sorted(saved.keys() - trained.keys() - others.keys()):
        raise Deep500Error(
            f"the checkpoint has a section {unknown[0]!r}, and this run has none: give it the events "
            "and networks that it had"
        )
    if missing := sorted(needed - saved.keys()):
        raise Deep500Error(
            f"the checkpoint has no section {missing[0]!r}; it has: {', '.join(saved)}"
        )
    for name, part in trained.items():
        if not (part is procedure and procedure.state_grows):
            check_fit(name, saved[name], part.state())
    for name, part in {**others, **trained}.items():
        if name in saved:
            part.load_state(saved[name])


def _copied(state: State) -> dict[str, Any]:
    """Arrays that do not change when the run goes on."""
    return {
        name: np.array(value) if isinstance(value, np.ndarray | np.generic) else value
        for name, value in state.items()
    }
