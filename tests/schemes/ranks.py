"""One rank of many short training runs on a real transport: python -m tests.schemes.ranks TRANSPORT FOLDER SCHEME…

Trained parameters go to the folder, a file for each rank and scheme: ranks share their standard output.
"""

import sys
from pathlib import Path

from deep500.definition_text import scheme_of
from deep500.distributed.communication import process_transport
from tests.distributed.training import distributed


def main() -> None:
    transport = process_transport(sys.argv[1], 60.0)
    [rank] = transport.ranks
    folder = Path(sys.argv[2])
    for number, text in enumerate(sys.argv[3:]):
        run = distributed(scheme_of(text), transport=transport)
        run.run()
        bits = b"".join(value.tobytes() for value in run.executor.arrays().values())
        (folder / f"{rank}-{number}").write_bytes(bits)
    transport.close()


if __name__ == "__main__":
    main()
