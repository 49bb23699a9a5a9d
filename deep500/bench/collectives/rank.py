"""One rank of a launch: python -m deep500.bench.collectives.rank FOLDER, started by a launcher.

Reads what to measure from FOLDER/request.json, and writes what it has measured to FOLDER/rank-0.json, rank-1.json …
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...contracts.transport import Transport
from ...distributed.communication import (
    break_transports,
    launched_rank,
    process_transport,
)
from ...distributed.failures import leave_failure
from ...errors import Deep500Error
from ...measure.sensing.others import allowed_cpus
from ...schema import decoded, encoded
from .clocks import clock_offset
from .documents import REQUEST, RankResult, Request, result_file
from .rounds import Rounds
from .starts import common_start


def measured(transport: Transport, request: Request) -> RankResult:
    """Measure all cases, together with the other ranks."""
    rounds = Rounds(transport, request.cases, request.calls, request.seed)
    rounds.calibrate()
    offset = clock_offset(transport)
    is_crowded = transport.size > len(allowed_cpus())
    start = common_start(request.start, transport, offset, is_crowded)
    rounds.measure(start, request.seconds)
    later = clock_offset(transport)
    return RankResult(
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
    document = json.loads((folder / REQUEST).read_text())
    request = decoded(Request, document, REQUEST)
    try:
        transport = process_transport(request.transport, request.deadline)
        result = measured(transport, request)
        [rank] = transport.ranks
        text = json.dumps(encoded(result))
        result_file(folder, rank).write_text(text)
        transport.close()
    except Deep500Error as error:
        reports = break_transports(error)
        if not leave_failure(launched_rank(), error) and reports:
            raise
        raise SystemExit(2) from None
    except BaseException as error:
        break_transports(error)
        raise


if __name__ == "__main__":
    main()
