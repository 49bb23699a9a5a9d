"""What is particular to TensorFlow: graphs, live variables, threads, a quiet import."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.contracts.network import Network
from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.networks import Mlp
from deep500.optimizers import Adam

TENSORFLOW = framework("tensorflow")
pytestmark = pytest.mark.skipif(
    not TENSORFLOW.available(), reason="tensorflow is not installed"
)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    TENSORFLOW.set_threads(1)


def batch(size: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.standard_normal((size, 6)).astype("float32"),
        "label": rng.integers(0, 3, size),
    }


def executor() -> Any:
    return TENSORFLOW.executor(Mlp((5,)).build((6,), 3))


def test_one_graph_for_every_size_of_the_batch() -> None:
    step = executor().training_step(Adam())
    for size in (4, 3, 4, 4, 3):
        step(batch(size))
    ((program, _),) = step.programs.values()
    assert len(program._graphs) == 2


def test_parameters_are_live_variables() -> None:
    network = executor()
    before, start = dict(network.params), network.arrays()
    network.training_step(Adam())(batch())
    assert all(network.params[name] is variable for name, variable in before.items())
    assert not np.array_equal(network.params["fc1.weight"].numpy(), start["fc1.weight"])
    network.load(start)
    assert np.array_equal(before["fc1.weight"].numpy(), start["fc1.weight"])


def test_control_flow_in_a_graph() -> None:
    """A scan and a condition give the same whether computed at once or traced."""
    tf, xp = TENSORFLOW.module, TENSORFLOW.xp
    x = TENSORFLOW.tensor(np.arange(8, dtype="float32").reshape(4, 2))

    def f(x: Any) -> Any:
        carry, (rows,) = xp.scan(
            lambda c, row: ((c[0] + row[0],), (c[0] * row[0],)), (x[0],), (x,), 4
        )
        return (
            carry[0],
            rows,
            xp.cond(xp.sum(x) > 0, lambda v: v + 1, lambda v: v * 2, x),
        )

    for now, later in zip(f(x), tf.function(f, autograph=False)(x), strict=True):
        assert np.array_equal(now, later)


def test_threads_are_set_once() -> None:
    TENSORFLOW.set_threads(1)
    TENSORFLOW.tensor([1.0])
    with pytest.raises(Unsupported, match="ask for 2 before anything is computed"):
        TENSORFLOW.set_threads(2)


@pytest.mark.parametrize(("told", "refused"), [("", "2"), ("1", "1")])
def test_threads_are_those_asked_for(tmp_path: Path, told: str, refused: str) -> None:
    """What is asked for counts, whatever the environment says; a second number is refused, even that of the latter."""
    asked = "1" if not told else "2"
    code = (
        f"from deep500.frameworks import framework; fw = framework('tensorflow'); fw.set_threads({asked}); "
        f"fw.tensor([1.0]); fw.set_threads({asked}); threading = fw.module.config.threading\n"
        f"print(threading.get_intra_op_parallelism_threads(), threading.get_inter_op_parallelism_threads())\n"
        f"fw.set_threads({refused})"
    )
    names = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    env = {k: v for k, v in os.environ.items() if k not in names} | (
        dict.fromkeys(names, told) if told else {}
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == f"{asked} {asked}\n", done.stderr
    assert (
        done.returncode
        and f"ask for {refused} before anything is computed" in done.stderr
    )


@pytest.mark.slow
def test_its_import_is_quiet(tmp_path: Path) -> None:
    code = (
        "from deep500.frameworks import framework; fw = framework('tensorflow'); "
        "print(fw.array(fw.tensor([1.0]) + 1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[2.]\n", "")


def test_only_the_notes_of_its_import_are_left_out(capfd: Any) -> None:
    from deep500.frameworks.tensorflow.quiet_import import without_notes

    with pytest.raises(KeyError), without_notes():
        os.write(
            2, b"I0000 00:00:1.5  3 port.cc:153] oneDNN custom operations are on.\n"
        )
        os.write(2, b"an error of somebody else\n")
        raise KeyError
    assert capfd.readouterr().err == "an error of somebody else\n"


@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (0, 0, 0, 0), (1, 0, 2, 1)])
def test_channels_may_stay_last_between_kernels(pads: tuple[int, ...]) -> None:
    """A convolution, its activation and a pool hand over channels last; an Add and a Flatten want them second."""
    rng = np.random.default_rng(0)
    network = Network("channels")
    network.add_input("x", (0, 2, 6, 7))
    network.add_param("w", rng.standard_normal((3, 2, 3, 3)).astype("float32"))
    network.add_param("v", rng.standard_normal((3, 3, 1, 1)).astype("float32"))
    conv = network.add_node("Conv", ("x", "w"), kernel_shape=(3, 3), pads=pads)
    active = network.add_node("Tanh", (conv,))
    again = network.add_node("Conv", (active, "v"), kernel_shape=(1, 1))
    both = network.add_node("Add", (again, active))
    pooled = network.add_node(
        "AveragePool", (both,), kernel_shape=(2, 2), pads=(1, 0, 0, 1)
    )
    flat = network.add_node("Flatten", (network.add_node("Relu", (pooled,)),))
    network.add_output(network.add_node("ReduceMean", (flat,), ["loss"], keepdims=0))
    batch = {"x": rng.standard_normal((4, 2, 6, 7)).astype("float32")}
    results = {}
    for name in ("tensorflow", "reference"):
        executor = framework(name).executor(network)
        outputs = executor.inference_and_backprop(batch)
        arrays = {**executor.gradients, "loss": outputs["loss"]}
        results[name] = {
            key: executor.framework.array(value) for key, value in arrays.items()
        }
    for key, value in results["reference"].items():
        np.testing.assert_allclose(
            results["tensorflow"][key], value, rtol=1e-4, atol=1e-6
        )
