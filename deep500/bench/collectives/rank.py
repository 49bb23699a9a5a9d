"""One rank of a launch: python -m deep500.bench.collectives.rank FOLDER, started by a launcher.

Reads what to measure from FOLDER/request.json, and writes what it has measured to FOLDER/rank-0.json, rank-1.json …
"""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...contracts.transport import Transport
from ...distributed.communication import process_transport
from ...measure.sensing.others import allowed_cpus
from ..ranks import rank_process, request_of
from .clocks import clock_offset
from .documents import CollectiveRequest, RankCases
from .rounds import Rounds
from .starts import common_start


def measured(transport: Transport, request: CollectiveRequest) -> RankCases:
    """Measure all cases, together with the other ranks."""
    rounds = Rounds(transport, request.cases, request.calls, request.seed)
    rounds.calibrate()
    offset = clock_offset(transport)
    is_crowded = transport.size > len(allowed_cpus())
    start = common_start(request.start, transport, offset, is_crowded)
    rounds.measure(start, request.seconds)
    later = clock_offset(transport)
    return RankCases(
        library_name(transport),
        start.name,
        start.delay,
        later.ns - offset.ns,
        max(later.bound, offset.bound),
        rounds.rows,
    )


def library_name(transport: Transport) -> str:
    """The library that carries the messages, with its version."""
    if transport.name != "mpi":
        return f"gloo of PyTorch {version('torch')}"
    engine: Any = transport
    text = engine.MPI.Get_library_version().replace("\0", "")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    known = " ".join(line for line in lines[:2] if line)
    return known[:120]


def main() -> None:
    folder = Path(sys.argv[1])
    request = request_of(CollectiveRequest, folder)
    with rank_process(folder) as finish:
        transport = process_transport(request.transport, request.deadline)
        finish(transport, measured(transport, request))


if __name__ == "__main__":
    main()
