"""What is particular to JAX: compilation, memory that is handed on, 64-bit types, threads."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.networks import Mlp
from deep500.optimizers import Adam

JAX = framework("jax")
pytestmark = pytest.mark.skipif(not JAX.available(), reason="jax is not installed")


@pytest.fixture(autouse=True)
def one_thread() -> None:
    JAX.set_threads(1)


def batch(size: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.standard_normal((size, 6)).astype("float32"),
        "label": rng.integers(0, 3, size),
    }


def executor() -> Any:
    return JAX.executor(Mlp((5,)).build((6,), 3))


def test_one_compilation_for_every_size_of_the_batch() -> None:
    step = executor().training_step(Adam())
    for size in (4, 3, 4, 4, 3):
        step(batch(size))
    ((program, _),) = step.programs.values()
    assert program._cache_size() == 2


def test_a_step_takes_over_the_memory_of_what_it_changes() -> None:
    network = executor()
    step = network.training_step(Adam())
    step(batch())
    old, states = network.params, step.states
    step(batch())
    assert all(
        value.is_deleted() for value in (*old.values(), *states["fc1.weight"].values())
    )
    assert not any(value.is_deleted() for value in network.params.values())


def test_everything_stays_float32() -> None:
    network = executor()
    step = network.training_step(Adam())
    outputs = step(batch()) | network.inference_and_backprop(batch())
    values = [
        *outputs.values(),
        *network.gradients.values(),
        *network.params.values(),
        *step.state().values(),
    ]
    assert {str(value.dtype) for value in values} == {"float32"}
    assert (
        JAX.tensor([1.0, 2.0], "float32").dtype == "float32"
        and JAX.tensor(np.zeros(2)).dtype == "float64"
    )


def test_an_operator_is_compiled_once_per_shape() -> None:
    from deep500.contracts.framework import cache_key
    from deep500.frameworks.jax import _program
    from deep500.operators import Reshape, Softmax

    x = np.ones((2, 3), "float32")
    for values in (x, x + 1, x[:1]):
        assert np.allclose(JAX.evaluate(Softmax(), [values])[0], 1 / 3)
    program = _program(JAX, Softmax(), "native", (), 0, cache_key(Softmax(), []))
    assert program._cache_size() == 2  # type: ignore[attr-defined]
    assert (
        JAX.evaluate(Reshape(), [x, [3, 2]])[0].shape
        == JAX.evaluate(Reshape(), [x, (3, -1)])[0].shape
        == (3, 2)
    )


def test_threads_are_set_once(tmp_path: Path) -> None:
    JAX.set_threads(1)
    with pytest.raises(Unsupported, match="ask for 2 before anything is computed"):
        JAX.set_threads(2)
    code = (
        "import os; os.environ.pop('PJRT_NPROC', None); from deep500.frameworks import framework; "
        "fw = framework('jax'); fw.set_threads(COUNT); "
        "fw.tensor([1.0]) + 1; assert 'PJRT_NPROC' not in os.environ; print(len(os.listdir('/proc/self/task')))"
    )
    counts = [
        int(python(code.replace("COUNT", count), tmp_path)) for count in ("1", "5")
    ]
    assert counts[1] - counts[0] >= 4


def python(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout
