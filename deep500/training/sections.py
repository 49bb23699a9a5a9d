"""The sections of a checkpoint: which part of a run each one saves, and how it is restored."""

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
    """The parameters of an executor as an object with a state."""

    def __init__(self, executor: Executor):
        self.executor = executor

    def state(self) -> dict[str, np.ndarray]:
        return self.executor.arrays()

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.executor.load(state)


def procedure_sections(procedure: Procedure) -> dict[str, Stateful]:
    """What training changes: the parameters of every network, and the state of the optimizer or optimizers."""
    if len(procedure.executors) == 1:
        [executor] = procedure.executors.values()
        return {"parameters": Parameters(executor), "optimizer": procedure}
    sections: dict[str, Stateful] = {}
    for name, executor in procedure.executors.items():
        sections[f"parameters of {name}"] = Parameters(executor)
    sections["optimizer"] = procedure
    return sections


def event_sections(events: Sequence[Event]) -> dict[str, Stateful]:
    """Every event by the name of its class; from the second event of a class on, with a number."""
    sections: dict[str, Stateful] = {}
    seen: Counter[str] = Counter()
    for event in events:
        kind = type(event).__name__
        seen[kind] += 1
        name = f"event {kind}"
        if seen[kind] > 1:
            name = f"event {kind} {seen[kind]}"
        sections[name] = event
    return sections


def saved_sections(
    procedure: Procedure, sampler: Sampler, events: Sequence[Event]
) -> Sections:
    """Copies of all states by section; an event without state has no section."""
    sections = {
        **procedure_sections(procedure),
        **procedure.parts,
        "sampler": sampler,
    }
    saved = {name: _copied(part.state()) for name, part in sections.items()}
    for name, event in event_sections(events).items():
        if state := _copied(event.state()):
            saved[name] = state
    return saved


def load_sections(
    saved: Sections,
    procedure: Procedure,
    sampler: Sampler,
    events: Sequence[Event],
) -> None:
    """Restore all states; raise a Deep500Error, before anything is changed, if a section is missing or does not fit."""
    trained = procedure_sections(procedure)
    named_events = event_sections(events)
    others = {"sampler": sampler, **procedure.parts, **named_events}
    needed = {*trained, *procedure.parts, "sampler"}
    for name, event in named_events.items():
        if event.state():
            needed.add(name)
    if unknown := sorted(saved.keys() - trained.keys() - others.keys()):
        raise Deep500Error(
            f"the checkpoint has a section {unknown[0]!r}, and this run has none: give it the events "
            "and networks that it had"
        )
    if missing := sorted(needed - saved.keys()):
        present = ", ".join(saved)
        raise Deep500Error(
            f"the checkpoint has no section {missing[0]!r}; it has: {present}"
        )
    for name, part in trained.items():
        if not (part is procedure and procedure.state_grows):
            check_fit(name, saved[name], part.state())
    for name, part in {**others, **trained}.items():
        if name in saved:
            part.load_state(saved[name])


def _copied(state: State) -> dict[str, Any]:
    """The state with copies of its arrays, which do not change when the run continues."""
    copied = dict(state)
    for name, value in state.items():
        if isinstance(value, np.ndarray | np.generic):
            copied[name] = np.array(value)
    return copied
