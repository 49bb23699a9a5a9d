"""The framework contract on every adapter: names, arrays, kernels, one operator forward and backward."""

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.contracts.framework import Framework
from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import available_frameworks, framework
from deep500.registry import find

NAMES = ["fake", "jax", "onnxruntime", "pytorch", "reference", "tensorflow"]


@pytest.fixture(params=NAMES)
def fw(request: pytest.FixtureRequest) -> Framework:
    if not (found := framework(request.param)).available():
        pytest.skip(f"{request.param} is not installed")
    found.set_threads(1)
    return found


class LeakyRelu(Operator):
    """x where x is positive, alpha * x elsewhere; also with a kernel of its own on one framework."""

    alpha: float = 0.01

    def forward(self, xp, x):
        return xp.where(x > 0, x, self.alpha * x)

    def backward(self, xp: Any, dy: Any, x: Any) -> Any:
        return xp.where(x > 0, dy, self.alpha * dy)

    def fake(self, np: Any, x: Any) -> Any:
        return np.maximum(x, self.alpha * x)


class Affine(Operator):
    """No operator of ONNX: s x + b, with the largest value as a second output and a static power."""

    domain = "test"
    outputs = ("y", "top")

    def forward(
        self, xp, x, s=None, b=None, power: int | None = None
    ):  # a type makes an input static
        y = x ** (power or 1) if s is None else s * x ** (power or 1)
        return (y if b is None else y + b), xp.max(y)

    def backward(
        self, xp: Any, dy: Any, dtop: Any, x: Any, s: Any, power: int | None
    ) -> Any:
        n = power or 1
        dx = n * x ** (n - 1) * dy + dtop
        return (dx if s is None else s * dx), x**n * dy, dy


X = np.array([[-2.0, 1.0, 3.0], [0.5, -1.0, 4.0]], "float32")
LEAKY = np.array([[-0.5, 1.0, 3.0], [0.5, -0.25, 4.0]], "float32")


def test_names_come_from_the_folder() -> None:
    assert set(available_frameworks()) <= set(NAMES)
    assert "reference" in available_frameworks()
    assert framework("reference") is framework("reference")
    for name in NAMES:
        assert framework(name).name == name


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(
        Deep500Error,
        match="no framework is named 'PyTorhc'. Did you mean 'pytorch'. Known: jax, ",
    ):
        framework("PyTorhc")


def python(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_looking_imports_no_framework(tmp_path: Path) -> None:
    look = "import sys; from deep500.frameworks import available_frameworks; available_frameworks()"
    heavy = "{'torch', 'jax', 'tensorflow', 'onnx', 'onnxruntime', 'spox', 'scipy'}"
    assert (
        python(f"{look}; print(sorted({heavy} & set(sys.modules)))", tmp_path) == "[]\n"
    )


def test_a_framework_from_outside_comes_in_by_its_entry_point(tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text(
        "from deep500.frameworks.reference import Reference\n"
        "class Outside(Reference):\n    name = 'outside'\n"
        "FRAMEWORK = Outside()\n"
    )
    (info := tmp_path / "outside-1.0.dist-info").mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text("[deep500.frameworks]\noutside = outside\n")
    code = "from deep500.frameworks import available_frameworks, framework; print(framework('outside').name)"
    assert (
        python(f"{code}; assert 'outside' in available_frameworks()", tmp_path)
        == "outside\n"
    )


def test_what_is_not_installed_says_how_to_install_it() -> None:
    class Missing(type(framework("reference"))):  # type: ignore[misc]
        name, module_name, extra = "missing", "no_such_module", "pytorch"

    assert not Missing.available()
    with pytest.raises(
        Unsupported,
        match=r"missing is not installed: pip install 'deep500-bench\[pytorch\]'",
    ):
        _ = Missing().module


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "int32", "uint8", "bool"]
)
def test_arrays_go_there_and_back(fw: Framework, dtype: str) -> None:
    base = np.arange(24).reshape(2, 3, 4).astype(dtype)
    frozen = base.copy()
    frozen.flags.writeable = False
    for values in (
        base,
        base[:, ::-1, 1::2],
        base.transpose(2, 0, 1),
        frozen,
        np.asarray(base[0, 0, 1]),
    ):
        back = fw.array(fw.tensor(values))
        assert (
            back.dtype == dtype
            and back.shape == values.shape
            and np.array_equal(back, values)
        )
    assert (
        fw.array(fw.tensor(fw.tensor([1, 2], "int64"), "float32")).dtype == np.float32
    )
    fw.sync()


def test_kernels_say_whose_they_are(fw: Framework) -> None:
    # the class has a method for the one; ONNX has the operator itself
    native = fw.name in {"fake", "onnxruntime"}
    assert fw.kernel(LeakyRelu())[1] == ("native" if native else "composed")
    assert fw.kernel(Affine())[1] == "composed"


@pytest.mark.parametrize("composed", [False, True])
def test_one_operator(fw: Framework, composed: bool) -> None:
    (y,) = fw.evaluate(LeakyRelu(alpha=0.25), [X], composed)
    assert y.dtype == np.float32 and np.array_equal(y, LEAKY)
    y, top = fw.evaluate(Affine(), [X, np.float32(2), None, 2], composed)
    assert np.array_equal(y, 2 * X * X) and top == 32


def test_a_wrong_native_kernel_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeakyRelu, "fake", lambda self, np, x: np.maximum(x, 0))
    native, composed = (
        framework("fake").evaluate(LeakyRelu(alpha=0.25), [X], c)[0]
        for c in (False, True)
    )
    assert np.array_equal(composed, LEAKY) and not np.array_equal(native, LEAKY)


def test_gradients_of_one_operator(fw: Framework) -> None:
    dy = np.ones_like(X)
    (dx,) = fw.gradient(LeakyRelu(alpha=0.25), [X], [dy])
    assert dx is not None and np.array_equal(dx, np.where(X > 0, 1, 0.25))
    dx, ds, db, power = fw.gradient(
        Affine(), [X, np.float32(2), np.ones(3, "float32"), 2], [dy]
    )  # top: nobody used it
    assert (
        power is None
        and np.array_equal(dx, 4 * X)
        and ds == np.sum(X * X)
        and np.array_equal(db, [2, 2, 2])
    )
    dx, ds, db = fw.gradient(Affine(), [X, None, None], [None, np.array(3, np.float32)])
    assert ds is None and db is None and np.array_equal(dx, np.full(X.shape, 3))


def test_threads() -> None:
    (library,) = [
        ctypes.CDLL(str(p))
        for p in Path(np.__file__).parents[1].glob("numpy.libs/*scipy_openblas*")
    ]
    for count in (2, 1):
        framework("reference").set_threads(count)
        assert library.scipy_openblas_get_num_threads64_() == count
    torch = pytest.importorskip("torch")
    framework("pytorch").set_threads(1)
    assert torch.get_num_threads() == 1


def test_what_is_no_model_is_refused(fw: Framework) -> None:
    with pytest.raises(
        Unsupported, match=f"{fw.name} takes .*a d5.Network or .*, not a dict"
    ):
        fw.from_model({})


# -- ONNX Runtime: the node itself


@pytest.fixture
def ort() -> Any:
    if not framework("onnxruntime").available():
        pytest.skip("onnxruntime is not installed")
    return framework("onnxruntime")


def test_nodes_take_static_and_missing_inputs(ort: Any) -> None:
    reshape = find("operators", "Reshape")()
    assert ort.evaluate(reshape, [X, (3, -1)])[0].shape == (3, 2)
    # an int where ONNX wants a float
    gemm = find("operators", "Gemm")(alpha=2, transB=1)
    assert np.array_equal(ort.evaluate(gemm, [X, X, None])[0], 2 * X @ X.T)


def test_nodes_have_the_outputs_that_are_asked_for(ort: Any) -> None:
    from deep500.onnx.recording.arrays import argument
    from deep500.onnx.recording.nodes import node

    x, s = argument((4, 3, 5, 5), "float32"), argument((3,), "float32")
    norm, pool = (
        find("operators", "BatchNormalization"),
        find("operators", "MaxPool")(kernel_shape=(2, 2)),
    )
    assert [
        len(node(ort.xp, norm(training_mode=mode), [x, s, s, s, s])) for mode in (0, 1)
    ] == [
        1,
        3,
    ]
    assert (
        len(node(ort.xp, pool, [x])) == 2
        and len(node(ort.xp, pool, [x], outputs=1)) == 1
    )
    assert node(ort.xp, pool, [x])[0].shape == (4, 3, 4, 4)


def test_nodes_refuse_what_onnx_does_not_have(ort: Any) -> None:
    from deep500.onnx.recording.arrays import argument
    from deep500.onnx.recording.nodes import node

    class Relu(Operator):
        slope: float = 1.0

        def forward(self, xp, x):
            return xp.relu(self.slope * x)

    x = argument((2, 3), "float32")
    # which says no more than ONNX's own
    assert node(ort.xp, Relu(), [x])[0].shape == (2, 3)
    with pytest.raises(
        Unsupported, match="has no operator Relu, or not with these settings"
    ):
        node(ort.xp, Relu(slope=2.0), [x])
    with pytest.raises(Unsupported, match="has no operator Affine"):
        node(ort.xp, Affine(), [x])
    wide = ort.evaluate(
        find("operators", "Conv")(), [np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2))]
    )
    # by our formula: there is a kernel for float32 only
    assert wide[0].dtype == np.float64 and (wide[0] == 4).all()


def test_a_session_is_made_once_per_operator_and_shape(ort: Any) -> None:
    from deep500.frameworks.onnxruntime import _operator_session as sessions

    for values in (X, X + 1, X[:1]):
        ort.evaluate(LeakyRelu(alpha=0.125), [values])
    before = sessions.cache_info()
    ort.evaluate(LeakyRelu(alpha=0.125), [X - 1])
    ort.evaluate(LeakyRelu(alpha=0.0625), [X])
    after = sessions.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 1)


def test_sessions_use_the_threads_that_were_set(ort: Any) -> None:
    from deep500.onnx.recording.arrays import argument, build

    x = argument((2, 3), "float32")
    ort.set_threads(1)
    session = ort.session(build({"x": x}, {"y": x + 1}))
    assert session.get_session_options().intra_op_num_threads == 1
    assert np.array_equal(session.run(None, {"x": X})[0], X + 1)
