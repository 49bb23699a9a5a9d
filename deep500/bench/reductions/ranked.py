"""Ranks that compute sums on demand, for the process that measures."""

import json
import secrets
import threading
from multiprocessing.connection import Listener
from pathlib import Path
from tempfile import TemporaryDirectory

from ...distributed.launching import launch, python_command
from ...errors import Deep500Error
from ..ranks import check_launched
from .rank import REQUEST

SECONDS = 60.0  # until all ranks have started


class RankedSums:
    """Ranks over MPI; `sums()` lets all of them compute so many sums, and returns the last one."""

    def __init__(
        self, algorithm: str, ranks: int, length: int, dtype: str, repeats: int
    ):
        self._folder = TemporaryDirectory()
        folder = Path(self._folder.name)
        key = secrets.token_bytes(16)
        address = str(folder / "socket")
        request = {
            "algorithm": algorithm,
            "length": length,
            "dtype": dtype,
            "repeats": repeats,
            "address": address,
            "key": key.hex(),
        }
        (folder / REQUEST).write_text(json.dumps(request))
        listener = Listener(address, authkey=key)
        # a rank that never starts must not be waited for
        listener._listener._socket.settimeout(SECONDS)  # type: ignore[attr-defined]
        self._failure: Deep500Error | None = None
        command = python_command("-m", "deep500.bench.reductions.rank", str(folder))
        thread = threading.Thread(
            target=self._launch, args=(command, ranks), daemon=True
        )
        thread.start()
        try:
            self._connections = [listener.accept() for _ in range(ranks)]
        except TimeoutError:
            raise self._failure or Deep500Error(
                f"{ranks} ranks have not started within {SECONDS:g} s: give fewer --ranks"
            ) from None
        finally:
            listener.close()

    def _launch(self, command: list[str], ranks: int) -> None:
        env = {"OMP_NUM_THREADS": "1"}
        try:
            launched = launch(command, ranks, "mpi", capture=True, env=env)
            check_launched(launched)
        except Deep500Error as error:
            self._failure = error

    def sums(self) -> float:
        for connection in self._connections:
            connection.send_bytes(b"go")
        totals = [connection.recv_bytes().decode() for connection in self._connections]
        return float.fromhex(totals[0])
