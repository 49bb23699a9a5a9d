"""Operators in C++: built once with optimisation, faults in words, and none of the defects of 2019."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.operator import TensorSpec
from deep500.custom import building
from deep500.custom.cpp import compile_custom_cppop
from deep500.custom.description import OperatorSignature, TensorDesc
from deep500.errors import Deep500Error, Unsupported

X = np.linspace(-2, 2, 24, dtype="float32").reshape(4, 6)
FORWARD = "struct op : deep500::CustomOperator {{ void forward(const float *x, float *y) {{ {} }} }};"


def written(folder: Path, text: str, name: str = "op.cpp") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    """A cache of this module's own, empty at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_CACHE", str(folder := tmp_path_factory.mktemp("cache")))
        yield folder


def test_as_the_tutorial_compiles_it(sources: Path) -> None:
    op = compile_custom_cppop(
        "ipowop",
        sources / "tutorial.cpp",
        [d5.tensordesc([4, 6], np.float32)],
        [d5.tensordesc([4, 6], np.float32)],
        definitions={"DTYPE": "float", "DPOWER": "3"},
    )
    first = op.run([X])[0]
    second = op.run([2 * X])[0]
    # in 2019 the second call overwrote it
    np.testing.assert_allclose(first, X**3, rtol=1e-6)
    np.testing.assert_allclose(second, 8 * X**3, rtol=1e-6)
    np.testing.assert_allclose(
        op.gradients([first], [X], [first])[0], 3 * X**5, rtol=1e-5
    )
    # of another memory layout, a temporary
    np.testing.assert_allclose(op.run([X.T.copy().T])[0], X**3, rtol=1e-6)
    assert op.attributes == {"DPOWER": "3"}


@pytest.mark.slow
def test_two_operators_of_one_class_differ_in_their_definitions(sources: Path) -> None:
    square, cube = (
        compile_custom_cppop(
            "ipowop", sources / "ipowop.cpp", definitions={"DPOWER": n}
        )
        for n in (2, 3)
    )
    np.testing.assert_allclose(square.run([X])[0], X**2, rtol=1e-6)
    np.testing.assert_allclose(cube.run([X])[0], X**3, rtol=1e-6)


def test_it_is_built_once_and_again_when_anything_changes(
    tmp_path: Path, cache: Path
) -> None:
    written(tmp_path, "const float FACTOR = 2;", "factor.h")
    source = written(
        tmp_path, '#include "factor.h"\n' + FORWARD.format("y[0] = FACTOR * x[0];")
    )
    one = np.ones(1, "float32")
    before = {*cache.glob("built/*.so")}
    assert compile_custom_cppop("op", source).run([one])[0] == 2
    assert compile_custom_cppop("op", source).run([one])[0] == 2
    assert len({*cache.glob("built/*.so")} - before) == 1
    # the source itself is the same
    written(tmp_path, "const float FACTOR = 3;", "factor.h")
    assert compile_custom_cppop("op", source).run([one])[0] == 3
    # nothing is left behind
    assert {path.suffix for path in (cache / "built").iterdir()} == {".so"}


def test_it_is_optimised_and_parallel(tmp_path: Path) -> None:
    """A region of one thread is a plain call, but not inside another, whose threads would share its loop."""
    text = FORWARD.format("""
        #ifdef __OPTIMIZE__
        y[0] = 1;
        #endif
        int counted = 0;
        #pragma omp parallel num_threads(2)
        #pragma omp atomic
        counted += 1;
        #pragma omp parallel num_threads(1)
        counted += 10 * omp_get_num_threads();
        #pragma omp parallel num_threads(2)
        {
            #pragma omp parallel for num_threads(1)
            for (int i = 0; i < 10; ++i) {
                #pragma omp atomic
                counted += 100;
            }
        }
        y[1] = counted;
    """)
    made = compile_custom_cppop("op", written(tmp_path, text)).run(
        [np.zeros(2, "float32")]
    )[0]
    assert made.tolist() == [1, 2 + 10 + 20 * 100]


OVERRUN = """
struct op : deep500::CustomOperator {
    int64_t n;
    op(int64_t length) : n(length) {}
    void forward(const DTYPE *x, DTYPE *y) {
        for (int64_t i = 0; i <= n; ++i) y[i] = 2 * x[i];
    }
    void backward(const DTYPE *dy, const DTYPE *x, const DTYPE *y, DTYPE *dx) {
        for (int64_t i = -1; i < n; ++i) dx[i] = dy[i] + 10 * x[i] + 100 * y[i];
    }
};
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_memory_is_the_callers(tmp_path: Path, dtype: str) -> None:
    """Outputs come from `allocate`, inputs are not copied: what lies around both is read and written."""
    buffers: list[np.ndarray] = []

    def guarded(shape: tuple[int, ...], kind: str) -> np.ndarray:
        buffers.append(np.full(4, -1, kind))
        return buffers[-1][1:-1].reshape(shape)

    bound = compile_custom_cppop(
        "op", written(tmp_path, OVERRUN), definitions={"DTYPE": "float"}
    )
    bound.in_dtype("float64")
    bound.allocate = guarded
    op = bound.in_dtype(dtype)
    x = np.array([5, 1, 2, 7], dtype)[1:-1].reshape(1, 2)
    (y,) = op.run([x])
    op.gradients([np.array([3, 4, 4], dtype)[1:].reshape(1, 2)], [x], [y])
    assert buffers[0].tolist() == [-1, 2, 4, 14]
    assert buffers[1].tolist() == [3 + 50 - 100, 4 + 10 + 200, 4 + 20 + 400, -1]


COUNT = """
struct op : deep500::CustomOperator {
    void forward(const DTYPE *x, DTYPE *y) {
        #pragma omp parallel
        #pragma omp single
        y[0] = omp_get_num_threads();
    }
};
"""


def test_threads_are_as_many_as_asked_for(tmp_path: Path) -> None:
    """Also more than there are cores; without a number, as many as OpenMP itself would take."""
    op = compile_custom_cppop(
        "op", written(tmp_path, COUNT), definitions={"DTYPE": "float"}
    )
    one = np.ones(1, "float32")
    # in a thread of its own: another test may have set the number of this one
    with ThreadPoolExecutor(1) as thread:
        own = thread.submit(op.run, [one]).result()[0]
    assert own == int(os.environ.get("OMP_NUM_THREADS", len(os.sched_getaffinity(0))))
    for count in (7, 1, 2):
        op.set_threads(count)
        assert op.run([one])[0] == count
        assert op.in_dtype("float64").run([one.astype("float64")])[0] == count
    op.set_threads(0)
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(op.run, [one]).result()[0] == own


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["pytorch", "jax", "tensorflow", "onnxruntime", "reference"]
)
def test_threads_are_as_many_on_every_framework(tmp_path: Path, name: str) -> None:
    framework = d5.framework(name)
    op = compile_custom_cppop("op", written(tmp_path, COUNT))
    op.set_threads(7)
    made = framework.custom_op(op)(framework.tensor(np.ones(1, "float32")))
    assert framework.array(made) == 7


def test_two_processes_may_build_the_same(cache: Path) -> None:
    code = "import pathlib\nfrom deep500.custom.building import build\nprint(build('op', 'int x;', pathlib.Path('.')))"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    first, second = (process.communicate(timeout=120)[0].strip() for process in started)
    assert (
        first == second
        and Path(first).parent.parent == cache
        and Path(first).stat().st_size > 0
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            FORWARD.format("y[0] = z;"),
            r"op.cpp does not compile: op.cpp:1:\d+: error: 'z' was not declared",
        ),
        (
            "#include <no_such_file.h>",
            r"op.cpp does not compile: op.cpp:1:10: fatal error: no_such_file.h",
        ),
        pytest.param(
            "struct op : deep500::CustomOperator { void forward(float *y, const float *x) {} };",
            r"op.forward takes const pointers \(the inputs\), then others",
            marks=pytest.mark.slow,
        ),
        (
            "struct op : deep500::CustomOperator { void forward(const float *x, float *y) {} "
            "void backward(const float *dy, float *dx) {} };",
            r"op.backward takes 4 pointers .*\(const float32,float32\)",
        ),
        pytest.param(
            "struct op : deep500::CustomOperator { void forward(const float *x, int n) {} };",
            "take pointers",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_source_with_a_fault_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Deep500Error, match=said) as caught:
        compile_custom_cppop("op", written(tmp_path, text))
    assert len(str(caught.value).splitlines()) <= 1 + building.SHOWN


def test_an_exception_is_one_line(tmp_path: Path) -> None:
    op = compile_custom_cppop(
        "op",
        written(tmp_path, FORWARD.format('throw std::runtime_error("no\\nluck");')),
    )
    with pytest.raises(Deep500Error, match="^op: no luck$"):
        op.run([X])


@pytest.mark.slow
def test_one_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    unmade = "struct op : deep500::CustomOperator { op(std::string s) {} void forward(const float *x, float *y) {} };"
    with pytest.raises(Deep500Error, match="write create_new_op"):
        compile_custom_cppop("op", written(tmp_path, unmade)).run([X])


def test_compiling_has_an_end(tmp_path: Path) -> None:
    """The preprocessor alone would take 2^60 steps."""
    doubling = "".join(f"#define A{i} A{i - 1} A{i - 1}\n" for i in range(1, 60))
    with pytest.raises(
        Deep500Error, match=r"op was still compiling after 0.5 s, and was stopped"
    ):
        building.build(
            "op", f"#define A0 int\n{doubling}A59 x;", tmp_path, depends="", seconds=0.5
        )


def test_without_a_compiler_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        Unsupported, match="there is no no-such-compiler: install g\\+\\+, or set CXX"
    ):
        compile_custom_cppop("op", written(tmp_path, FORWARD.format("")))
    with pytest.raises(Deep500Error, match="cannot be read"):
        compile_custom_cppop("op", tmp_path / "missing.cpp")
    with pytest.raises(Deep500Error, match="cannot be defined in C"):
        compile_custom_cppop("op", tmp_path / "op.cpp", definitions={"a b": 1})


def test_descriptions_must_fit_the_pointers(sources: Path) -> None:
    def compiled(inputs: list[TensorDesc], outputs: list[TensorDesc]) -> object:
        return compile_custom_cppop(
            "ipowop",
            sources / "ipowop.cpp",
            inputs,
            outputs,
            {"DTYPE": "float", "DPOWER": 2},
        )

    with pytest.raises(
        Deep500Error,
        match=r"ipowop.forward has 1 inputs \(const pointers are inputs\), and 2 are",
    ):
        compiled([TensorDesc(), TensorDesc()], [TensorDesc()])
    with pytest.raises(
        Deep500Error,
        match=r"ipowop.forward takes float32, and float64\[3\] is described",
    ):
        compiled([d5.tensordesc([3], np.float64)], [TensorDesc()])


def test_names_of_sizes() -> None:
    product = OperatorSignature(
        "product",
        (d5.tensordesc(["n", "k"]), d5.tensordesc(["k", "m"])),
        (d5.tensordesc(["n", "m"]),),
    )
    assert product.described_outputs([TensorSpec((2, 3)), TensorSpec((3, 5))])[
        0
    ] == TensorSpec((2, 5))
    with pytest.raises(
        Deep500Error,
        match=r"product takes any\[n, k\], any\[k, m\], and float32\[2, 3\], float32\[4",
    ):
        product.described_outputs([TensorSpec((2, 3)), TensorSpec((4, 5))])
    assert d5.tensordesc([0, 6]).shape == ("batch", 6) == d5.tensordesc([None, 6]).shape
    for wrong in ([-1], [1.5], "ab", 3):
        with pytest.raises(Deep500Error, match="a size is|a shape is"):
            d5.tensordesc(wrong)  # type: ignore[arg-type]
    with pytest.raises(Deep500Error, match="no dtype is named"):
        d5.tensordesc([1], "complex64")


@pytest.mark.slow
def test_half_types_round_as_they_should(tmp_path: Path) -> None:
    """Every float16 and bfloat16, and the rounding of many floats, against NumPy's and ml_dtypes'."""
    text = """
    struct op : deep500::CustomOperator {
        int64_t n;
        op(int64_t length) : n(length) {}
        void forward(const float *x, deep500::float16 *h, deep500::bfloat16 *b, float *wide) {
            for (int64_t i = 0; i < n; ++i) { h[i] = x[i]; b[i] = x[i]; wide[i] = float(h[i]) + float(b[i]); }
        }
    };"""
    kinds = [d5.tensordesc(["n"], kind) for kind in ("float16", "bfloat16", "float32")]
    op = compile_custom_cppop(
        "op", written(tmp_path, text), [d5.tensordesc(["n"])], kinds
    )
    bits = np.random.default_rng(0).integers(0, 2**32, 200_000, "uint32")
    every = np.concatenate([np.arange(2**16, dtype="uint32") << 16, bits])
    x = every.view("float32")
    x = np.concatenate(
        [x[np.isfinite(x)], np.linspace(-7e4, 7e4, 100_001, dtype="float32")]
    )
    half, brain, wide = op.run([x])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(half, x.astype("float16"))
        np.testing.assert_array_equal(
            brain.view("uint16"), x.astype("bfloat16").view("uint16")
        )
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(
            wide, half.astype("float32") + brain.astype("float32")
        )


def test_the_cache_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from deep500 import home

    monkeypatch.delenv("DEEP500_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert home.cache() == tmp_path / "deep500"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert home.cache() == Path(os.path.expanduser("~")) / ".cache" / "deep500"
