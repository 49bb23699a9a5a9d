"""What an operator is told: verdicts for right and wrong code, on frameworks, in dtypes, for functions too."""

import ml_dtypes
import numpy as np
import pytest

import deep500 as d5
from deep500.check.operators import check_operator
from deep500.check.operators.array_checks import check_outputs
from deep500.check.operators.bounds import allowed
from deep500.check.operators.checks import NAMES
from deep500.check.report import Reports, report_of
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks

X = np.linspace(-1.7, 1.9, 24).reshape(4, 6)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def wrong(report: Reports) -> set[str]:
    return {check.name for check in report.wrong}


frameworks = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("jax", "tensorflow")))
        for name in available_frameworks()
    ],
)


@frameworks
def test_a_right_operator_is_right_on_every_framework(name):
    dtypes = ["float32"] if name == "onnxruntime" else ["float64", "float32"]
    report = check_operator(
        d5.operators.Softmax(axis=-1), name, inputs=[(4, 6)], dtypes=dtypes
    )
    assert report.ok and wrong(report) == set()
    assert {c.name for c in report.checks} == set(NAMES)
    assert {c.verdict for c in report.checks} <= {"ok", "not applicable"}
    judged = [
        c for c in report.checks if c.name in ("forward", "gradient", "batch") and c.ok
    ]
    assert all(c.value <= c.bound for c in judged)
    if name in ("pytorch", "jax", "tensorflow"):
        assert any(c.name == "autodiff" and c.ok for c in report.checks)


def test_half_precision_has_its_own_bound():
    for dtype in ("float16", "bfloat16"):
        report = check_operator(
            d5.operators.MatMul(), "pytorch", inputs=[(3, 40), (40, 2)], dtypes=[dtype]
        )
        assert report.ok, report.wrong
        eps = float(ml_dtypes.finfo(dtype).eps)
        forward = next(c for c in report.checks if c.name == "forward")
        assert eps < forward.bound < 1000 * eps


def test_the_bound_follows_dtype_length_and_condition():
    want, moved = np.array([1.0, 100.0]), np.array([0.0, 0.0])
    narrow, deep = (
        allowed(want, moved, "float32", 1),
        allowed(want, moved, "float32", 100),
    )
    np.testing.assert_allclose(deep, 10 * narrow)
    np.testing.assert_allclose(allowed(want, moved, "float64", 1), narrow * 2.0**-29)
    assert np.all(allowed(want, moved + 1e-3, "float32", 1) > narrow + 3e-3)
    # the sum is ill-conditioned: its bound is wide beside its value
    x = np.array([1.0, -1.0 + 2.0**-12], "float32")
    check = check_outputs(
        d5.operators.ReduceSum(keepdims=0), [x], [np.float32(2.0**-12)]
    )
    assert check.ok and check.bound > 1e-4 * 2.0**-12


def test_the_bound_is_narrow_for_small_elements_and_wide_where_terms_cancel():
    x = np.array([-20.0, 20.0], "float32")  # of the results one is 1e-9 of the other
    right = 1 / (1 + np.exp(-x.astype("float64")))
    assert check_outputs(d5.operators.Sigmoid(), [x], [right.astype("float32")]).ok
    assert (
        check_outputs(
            d5.operators.Sigmoid(), [x], [(right * [1.001, 1]).astype("float32")]
        ).ok
        is False
    )
    far = np.array([-4.7], "float32")
    gelu = d5.evaluate(d5.operators.Gelu(), [far], framework="pytorch")
    # x · (1 + erf x): few digits are left
    assert check_outputs(d5.operators.Gelu(), [far], gelu).ok
    assert (
        check_outputs(d5.operators.Gelu(), [far], [np.array([-1e-5], np.float32)]).ok
        is False
    )


def test_the_first_wrong_element_is_shown():
    got = softmax(X)
    got[2, 3] *= 1.01
    check = check_outputs(d5.operators.Softmax(), [X], [got])
    assert check.ok is False
    assert (
        check.text.startswith("y[2, 3]: got ")
        and "(1 of 24 elements are wrong)" in check.text
    )
    assert check.value == pytest.approx(got[2, 3] - softmax(X)[2, 3])
    assert check_outputs(d5.operators.Softmax(), [X], [softmax(X)]).ok
    shape = check_outputs(d5.operators.Softmax(), [X], [softmax(X).T])
    assert shape.ok is False and "shape [6, 4] where [4, 6] is right" in shape.text


def test_a_nan_is_wrong_unless_it_is_right():
    spoilt = np.exp(X)
    spoilt[0, 0] = np.nan
    assert check_outputs(d5.operators.Exp(), [X], [spoilt]).ok is False
    both = np.array([np.nan, np.inf, 1.0])
    assert check_outputs(d5.operators.Exp(), [both], [np.exp(both)]).ok


def test_functions_with_a_reference():
    assert check_operator(
        lambda x: np.maximum(x, 0),
        "reference",
        reference=lambda x: np.where(x > 0, x, 0),
    ).ok
    report = check_operator(
        lambda x: np.maximum(x, 0.01 * x),
        "reference",
        reference=lambda x: np.where(x > 0, x, 0),
    )
    assert "forward" in wrong(report) and report.reports[0].kernel == "user's"
    two = check_operator(
        lambda x, y: (x + y, x * y), "reference", reference=lambda x, y: (x + y, x * y)
    )
    assert two.ok  # two inputs and two outputs are found out


def test_a_function_on_a_framework_is_differentiated_for_it():
    torch = d5.framework("pytorch").module
    good = check_operator(lambda x: torch.softmax(x, -1), "pytorch", reference=softmax)
    assert good.ok and any(c.name == "differences" and c.ok for c in good.checks)

    def lost(x):
        y = torch.softmax(x, -1)
        return 0.99 * y + 0.01 * y.detach()

    assert wrong(check_operator(lost, "pytorch", reference=softmax)) == {"differences"}


class TwoOutputs(d5.Operator):
    """Several outputs, of which one gradient per input comes back: not one per pair."""

    outputs = ("s", "p")
    cases = ()

    def forward(self, xp, a, b):
        return a + b, a * b

    def backward(self, xp, ds, dp, a, b):
        return ds + dp * b, ds + dp * a

    def infer(self, a, b):
        return a, a


class HalfBackward(TwoOutputs):
    def backward(self, xp, ds, dp, a, b):
        return ds + dp * b, ds


def test_gradients_of_several_outputs():
    assert check_operator(TwoOutputs(), "reference").ok
    assert "differences" in wrong(check_operator(HalfBackward(), "reference"))


def test_no_state_is_kept_between_checks():
    first = check_operator(TwoOutputs(), "reference")
    second = check_operator(TwoOutputs(), "reference")
    assert len(first.checks) == len(second.checks) and first.checks == second.checks


def test_memory_that_is_not_written_shows():
    calls: list[np.ndarray] = []

    def unwritten(x):
        y = np.empty_like(x)
        y[..., :-1] = x[..., :-1] * 2
        if not np.isnan(x).any() and not calls:
            y[..., -1] = x[..., -1] * 2
            calls.append(x)
        return y

    report = check_operator(
        unwritten, "reference", reference=lambda x: 2 * x, dtypes=["float32"]
    )
    assert not report.ok


def test_rows_that_change_with_the_batch_are_found():
    def by_size(x):
        return x * (1 + 1e-3 * (len(x) == 1))

    report = check_operator(
        by_size, "reference", reference=lambda x: 1 * x, dtypes=["float32"]
    )
    assert {c.name for c in report.wrong if not c.regime} == {"batch"}


def test_a_report_goes_through_json():
    [report] = check_operator(HalfBackward(), "reference").reports
    again = report_of(report.to_json(), "it")
    assert (
        again == report
        and not again.ok
        and len(report.summary()) < len(report.checks) + 1
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: check_operator(
                d5.operators.MatMul(), "reference", inputs=[(3, 4), (5, 6)]
            ),
            "MatMul does not take",
        ),
        (
            lambda: check_operator(
                d5.operators.Relu(), "reference", inputs=[(3,), (4,)]
            ),
            "takes 1 inputs",
        ),
        (
            lambda: check_operator(d5.operators.Relu(), "reference", dtypes=["float8"]),
            "'float8' is no dtype",
        ),
        (
            lambda: check_operator(d5.operators.Relu(), "torch"),
            "Did you mean 'pytorch'",
        ),
        (lambda: check_operator(3, "reference"), "neither an operator nor a function"),
    ],
)
def test_bad_requests_are_one_line(call, said):
    with pytest.raises(Deep500Error, match=said) as found:
        call()
    assert "\n" not in str(found.value)


@frameworks
def test_evaluate_and_gradient(name):
    x = np.array([-1.0, 2.0], "float32")
    op = d5.operators.LeakyRelu(alpha=0.3)
    np.testing.assert_allclose(
        d5.evaluate(op, [x], framework=name)[0], [-0.3, 2.0], rtol=1e-6
    )
    np.testing.assert_allclose(
        d5.gradient(op, [x], grads=[x], framework=name)[0], [-0.3, 2.0], rtol=1e-6
    )


def test_a_function_without_a_reference_is_judged_by_itself() -> None:
    assert check_operator(np.tanh, "reference").ok
