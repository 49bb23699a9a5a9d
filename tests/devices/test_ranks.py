"""Ranks with tensors on devices: gradients are summed where they are; what cannot be is refused or counted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deep500.contracts.transport import AllReduce, Program, Wait
from deep500.distributed.launching import launch, python_command
from deep500.errors import Unsupported
from deep500.testing import simulated_device
from deep500.transports.virtual import Virtual

from .subjects import ROOT


@pytest.mark.parametrize("refused", ["RecvAny", "AllGather"])
def test_collectives_stay_on_the_device(refused: str) -> None:
    command = python_command("-m", "tests.devices.ranks_on_the_device", refused)
    environment = {"PYTHONPATH": str(ROOT)}
    done = launch(command, 2, "torch", capture=True, env=environment)
    assert done.code == 0, done.output
    [line] = [text for text in done.output.splitlines() if text.startswith("{")]
    facts = json.loads(line)
    assert facts["sum"] == [4.0] * 4
    assert facts["gathered"] == [[0.0, 0.0], [1.0, 1.0]]
    assert facts["refused"].startswith(f"{refused} takes a NumPy array, and Tensor was")
    assert "engines such as NCCL have no such step" in facts["refused"]


def test_virtual_ranks_refuse_tensors_on_devices() -> None:
    import torch

    simulated_device.load()

    def program(rank: int) -> Program:
        handle = yield AllReduce(torch.zeros(4, device="sim"))
        yield Wait([handle])

    with pytest.raises(Unsupported, match="virtual ranks sum arrays in the host's"):
        Virtual(2).run(program)


def shown_of_ranks(folder: Path, device: str, *words: str) -> str:
    """What `d5 run` with two ranks on a device shows; a process of its own, since it starts itself for each rank."""
    command = [sys.executable, "-m", "deep500.cli", "run", "digits_mlp", *words]
    command += ["--tier", "tiny", "--seeds", "1", "--ranks", "2", "--transport"]
    command += ["torch", "--device", device, "--out", str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=600
    )
    assert done.returncode in (0, 1), done.stderr[-2000:]
    return done.stdout


WAYS = (
    (),
    ("--codec", "Float16"),
    ("--codec", "TopK(0.1)"),
    ("--codec", "QSGD(bits=4)"),
    ("--scheme", "LocalSGD(period=2, synchronous_steps=3)"),
)


@pytest.mark.slow
@pytest.mark.parametrize("words", WAYS, ids=lambda words: words[-1] if words else "")
def test_ranks_train_on_the_device_to_the_bits_of_the_cpu(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    shown_of_ranks(tmp_path / "cpu", "cpu", *words)
    shown = shown_of_ranks(tmp_path / "sim", "sim", *words)
    cpu, sim = (tmp_path / name / "weights-0.safetensors" for name in ("cpu", "sim"))
    assert sim.read_bytes() == cpu.read_bytes()
    assert "summed in the memory of the devices" in shown


@pytest.mark.slow
def test_what_a_codec_copies_to_the_host_is_told(tmp_path: Path) -> None:
    shown = shown_of_ranks(tmp_path / "run", "sim", "--codec", "Sign")
    assert "Copies to the host: 1 per step and rank" in shown
