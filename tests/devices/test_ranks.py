"""Ranks with tensors on devices: gradients are summed where they are; what cannot be is refused or counted."""

import json
from pathlib import Path

import pytest

from deep500.cli import main
from deep500.contracts.transport import AllReduce, Program, Wait
from deep500.distributed.launching import launch, python_command
from deep500.errors import Unsupported
from deep500.testing import simulated_device
from deep500.transports.virtual import Virtual

from .subjects import ROOT


def test_an_allreduce_stays_on_the_device() -> None:
    command = python_command("-m", "tests.devices.ranks_on_the_device")
    environment = {"PYTHONPATH": str(ROOT)}
    done = launch(command, 2, "torch", capture=True, env=environment)
    assert done.code == 0, done.output
    [line] = [text for text in done.output.splitlines() if text.startswith("{")]
    facts = json.loads(line)
    assert facts["sum"] == [4.0] * 4
    assert facts["refused"].startswith("RecvAny takes a NumPy array, and Tensor was")
    assert "engines such as NCCL have no such step" in facts["refused"]


def test_virtual_ranks_refuse_tensors_on_devices() -> None:
    import torch

    simulated_device.load()

    def program(rank: int) -> Program:
        handle = yield AllReduce(torch.zeros(4, device="sim"))
        yield Wait([handle])

    with pytest.raises(Unsupported, match="virtual ranks sum arrays in the host's"):
        Virtual(2).run(program)


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
