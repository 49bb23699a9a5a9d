"""One rank of a training run on a real transport: python -m tests.distributed.ranks TRANSPORT ENGINE [VICTIM STEP HOW]

Trained parameters go to the folder $OUTPUT, a file for each rank: ranks share their standard output. Gradients are
reduced in buckets of $BUCKET_BYTES.
With a victim, that rank is killed (or hangs, or raises an error) at one of its steps.
"""

import os
import signal
import sys
import time
from pathlib import Path

from deep500.contracts.scheme import Worker
from deep500.contracts.transport import Program, RankFailure
from deep500.distributed.communication import process_transport
from deep500.schemes.all_reduce import AllReduce

from .training import distributed, network

DEADLINE = 60.0
SHORT_DEADLINE = 15.0  # where a rank hangs, which is found at the deadline


class Failing(AllReduce):
    """An AllReduce in which one rank fails at one step."""

    victim: int = -1
    at: int = -1
    how: str = "kill"

    def step(self, worker: Worker) -> Program:
        if (worker.rank, worker.step_count) == (self.victim, self.at):
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(1000)
        yield from super().step(worker)


def main() -> None:
    name, engine = sys.argv[1:3]
    hangs = sys.argv[5:] == ["hang"]
    transport = process_transport(name, SHORT_DEADLINE if hangs else DEADLINE)
    bucket_bytes = int(os.environ["BUCKET_BYTES"])
    scheme = AllReduce(bucket_bytes=bucket_bytes)
    if len(sys.argv) > 3:
        victim, at, how = sys.argv[3:]
        scheme = Failing(
            victim=int(victim), at=int(at), how=how, bucket_bytes=bucket_bytes
        )
    run = distributed(
        scheme, engine=engine, transport=transport, make=lambda: network(dropout=True)
    )
    try:
        run.run()
    except RankFailure as failure:
        begun = run.lead.step_count
        print(f"lost {list(failure.ranks)} steps {begun}: {failure}", flush=True)
        raise SystemExit(2) from None
    bits = b"".join(value.tobytes() for value in run.executor.arrays().values())
    [rank] = transport.ranks
    (Path(os.environ["OUTPUT"]) / str(rank)).write_bytes(bits)
    transport.close()


if __name__ == "__main__":
    main()
