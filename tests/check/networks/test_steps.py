"""The step that `check network` compares: optimizers as texts, classes, chains, files and of a library."""

from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500.check.report import Reports

SOURCE = """
import deep500 as d5


class Formula(d5.Optimizer):
    learning_rate: float

    def update(self, xp, param, grad, state, step):
        return param - self.learning_rate * grad, {}

    def pytorch(self, torch, params, grads, states, step):
        torch._foreach_add_(params, grads, alpha=-self.learning_rate * FACTOR)


class Attributes(d5.ThreeStepOptimizer):
    def __init__(self, rate=0.1):
        self.rate, self.count = rate, 0

    def new_input(self):
        self.count += 1

    def prepare_param(self, param_name):
        [param] = self.network.fetch_tensors([param_name])
        return param / 2

    def update_rule(self, grad, old_param, param_name):
        return old_param - self.rate / self.count * grad
"""
NETWORK = d5.networks.Mlp(hidden=(4,)).build((5,), 3)


def checked(optimizer: Any, *frameworks: str) -> Reports:
    return d5.check_network(NETWORK, frameworks, optimizer=optimizer, isolated=False)


@pytest.mark.parametrize(
    "text",
    [
        "{file}:Formula",
        "{file}:Formula(0.01)",
        "{file}:Formula(0.5) | ClipByNorm(0.001)",
        "{file}:Attributes(0.2)",
        "Adam(Cosine(0.1, 5)) | WeightDecay(0.1)",
    ],
)
def test_a_text(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"FACTOR = 1\n{SOURCE}")
    report = checked(text.format(file=file), "reference", "pytorch")
    steps = {check.case for check in report.checks if check.name == "step"}
    assert report.ok, report.text
    assert steps == set(NETWORK.trainable)


@pytest.mark.parametrize(
    "optimizer", [d5.optimizers.Adam, d5.optimizers.SGD, d5.optimizers.Lion(0.1)]
)
def test_a_class_or_an_object(optimizer: Any) -> None:
    assert checked(optimizer, "reference").ok


def test_one_of_a_library_on_its_own_framework_only() -> None:
    report = checked("torch.optim.SGD(lr=0.1)", "pytorch", "reference")
    assert [side.verdict for side in report.reports] == ["ok", "not decided"]


def test_a_kernel_that_steps_too_far_is_found(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"FACTOR = 1.01\n{SOURCE}")
    report = d5.check_network(
        NETWORK, ["reference", "pytorch"], optimizer=f"{file}:Formula(0.1)"
    )
    assert report.first is not None
    assert (report.first.where, report.first.name) == ("pytorch", "step")
    assert [side.isolated for side in report.reports] == [True, True]


def test_wrong_clipping_on_a_framework_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clip = d5.optimizers.ClipByNorm
    chain = d5.optimizers.SGD(0.1) | clip(1e-3)
    assert checked(chain, "pytorch").ok
    right = clip.gradients

    def stretched(self: Any, xp: Any, params: Any, grads: Any) -> Any:
        changed = right(self, xp, params, grads)
        if type(xp).__name__ != "TorchNamespace":
            return changed
        return {name: 1.01 * grad for name, grad in changed.items()}

    monkeypatch.setattr(clip, "gradients", stretched)
    report = checked(chain, "pytorch")
    assert report.first is not None and report.first.name == "step"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"framework": "torch"}, "Did you mean 'pytorch'"),
        ({"dimensions": {"bath": 3}}, "Did you mean 'batch'"),
        ({"dimensions": {"batch": 0}}, "1 or more"),
        ({"optimizer": 3}, "is no optimizer"),
        ({"optimizer": "Admm"}, "Did you mean 'Adam'"),
        ({"optimizer": "ClipByNorm(1.0)"}, "no optimizer by itself"),
        ({"y": "los"}, "there are: loss"),
    ],
)
def test_wrong_arguments_are_refused(options: Any, said: str) -> None:
    with pytest.raises(d5.Deep500Error, match=said):
        d5.check_network(NETWORK, **options)


@pytest.mark.parametrize("wrong", [["reference", 3], 3, None])
def test_what_is_no_name_of_a_framework_is_refused(wrong: Any) -> None:
    calls = (
        lambda: d5.framework(wrong),
        lambda: d5.check_operator(d5.operators.Relu(), wrong),
        lambda: d5.check_optimizer("SGD(0.1)", wrong),
        lambda: d5.check_scheme("AllReduce", wrong),
    )
    for call in calls:
        with pytest.raises(d5.Deep500Error, match="is no name of a framework"):
            call()


def test_one_dtype_may_be_a_text() -> None:
    relu = d5.operators.Relu()
    report = d5.check_optimizer("SGD(0.1)", "reference", dtypes="float32", steps=2)
    assert report.ok
    assert {c.dtype for c in report.checks if c.name == "steps"} == {"float32"}
    report = d5.check_operator(relu, "reference", dtypes="float32")
    assert report.ok
    assert {c.dtype for c in report.checks if c.name == "forward"} == {"float32"}
    for check in (
        lambda: d5.check_operator(relu, "reference", dtypes="float31"),
        lambda: d5.check_optimizer("SGD(0.1)", "reference", dtypes=["float31"]),
        lambda: d5.check_codec("TopK(0.5)", dtypes=["float31"]),
    ):
        with pytest.raises(d5.Deep500Error, match="'float31' is no dtype to check in"):
            check()
