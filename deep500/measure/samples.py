"""Raw blocks as arrays: per process and entry, in the order of time, without the warm-up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .bench_blocks import TimedBlock
from .statistics.steadiness import SteadyState, steady_state


@dataclass(frozen=True)
class ProcessSamples:
    """What one process measured after its warm-up."""

    # per entry: every visit, seconds per call
    seconds: list[np.ndarray]
    # per entry: one value per round, the geometric mean of its visits
    rounds: list[np.ndarray]
    states: list[SteadyState]  # per entry: how the times settled
    cut: int  # rounds left out as warm-up
    discarded: list[np.ndarray]  # per entry: the visits left out, for plots


def arrange(
    entries: int,
    blocks: Sequence[TimedBlock],
    cache: Mapping[int, ProcessSamples] | None = None,
) -> dict[int, ProcessSamples]:
    """Sort the blocks' visits by process and entry and cut the warm-up, the same for all entries of a process.

    Processes that are in the cache are taken from there.
    """
    blocks_of: dict[int, list[TimedBlock]] = {}
    for block in blocks:
        blocks_of.setdefault(block.process, []).append(block)
    arranged = {}
    for process, process_blocks in blocks_of.items():
        if cache and process in cache:
            arranged[process] = cache[process]
        else:
            arranged[process] = _arrange_process(entries, process_blocks)
    return arranged


def _arrange_process(entries: int, blocks: Sequence[TimedBlock]) -> ProcessSamples:
    orders = np.concatenate([block.orders for block in blocks])
    times_ns = np.concatenate([_ns_per_call(block) for block in blocks])
    times = times_ns * 1e-9
    visits: list[np.ndarray] = []  # per entry: rounds x visits in a round
    for entry in range(entries):
        entry_times = times[orders == entry]
        visits.append(entry_times.reshape(len(orders), -1))
    rounds = [_geometric_means(times) for times in visits]
    states = [steady_state(means) for means in rounds]
    # A series that never settles is kept whole and said to be so: there is no good place to cut it.
    settled = [state for state in states if state.kind != "none"]
    cut = max((state.start for state in settled), default=0)
    return ProcessSamples(
        seconds=[times[cut:].ravel() for times in visits],
        rounds=[means[cut:] for means in rounds],
        states=states,
        cut=cut,
        discarded=[times[:cut].ravel() for times in visits],
    )


def _geometric_means(times: np.ndarray) -> np.ndarray:
    return np.exp(np.log(times).mean(axis=1))


def _ns_per_call(block: TimedBlock) -> np.ndarray:
    """The time of every visit of a block, by round and place in the round."""
    calls = np.asarray(block.calls)
    orders = np.asarray(block.orders)
    times = np.asarray(block.ns, float)
    return times / calls[orders]
