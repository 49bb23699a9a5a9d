"""Ranks with tensors on devices: gradients are summed where they are; what cannot be is refused or counted."""

import json
import os
import socket
import subprocess
import sys
from typing import Any

from .subjects import ROOT


def test_an_allreduce_stays_on_the_device() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(2):
        variables = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_PORT": str(port)}
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.devices.ranks_on_the_device"],
            cwd=ROOT,
            env=os.environ | variables | {"MASTER_ADDR": "127.0.0.1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
    outputs = [process.communicate(timeout=300) for process in processes]
    facts: dict[str, Any] = json.loads(outputs[0][0] or outputs[0][1])
    assert facts["sum"] == [4.0] * 4
    assert facts["refused"].startswith(
        "RecvAny takes a NumPy array, and Tensor was given"
    )
    assert "engines such as NCCL have no such step" in facts["refused"]
