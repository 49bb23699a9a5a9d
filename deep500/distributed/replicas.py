"""The replicas of the ranks in this process, as the procedure that a trainer repeats."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..contracts.executor import Values
from ..contracts.procedure import Procedure
from ..contracts.state import State
from ..contracts.transport import is_on_device
from ..errors import Deep500Error
from .replica import Replica

ARRAY = "array in this state"  # the key of what stands for one in JSON


class Replicas(Procedure):
    """All replicas of this process; the one of the lowest rank is evaluated, or what `predict` says instead."""

    def __init__(
        self,
        replicas: Mapping[int, Replica],
        predict: Callable[[Mapping[str, Any]], Values] | None = None,
    ):
        self.predict = predict
        self.replicas = dict(replicas)
        self.lead = self.replicas[min(self.replicas)]
        self.executors = {"network": self.lead.executor}
        if len(self.replicas) > 1:
            self.executors = {}
            for rank, replica in self.replicas.items():
                self.executors[f"rank {rank}"] = replica.executor
        self.series = {"loss": self.lead.loss}
        self.parts = {"communication": CommunicationState(self.replicas)}

    def step(self, batch: Mapping[str, Any], first_row: int = 0) -> Values:
        """A step of the lead alone, without communication: what is built for it is built."""
        return self.lead.training_step(batch, first_row)

    def inference(self, batch: Mapping[str, Any]) -> Values:
        if self.predict is not None:
            return self.predict(batch)
        return self.lead.executor.inference(batch)

    def state(self) -> dict[str, np.ndarray]:
        states = {}
        for rank, replica in self.replicas.items():
            states[rank] = replica.optimizer_state()
        return _with_ranks(states)

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        for rank, rank_state in _by_rank(state, self.replicas).items():
            self.replicas[rank].load_optimizer_state(rank_state)


class CommunicationState:
    """What schemes keep beside parameters and optimizers: residuals, velocities, clocks."""

    def __init__(self, replicas: Mapping[int, Replica]):
        self.replicas = replicas

    def state(self) -> State:
        states = {}
        for rank, replica in self.replicas.items():
            states[rank] = _flat(_on_host(replica))
        return _with_ranks(states)

    def load_state(self, state: State) -> None:
        for rank, rank_state in _by_rank(state, self.replicas).items():
            replica = self.replicas[rank]
            replica.state.clear()
            replica.state.update(_nested(rank_state))


def _on_host(replica: Replica) -> dict[str, Any]:
    """Its state, with arrays in place of tensors on a device, which a codec keeps there."""
    state = {}
    for name, value in replica.state.items():
        if is_on_device(value):
            value = replica.executor.framework.array(value)
        state[name] = value
    return state


def _flat(state: State) -> dict[str, Any]:
    """The state with arrays in dictionaries and lists taken out, each under a name of its own."""
    flat: dict[str, Any] = {}

    def without_arrays(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            flat[name] = value
            return {ARRAY: name}
        if isinstance(value, dict):
            return {
                key: without_arrays(f"{name}[{key!r}]", item)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [
                without_arrays(f"{name}[{number}]", item)
                for number, item in enumerate(value)
            ]
        return value

    for name, value in state.items():
        rest = without_arrays(name, value)
        if not isinstance(value, np.ndarray):
            flat[name] = rest
    return flat


def _nested(flat: State) -> dict[str, Any]:
    """The other way round."""
    taken = set()

    def with_arrays(value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {ARRAY} and value[ARRAY] in flat:
                taken.add(value[ARRAY])
                return flat[value[ARRAY]]
            return {key: with_arrays(item) for key, item in value.items()}
        if isinstance(value, list):
            return [with_arrays(item) for item in value]
        return value

    nested = {name: with_arrays(value) for name, value in flat.items()}
    return {name: value for name, value in nested.items() if name not in taken}


def _with_ranks(states: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """One state of all ranks' states: "momentum" of rank 3 becomes "3:momentum"."""
    named = {}
    for rank, state in states.items():
        for name, value in state.items():
            named[f"{rank}:{name}"] = value
    return named


def _by_rank(
    state: Mapping[str, Any], ranks: Mapping[int, object]
) -> dict[int, dict[str, Any]]:
    """The other way round."""
    states: dict[int, dict[str, Any]] = {rank: {} for rank in ranks}
    for full_name, value in state.items():
        rank, colon, name = full_name.partition(":")
        if not colon or not rank.isdecimal() or int(rank) not in states:
            raise Deep500Error(
                f"the checkpoint holds {full_name[:50]!r}, which is of none of the ranks here: "
                f"{', '.join(map(str, ranks))}"
            )
        states[int(rank)][name] = value
    return states
