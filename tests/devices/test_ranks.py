"""Ranks with tensors on devices: gradients are summed where they are; what cannot be is refused or counted."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deep500.cli import main

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


@pytest.mark.slow
def test_ranks_train_on_the_device_to_the_bits_of_the_cpu(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    weights = {}
    for device in ("cpu", "sim"):
        words = ["run", "digits_mlp", "--tier", "tiny", "--seeds", "1", "--ranks", "2"]
        words += ["--transport", "torch", "--device", device]
        assert main([*words, "--out", str(tmp_path / device)]) in (0, 1)
        shown = capsys.readouterr().out
        weights[device] = (tmp_path / device / "weights-0.safetensors").read_bytes()
    assert weights["sim"] == weights["cpu"]
    assert "summed in the memory of the devices" in shown


@pytest.mark.slow
def test_what_a_codec_copies_to_the_host_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    words = ["run", "digits_mlp", "--tier", "tiny", "--seeds", "1", "--ranks", "2"]
    words += ["--transport", "torch", "--device", "sim", "--codec", "TopK(0.1)"]
    assert main([*words, "--out", str(tmp_path / "run")]) in (0, 1)
    assert "Copies to the host: 1 per step and rank" in capsys.readouterr().out
