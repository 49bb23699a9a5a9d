"""One rank of short runs by every scheme, with planted sleeps: python -m tests.distributed.clock_ranks TRANSPORT

For every scheme and place of the sleep, a line of JSON: what was planted, what the steps' records add up to, and how
long the epoch took by a clock around it.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from deep500 import registry
from deep500.contracts.scheme import Scheme
from deep500.contracts.transport import Transport
from deep500.distributed.communication import process_transport
from deep500.distributed.replica import Replica

from .training import distributed

SLEEP = 0.02
BEFORE = ("backprop", "backprop_in_buckets", "whole_step")
AFTER = ("update", "skip_update", "whole_step")
PLACES = ("before", "between", "after")


def schemes() -> dict[str, Scheme]:
    """Every scheme of the registry with its defaults."""
    return {
        name: registry.find("schemes", name)() for name in registry.known("schemes")
    }


class Sleeper:
    """Sleeps once a step, before or after the methods that mark a place in it."""

    def __init__(self, replica: Replica, place: str):
        self.replica = replica
        self.planted = 0.0
        self.step = -1
        for name in {"before": BEFORE, "between": BEFORE, "after": AFTER}[place]:
            setattr(replica, name, self._sleeping(getattr(replica, name), place))

    def _sleeping(self, method: Callable, place: str) -> Callable:
        def sleeping(*args: Any) -> Any:
            if place == "before":
                self._sleep()
            result = method(*args)
            if place != "before":
                self._sleep()
            return result

        return sleeping

    def _sleep(self) -> None:
        time.sleep(SLEEP)
        self.planted += SLEEP


def timed_run(scheme: Scheme, transport: Transport, place: str) -> dict[str, Any]:
    """One epoch; the last rank that trains sleeps in every step."""
    run = distributed(scheme, transport=transport, epochs=1)
    [rank] = transport.ranks
    replica = run.replicas[rank]
    clock: dict[str, float] = {}
    begin, end = replica.begin_epoch, replica.end_epoch

    def begin_epoch(shards: Any) -> None:
        clock["begin"] = time.perf_counter()
        begin(shards)

    def end_epoch() -> None:
        end()
        clock["end"] = time.perf_counter()

    replica.begin_epoch = begin_epoch
    replica.end_epoch = end_epoch
    sleeper = Sleeper(replica, place) if rank == run.trainers[-1] else None
    history = run.run()
    return {
        "rank": rank,
        "planted": sleeper.planted if sleeper else 0.0,
        "seconds": history.series[f"seconds of rank {rank}"],
        "waiting": history.series[f"waiting of rank {rank}"],
        "slowest": history.step_seconds,
        "elapsed": clock["end"] - clock["begin"],
    }


def main() -> None:
    transport = process_transport(sys.argv[1], 60.0)
    for name, scheme in schemes().items():
        for place in PLACES:
            line = json.dumps([name, place, timed_run(scheme, transport, place)])
            os.write(1, f"{line}\n".encode())  # at once: ranks share this output
    transport.close()


if __name__ == "__main__":
    main()
