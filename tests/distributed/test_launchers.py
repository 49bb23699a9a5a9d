"""Whoever started the ranks: one launcher, and the one of the transport."""

import os
import socket
import subprocess
import sysconfig
from pathlib import Path

import pytest

from deep500.distributed.communication import check_launcher, is_first_process
from deep500.errors import Deep500Error

ROOT = Path(__file__).parents[2]
TORCHRUN = {
    "RANK": "1",
    "WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1",
    "GROUP_WORLD_SIZE": "1",
}
MPIEXEC = {"PMI_RANK": "1", "PMI_SIZE": "2"}


@pytest.mark.parametrize(
    ("transport", "variables"),
    [
        ("torch", TORCHRUN),
        ("mpi", MPIEXEC),
        ("mpi", {}),
        ("torch", {}),
        # a torchrun for each process of mpiexec's, which know of each other
        ("torch", {**MPIEXEC, **TORCHRUN, "GROUP_WORLD_SIZE": "2"}),
        ("torch", {**TORCHRUN, "PMI_RANK": "0", "PMI_SIZE": "1"}),
    ],
)
def test_one_launcher_is_taken(transport: str, variables: dict[str, str]) -> None:
    check_launcher(transport, variables)


@pytest.mark.parametrize(
    ("transport", "variables", "message"),
    [
        ("mpi", TORCHRUN, "started for the transport torch, and mpi is asked for"),
        ("torch", MPIEXEC, "started for the transport mpi, and torch is asked for"),
        (
            "torch",
            {**MPIEXEC, **TORCHRUN},
            "mpiexec has started 2 processes and torchrun ranks in each",
        ),
    ],
)
def test_two_launchers_are_refused(
    transport: str, variables: dict[str, str], message: str
) -> None:
    with pytest.raises(Deep500Error, match=message) as raised:
        check_launcher(transport, variables)
    assert "\n" not in str(raised.value) and "--ranks 1" not in str(raised.value)


def test_one_process_speaks_for_all() -> None:
    assert is_first_process({})
    assert is_first_process({**TORCHRUN, "RANK": "0"})
    assert not is_first_process(TORCHRUN)
    assert not is_first_process({**TORCHRUN, "RANK": "0", "PMI_RANK": "1"})


UNLIKE = """
import numpy as np
import deep500 as d5

ranks = d5.communication()
ranks.reduce_from_neighbors(np.ones(4 + 2 * ranks.rank, np.float32))
"""


def test_unlike_shapes_under_torchrun_are_one_line(tmp_path: Path) -> None:
    """The rank that reports comes to it, and no thread that waits for gloo aborts a process."""
    pytest.importorskip("torch")
    script = tmp_path / "unlike.py"
    script.write_text(UNLIKE)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torchrun = Path(sysconfig.get_path("scripts")) / "torchrun"
    run = subprocess.run(
        [str(torchrun), "--nproc-per-node=2", f"--master-port={port}", str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 1
    ours = [line for line in run.stderr.splitlines() if line.startswith("d5: ")]
    assert len(ours) == 1 and "expects float32" in ours[0], run.stderr
    assert "terminate called" not in run.stderr and "SIGABRT" not in run.stderr
