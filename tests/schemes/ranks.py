"""One rank of many short training runs on a real transport: python -m tests.schemes.ranks TRANSPORT SCHEME…"""

import sys

from deep500.contracts.definition_text import scheme_of
from deep500.distributed.communication import process_transport
from tests.distributed.training import distributed


def main() -> None:
    transport = process_transport(sys.argv[1], 30.0)
    [rank] = transport.ranks
    for text in sys.argv[2:]:
        run = distributed(scheme_of(text), transport=transport)
        run.run()
        bits = b"".join(value.tobytes() for value in run.executor.arrays().values())
        print("trained", rank, text.replace(" ", ""), bits.hex(), flush=True)
    transport.close()


if __name__ == "__main__":
    main()
