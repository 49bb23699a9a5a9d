"""One rank: python -m deep500.bench.reductions.rank FOLDER, started by an MPI launcher.

For every message of the process that measures, a rank computes as many sums as it was started for, with the others;
when that process is gone, it ends.
"""

import json
import sys
from contextlib import suppress
from multiprocessing.connection import Client
from pathlib import Path

from ...contracts.transport import Program
from ...distributed.communication import process_transport
from .sums import global_sum, rank_numbers

REQUEST = "sums.json"
DEADLINE = 600.0  # seconds between two visits


def main() -> None:
    request = json.loads((Path(sys.argv[1]) / REQUEST).read_text())
    transport = process_transport("mpi", DEADLINE)
    [rank] = transport.ranks
    length, repeats = request["length"], request["repeats"]
    values = rank_numbers(length, request["dtype"], rank)

    def visit(_: int) -> Program:
        total = 0.0
        for _ in range(repeats):
            total = yield from global_sum(request["algorithm"], values, rank * length)
        return total

    connection = Client(request["address"], authkey=bytes.fromhex(request["key"]))
    # a rank that waits for a message sleeps, while one that waits in MPI takes a CPU
    with suppress(EOFError):
        while True:
            connection.recv_bytes()
            total = transport.run(visit)[rank]
            connection.send_bytes(total.hex().encode())
    transport.close()


if __name__ == "__main__":
    main()
