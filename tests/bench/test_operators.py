"""Operators under the clock: what is timed is what is checked, and what a suite leaves out is said."""

import json
from pathlib import Path

import numpy as np
import pytest

from deep500 import operators
from deep500.bench.operator_benchmark import OperatorBenchmark
from deep500.bench.operators import suites
from deep500.bench.operators.jobs import OperatorJob
from deep500.bench.operators.rivals import rival_problems
from deep500.bench.operators.subject import OperatorSubject
from deep500.check.operators.array_checks import gradient_check, output_check
from deep500.check.operators.examples import examples_of
from deep500.contracts.calls import KERNELS
from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error, Unsupported, Wrong
from deep500.frameworks import framework

MINE = '''
from deep500.contracts.operator import Operator

KEPT = {}


class Twice(Operator):
    """2 x, with a kernel of NumPy that may be wrong in several ways."""

    how: str = "right"

    def forward(self, xp, x):
        return x + x

    def backward(self, xp, dy):
        return dy + dy

    def reference(self, numpy, x):
        if self.how == "remembers":
            return KEPT.setdefault(id(x), x + x)
        return {"right": 2 * x, "one percent": 2.02 * x, "zeros": 0 * x}[self.how]
'''


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    return f"{tmp_path / 'mine.py'}:Twice"


def job(
    operator,
    shape,
    framework="reference",
    kernel="",
    direction="forward",
    dtype="float32",
    **attributes,
):
    return OperatorJob(
        operator, attributes, shape, dtype, framework, kernel, direction, 0
    )


@pytest.mark.parametrize(
    "name",
    [
        "reference",
        "pytorch",
        pytest.param("jax", marks=pytest.mark.slow),
        pytest.param("tensorflow", marks=pytest.mark.slow),
        "onnxruntime",
    ],
)
@pytest.mark.parametrize("operator", ["MatMul", "Gather", "Split"])
def test_every_kernel_of_every_framework_gives_the_truth(name, operator):
    fw, example = framework(name), examples_of(getattr(operators, operator))[0]
    if not fw.available():
        pytest.skip(f"{name} is not installed")
    ran = 0
    # torch.compile takes seconds: in the slow test
    for kernel in KERNELS if name != "pytorch" else KERNELS[:2]:
        for made, check in (
            (
                lambda k: fw.forward_call(example.operator, example.inputs, k),
                output_check,
            ),
            (
                lambda k: fw.backward_call(
                    example.operator, example.inputs, example.seeds, k
                ),
                gradient_check,
            ),
        ):
            try:
                call = made(kernel)
            except Unsupported:
                continue
            got = call.run()
            assert check(example, got).ok, check(example, got).text
            spoilt = [None if g is None else g + np.ones_like(g) for g in got]
            assert not check(example, spoilt).ok
            ran += 1
    assert ran >= 2


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:.torch.jit.script_method. is deprecated:DeprecationWarning"
)  # PyTorch's own
def test_compiled_by_pytorch():
    example = examples_of(operators.MatMul)[0]
    call = framework("pytorch").forward_call(
        example.operator, example.inputs, "compiled"
    )
    assert output_check(example, call.run()).ok


def test_a_right_operator_passes_before_and_after(mine):
    for direction in ("forward", "backward"):
        composed = job(mine, "4x6", direction=direction, kernel="composed")
        composed.checked_subject().check_again()
    job(mine, "4x6", kernel="native").checked_subject().check_again()


@pytest.mark.parametrize("how", ["one percent", "zeros"])
def test_a_wrong_operator_is_found_before_it_is_timed(mine, how):
    with pytest.raises(Wrong, match="reference custom gives a wrong forward result"):
        job(mine, "4x6", kernel="native", how=how).checked_subject()


def test_an_operator_that_remembers_is_found_after(mine):
    subject = job(mine, "4x6", kernel="native", how="remembers").checked_subject()
    with pytest.raises(Wrong, match="after its timing"):
        subject.check_again()


def test_where_the_truth_is_nan_magnitudes_are_taken():
    subject = OperatorSubject(job("Sqrt", "30"))
    subject.check()
    assert (subject.example.inputs[0] >= 0).all()


@pytest.mark.parametrize("kind", ["gemm", "conv", "rnn"])
def test_a_tier_says_what_it_leaves_out(kind):
    full, tiny = (
        suites.suite(f"deepbench:{kind}", "full"),
        suites.suite(f"deepbench:{kind}", "tiny"),
    )
    assert f"all {len(full.problems)} problems" in full.scope
    assert (
        f"{len(tiny.problems)} of {len(full.problems)} problems, none scaled; left out"
        in tiny.scope
    )
    assert {p.label for p in tiny.problems} <= {p.label for p in full.problems}
    assert len({p.label for p in full.problems}) == len(full.problems)
    parts = [suites.part(full.problems, f"{k}/3") for k in (1, 2, 3)]
    assert sorted(p.label for part in parts for p in part) == sorted(
        p.label for p in full.problems
    )


@pytest.mark.parametrize("kind", ["gemm", "conv"])
def test_sizes_of_a_suite_are_those_of_the_operators(kind):
    """flops as the suite counts them are those that the operator says of the shapes it is given."""
    rows = {
        tuple(r)
        for rows in json.loads(suites.DATA.read_text())["problems"][kind].values()
        for r in rows
    }
    assert len(rows) > 100
    for row in sorted(rows, key=suites.FLOPS[kind])[:20]:
        problem = suites.MAKERS[kind](row)
        operator = getattr(operators, problem.operator)(**problem.attributes)
        tensors = [operators_tensor(word) for word in problem.shape.split(",")]
        assert operator.flops(*tensors) == suites.FLOPS[kind](row)


def operators_tensor(word):
    from deep500.contracts.operator import TensorSpec

    return TensorSpec(tuple(map(int, word.split("x"))))


@pytest.mark.parametrize(
    ("name", "tier", "text"),
    [
        ("deepbench:gem", "tiny", "no suite"),
        ("deepbench:gemm", "huge", "no tier"),
        ("deepbench:all_reduce", "tiny", "communicate"),
    ],
)
def test_unknown_suites_are_one_line(name, tier, text):
    with pytest.raises(Deep500Error, match=text):
        suites.suite(name, tier)


@pytest.mark.parametrize(
    ("factors", "text"),
    [
        ({"dtypes": ["float31"]}, "no dtype"),
        ({"frameworks": ["pytoch"]}, "Did you mean 'pytorch'"),
        ({"directions": ["sideways"]}, "no direction"),
    ],
)
def test_unknown_factors_are_said_before_anything_runs(factors, text):
    with pytest.raises(Deep500Error, match=text):
        OperatorBenchmark((), **factors)


def test_data_names_their_source():
    assert "DeepBench" in json.loads(Path(suites.DATA).read_text())["source"]


def test_nothing_stands_between_the_clock_and_the_frameworks_function():
    torch = pytest.importorskip("torch")

    class Mine(Operator):
        def forward(self, xp, x):
            return xp.maximum(x, 0)

        def pytorch(self, torch, x):
            return torch.relu(x)

    x = np.linspace(-1, 1, 5, dtype="float32")
    functions = [
        framework("pytorch").forward_call(op, [x], "native").function
        for op in (operators.Relu(), operators.LeakyRelu(alpha=0.5), Mine())
    ]
    assert functions[0] is torch.relu
    # an attribute is handed over; a user's code is timed as it is written
    assert torch.relu not in functions[1:]
    assert functions[1](torch.tensor(x)).tolist() == np.where(x < 0, x / 2, x).tolist()


def test_a_rival_that_does_not_exist_is_no_rival_left_out() -> None:
    with pytest.raises(Deep500Error, match="'Softmaxx'. Did you mean 'Softmax'"):
        rival_problems(["Relu", "Softmaxx"], ["2x2"], {})
    problems = rival_problems(["Relu", "Gelu(approximate='tanh')"], ["2x2"], {})
    assert [problem.operator for problem in problems] == ["Relu", "Gelu"]
