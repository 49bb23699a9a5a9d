"""Training by kernels with fixed bits: one hash for ranks, frameworks and instruction sets, and right gradients."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.leaves import Leaves
from deep500.errors import Deep500Error, Deep500Warning, Unsupported
from deep500.fixed.library import CHOICE, available_sets
from deep500.fixed.network import FixedNetwork
from deep500.fixed.rules import RULES
from deep500.fixed.rules.dense import GemmRule
from deep500.training import fixed_step
from deep500.training.fixed_step import FixedStep
from deep500.training.leaf_step import LeafStep
from deep500.training.steps import training_step

from . import fixed_hash
from .fixed_hash import weights_hash

SHIPPED = ["mlp", "lenet", "alexnet", "vgg", "resnet", "wide_resnet", "gpt"]
NAMES = ["mlp", "cnn", "cnn with batch norm", "gpt"]
# variables by which libraries and our kernels choose instructions
SETTINGS = {
    "AVX2 in oneDNN": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    "AVX2 in ATen": {"ATEN_CPU_CAPABILITY": "avx2"},
    "SSE in ATen": {"ATEN_CPU_CAPABILITY": "default"},
    "AVX2 in MKL": {"MKL_CBWR": "AVX2"},
    "the same everywhere in MKL": {"MKL_CBWR": "COMPATIBLE"},
    "Nehalem in OpenBLAS": {"OPENBLAS_CORETYPE": "Nehalem"},
    "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX"},
    "the C library without FMA": {
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"
    },
    "our kernels without vectors": {CHOICE: "baseline"},
    "two threads": {"OMP_NUM_THREADS": "2"},
}


def hash_elsewhere(where: str, variables: dict[str, str], names: list[str]) -> str:
    command = [sys.executable, "-W", "ignore", str(Path(fixed_hash.__file__)), where]
    done = subprocess.run(
        [*command, *names],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_one_hash_for_frameworks_and_sets(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = weights_hash(name, "pytorch")
    assert weights_hash(name, "reference", threads=2) == expected
    for instructions in available_sets():
        monkeypatch.setenv(CHOICE, instructions)
        assert weights_hash(name, "reference") == expected, instructions


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(name, marks=[] if name == "SSE in ATen" else pytest.mark.slow)
        for name in SETTINGS
    ],
)
def test_one_hash_for_smaller_instruction_sets(setting: str) -> None:
    expected = " ".join(weights_hash(name, "pytorch") for name in NAMES)
    variables = SETTINGS[setting]
    is_numpy = any(name.startswith(("OPENBLAS", "NPY")) for name in variables)
    where = "reference" if is_numpy else "pytorch"
    assert hash_elsewhere(where, variables, NAMES).strip() == expected


@pytest.mark.slow
def test_the_frameworks_own_kernels_have_other_bits_there() -> None:
    """What the test above would find."""
    code = "from fixed_hash import weights_hash as h; print(h('mlp', 'pytorch', 'framework'))"
    hashes = set()
    for variables in ({}, SETTINGS["SSE in ATen"]):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True,
            text=True,
            cwd=Path(fixed_hash.__file__).parent,
            env={**os.environ, **variables},
        )
        assert done.returncode == 0, done.stderr
        hashes.add(done.stdout)
    assert len(hashes) == 2


def executor_of(network: Any, kernels: str = "", framework: str = "pytorch") -> Any:
    executor = d5.framework(framework).executor(network, seed=3)
    executor.leaves = Leaves(16, 40, kernels)
    return executor


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_framework(name: str) -> None:
    network, [batch, *_] = fixed_hash.network_and_batches(name)
    gradients = []
    for leaves in (True, False):
        executor = executor_of(network)
        if not leaves:
            executor.leaves = None
        inputs = {n: batch[n] for n in executor.structure.inputs if n in batch}
        inputs |= {
            n: batch["target"]
            for n in executor.structure.inputs
            if n not in batch and not n.startswith("deep500:")
        }
        step = training_step(executor, d5.optimizers.SGD(0.1), "loss")
        assert isinstance(step, FixedStep) == leaves
        outputs = step.backprop(inputs)
        flat = {k: np.array(v) for k, v in executor.flat_gradients().views().items()}
        array = executor.framework.array
        gradients.append(flat | {n: array(v) for n, v in outputs.items()})
    mine, theirs = gradients
    assert mine.keys() == theirs.keys()
    for key, value in theirs.items():
        # the gradient of a bias before a normalisation is 0 but for rounding
        scale = max(np.abs(value).max(), 0.05)
        assert np.abs(mine[key] - value).max() < 1e-5 * scale, key


def one_sum(network: Any, parts: list[slice], batch: dict[str, Any]) -> bytes:
    """The gradients of some examples of a batch as ranks would compute them."""
    executor = executor_of(network)
    step = FixedStep(executor, d5.optimizers.SGD(0.1), executor.leaves, "loss")
    rows = fixed_hash.ROWS
    shares = []
    for part in parts:
        own = {name: value[part] for name, value in batch.items()}
        size = part.stop - part.start
        shares.append(fixed_step.Share(own, size, part.start, rows))
    programs = [step._gradients(share, fixed_step._exchange) for share in shares]
    totals = [done[0]["float32"] for done in fixed_step.in_lockstep(programs)]
    return sum(totals).tobytes()


PARTS = {
    "one": [slice(0, 48)],
    "two": [slice(0, 16), slice(16, 48)],
    "three": [slice(0, 16), slice(16, 32), slice(32, 48)],
    "one without examples": [slice(0, 32), slice(32, 48), slice(48, 48)],
}


@pytest.mark.parametrize("name", ["mlp", "cnn with batch norm"])
def test_ranks_add_to_the_same_whole_numbers(name: str) -> None:
    network, [batch, *_] = fixed_hash.network_and_batches(name)
    sums = {one_sum(network, parts, batch) for parts in PARTS.values()}
    assert len(sums) == 1


def test_a_rule_that_depends_on_the_rows_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted error: a mean of the activations that are there is taken out."""
    real = GemmRule.forward

    def centred(self: GemmRule, run: Any, place: Any, inputs: Any) -> Any:
        x, *rest = inputs
        return real(self, run, place, [x - x.mean(axis=0), *rest])

    monkeypatch.setattr(GemmRule, "forward", centred)
    network, [batch, *_] = fixed_hash.network_and_batches("mlp")
    assert one_sum(network, PARTS["one"], batch) != one_sum(
        network, PARTS["two"], batch
    )
    executor = executor_of(network)
    step = training_step(executor, d5.optimizers.SGD(0.1), "loss")
    with pytest.raises(Unsupported, match="mixes examples of a batch"):
        step(batch)


def test_an_operator_without_a_kernel_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network, _ = fixed_hash.network_and_batches("mlp")
    monkeypatch.delitem(RULES, "Relu")
    sgd = d5.optimizers.SGD(0.1)
    with pytest.warns(
        Deep500Warning, match=r"on this kind of processor only: Relu \(no"
    ):
        step = training_step(executor_of(network), sgd, "loss")
    assert isinstance(step, LeafStep)
    with pytest.raises(Unsupported, match=r"on every processor: Relu .*no kernel"):
        training_step(executor_of(network, "fixed"), sgd, "loss")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step = training_step(executor_of(network, "framework"), sgd, "loss")
    assert isinstance(step, LeafStep)


@pytest.mark.parametrize(
    ("optimizer", "reason"),
    [
        (d5.optimizers.Muon(0.01), "the formula of Muon"),
        (d5.optimizers.SGD(d5.schedules.Cosine(0.1, 10)), "cos has no kernel"),
    ],
)
def test_an_optimizer_without_kernels_is_named(optimizer: Any, reason: str) -> None:
    network, _ = fixed_hash.network_and_batches("mlp")
    with pytest.raises(Unsupported, match=reason):
        training_step(executor_of(network, "fixed"), optimizer, "loss")


OPTIMIZERS = ["Adam", "AdamW", "Momentum", "RMSProp", "AdaGrad", "Lion", "LAMB"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_are_those_of_the_reference(name: str) -> None:
    network, [batch, *_] = fixed_hash.network_and_batches("mlp")
    arrays = []
    for leaves in (True, False):
        executor = executor_of(network, framework="reference")
        if not leaves:
            executor.leaves = None
        optimizer = getattr(d5.optimizers, name)(0.01)
        step = training_step(executor, optimizer, "loss")
        for _ in range(2):
            step(batch)
        arrays.append(executor.arrays())
    for key, value in arrays[1].items():
        # a gradient near 0 may be rounded to the other sign, which is a whole step
        off = np.abs(arrays[0][key] - value) > 1e-5
        assert off.mean() < 0.01, key


@pytest.mark.parametrize("name", ["cnn with batch norm"])
def test_resuming_gives_the_same_bits(name: str) -> None:
    network, batches = fixed_hash.network_and_batches(name)
    arrays = []
    for is_resumed in (False, True):
        executor = executor_of(network)
        optimizer = d5.optimizers.Adam(0.01)
        step = training_step(executor, optimizer, "loss")
        step(batches[0])
        if is_resumed:
            before, state = executor.arrays(), step.state()
            executor = executor_of(network)
            step = training_step(executor, optimizer, "loss")
            executor.load(before)
            step.load_state(state)
        step(batches[1])
        arrays.append(executor.arrays())
    for key, value in arrays[0].items():
        assert value.tobytes() == arrays[1][key].tobytes(), key


def test_a_number_beyond_the_range_is_named() -> None:
    network, [batch, *_] = fixed_hash.network_and_batches("mlp")
    executor = executor_of(network)
    step = training_step(executor, d5.optimizers.SGD(0.1), "loss")
    name, *_ = executor.structure.trainable
    executor.write(name, 1e7 * executor.arrays()[name])
    with pytest.raises(Deep500Error, match="has .* bits or fewer"):
        step.backprop(batch)
    executor.write(name, np.full(executor.spec(name).shape, np.nan, "f4"))
    with pytest.raises(Deep500Error, match="not finite.*has diverged"):
        step.backprop(batch)


@pytest.mark.parametrize("model", SHIPPED)
def test_shipped_networks_have_kernels(model: str) -> None:
    network = d5.networks.create(model, seed=None)
    FixedNetwork(network, "loss")
