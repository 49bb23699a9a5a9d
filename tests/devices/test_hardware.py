"""The suite for an owner of a GPU (`make test-gpu`): PyTorch on its accelerator, or on the device in $DEEP500_DEVICE.

What the simulated device cannot show is looked at here: real rounding, real kernels, real clocks. DEEP500_DEVICE=sim
tries the suite itself.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import deep500 as d5
from deep500 import registry
from deep500.check.operators.array_checks import output_check
from deep500.check.operators.examples import examples_of
from deep500.cli import main
from deep500.contracts.device import SIMULATED
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.measure.clock import calibrate
from deep500.measure.device_agreement import check_clocks_agree
from deep500.measure.plan import PlanEntry
from deep500.measure.session import Session
from deep500.networks._architecture import Architecture

from . import cheats
from .test_cheats import BY_TRIAL, block_of, trial_on
from .test_pytorch import architectures, batch, same_bits, tiny

ASKED = os.environ.get("DEEP500_DEVICE", "gpu")
HOST = framework("pytorch")
FILE = Path(__file__).with_name("cheats.py")
CLOSE = 2e-3  # relative: kernels of a device round otherwise, and may use TF32


def has_device() -> bool:
    is_simulated = ASKED.partition(":")[0] == SIMULATED
    return is_simulated or torch.accelerator.is_available()


pytestmark = [
    pytest.mark.skipif(
        not has_device(),
        reason="PyTorch finds no accelerator on this machine; DEEP500_DEVICE=sim tries the suite on a simulated one",
    ),
]


@pytest.fixture(scope="module")
def device() -> Any:
    return HOST.on(ASKED)


@pytest.mark.parametrize("name", sorted(registry.known("operators")))
def test_every_case_of_an_operator_is_within_its_bounds(name: str, device: Any) -> None:
    for example in examples_of(registry.find("operators", name)):
        key = (3, 4) if example.operator.random else None
        try:
            outputs = device.evaluate(example.operator, example.inputs, key=key)
        except Unsupported:
            continue
        if key is None:
            assert output_check(example, outputs).ok is not False, example.name
        else:
            right = HOST.evaluate(example.operator, example.inputs, key=key)
            assert all(map(np.allclose, outputs, right))


@pytest.mark.parametrize("kind", architectures(), ids=lambda kind: kind.__name__)
def test_a_network_trains_as_on_the_cpu(kind: type[Architecture], device: Any) -> None:
    losses = []
    for fw in (HOST, device):
        net = tiny(kind)
        step = fw.executor(net, seed=5).training_step(d5.optimizers.SGD(0.01))
        values = [step(batch(net, i))["loss"] for i in range(3)]
        losses.append([float(fw.array(value)) for value in values])
    right, found = losses
    assert np.allclose(found, right, rtol=CLOSE)


@pytest.mark.parametrize("name", ["DigitsCnn", "ResNet", "GPT"])
def test_a_step_makes_nothing_wait(name: str, device: Any) -> None:
    net = tiny(registry.find("networks", name))
    step = device.executor(net, seed=5).training_step(d5.optimizers.Adam())
    step(batch(net))
    with device.probe().transfers() as seen:
        step(batch(net, 1))
    if seen is None:
        pytest.skip(f"{device.word} does not tell what waits")
    assert seen.waits == {} and seen.copies_to_host == 0


def test_the_reported_buckets_are_those_that_are_loaded(device: Any) -> None:
    executor = device.executor(tiny(d5.networks.DigitsCnn))
    step = executor.training_step(d5.optimizers.SGD(0.1))
    before = executor.arrays()

    def clear(part: np.ndarray) -> None:
        part[:] = 0

    rows = batch(tiny(d5.networks.DigitsCnn))
    _, buffers = step.backprop_in_buckets(rows, executor.layout.buckets(256), clear)
    executor.load_flat_gradients(buffers)
    step.update()
    assert same_bits(before, executor.arrays())  # with other memory they would differ


def test_peaks_of_memory_are_those_of_the_allocator(device: Any) -> None:
    try:
        with device.allocations() as seen:
            seen.mark()
            x = device.tensor(np.ones(1 << 20, "float32"))
            _ = x + x
    except Deep500Error as error:
        pytest.skip(str(error))
    assert 8 << 20 <= seen.peak < 16 << 20


def matmul_job(device: Any) -> Any:
    from deep500.bench.operators.jobs import OperatorJob

    size = "1024x1024"
    shape = f"{size},{size}"
    return OperatorJob(
        "MatMul", {}, shape, "float32", device.word, "", "forward", threads=0
    )


def test_both_clocks_agree_for_a_product(device: Any) -> None:
    session = Session([PlanEntry("product", matmul_job(device), {})], calibrate())
    calls = session.calibrate()
    visits = session.block(calls, [[0]] * 20)
    check_clocks_agree(["product"], [block_of(visits)])
    assert min(map(min, visits.device_ns)) > 0
    session.finish()


@pytest.mark.parametrize("name", cheats.HONEST)
def test_no_honest_function_is_accused(name: str, device: Any) -> None:
    assert list(trial_on(device, cheats.HONEST[name]).faults()) == []


# a race with another stream may be won on real hardware; the two clocks find that one
SEEN_WITHOUT_A_CLOCK = [cheat for cheat in BY_TRIAL if cheat is not cheats.other_stream]


@pytest.mark.parametrize(
    "cheat", SEEN_WITHOUT_A_CLOCK, ids=lambda cheat: cheat.__name__
)
def test_cheats_are_found(cheat: Callable[..., Any], device: Any) -> None:
    cheats.memory.clear()
    assert list(trial_on(device, cheat).faults())


def test_the_commands_run(device: Any, tmp_path: Path) -> None:
    words = ["bench", "operator", "MatMul", "--shape", "256x256,256x256"]
    assert main([*words, "--device", ASKED, "--budget", "3"]) == 0
    words = ["run", "digits_mlp", "--tier", "tiny", "--device", ASKED]
    assert main([*words, "--out", str(tmp_path / "run")]) in (0, 1)
    assert main(["verify", str(tmp_path / "run")]) == 0
