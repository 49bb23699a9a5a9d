"""`d5.check_optimizer`: right optimizers pass, and the defects of the 2019 optimizers are found."""

import json
import re
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import pytest

import deep500 as d5
import deep500.frameworks.pytorch as d5torch
from deep500.check.optimizers.checking import deviation
from deep500.cli import main
from deep500.contracts.optimizer import Optimizer, State


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    d5.framework("pytorch").set_threads(1)


def check(optimizer: Any, framework: str = "reference", reference: Any = None) -> Any:
    return d5.check_optimizer(optimizer, framework, reference=reference, steps=10)


@pytest.mark.parametrize("name", ["SGD", "Adam", "LARS", "Muon"])
@pytest.mark.parametrize("framework", ["reference", "pytorch"])
def test_a_right_optimizer_is_right(name: str, framework: str) -> None:
    report = check(name, framework)
    assert report and report.verdict == "ok"
    steps = [c for c in report.checks if c.name == "steps" and c.dtype == "float64"]
    assert len(steps) == 6 and all(c.value < 1e-10 == c.bound for c in steps)
    [native] = [c for c in report.checks if c.name == "native"]
    has_own = framework == "pytorch" and name in ("SGD", "Adam")
    assert native.ok is (True if has_own else None)


class AdamWithBeta1Twice(d5.optimizers.Adam):
    """The second moment decays by beta1, too."""

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        wrong = d5.optimizers.Adam(
            self.learning_rate, self.beta1, self.beta1, self.epsilon
        )
        return wrong.update(xp, param, grad, state, step)


class EpsilonInsideTheRoot(d5.optimizers.AdaGrad):
    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        total = state["sum"] + xp.square(grad)
        return param - self.learning_rate * grad / xp.sqrt(total + self.epsilon), {
            "sum": total
        }


class ForgetfulAcceleGrad(d5.optimizers.AcceleGrad):
    """Begins anew in every step."""

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        fresh = self.init(xp, param)
        return super().update(xp, param, grad, fresh, step)


class AdaGradWithoutUpdate(Optimizer):
    learning_rate: float = 0.01

    def init(self, xp: Any, param: Any) -> State:
        return {"sum": xp.zeros_like(param)}


class RMSPropWithoutParameters(d5.optimizers.RMSProp):
    """Computes everything and applies nothing."""

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        _, state = super().update(xp, param, grad, state, step)
        return param, state


class Unsaved(d5.optimizers.Momentum):
    """Keeps its velocity where no checkpoint finds it."""

    def init(self, xp: Any, param: Any) -> State:
        HIDDEN.clear()
        return {}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        key = param.shape
        HIDDEN[key] = self.momentum * HIDDEN.get(key, 0.0) + grad
        return param - self.learning_rate * HIDDEN[key], {}


HIDDEN: dict[Any, Any] = {}


@pytest.mark.parametrize(
    ("wrong", "reference"),
    [
        (AdamWithBeta1Twice(), "Adam"),
        (EpsilonInsideTheRoot(), "AdaGrad"),
        (ForgetfulAcceleGrad(), "AcceleGrad"),
        (RMSPropWithoutParameters(), "RMSProp"),
        (d5.optimizers.Adam(1.001e-3), "Adam"),
        (d5.optimizers.Lion(weight_decay=1.1e-3), "Lion"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_defect_of_2019_is_found(wrong: Any, reference: str) -> None:
    report = check(wrong, "reference", reference)
    assert not report and report.verdict == "wrong"
    assert "steps" in {c.name for c in report.wrong}


def test_what_is_missing_is_told() -> None:
    with pytest.raises(
        d5.Deep500Error, match="AdaGradWithoutUpdate has no method 'update'"
    ):
        check(AdaGradWithoutUpdate(), "reference", "AdaGrad")


def test_without_a_reference_an_optimizer_that_does_nothing_is_found() -> None:
    report = check(RMSPropWithoutParameters(), "pytorch")
    assert {c.name for c in report.wrong} == {"moves"}
    assert "has gradients and never changes" in report.wrong[0].text


def test_state_outside_of_the_checkpoint_is_found() -> None:
    report = check(Unsaved(0.01), "reference", "Momentum(0.01)")
    assert "resumption" in {c.name for c in report.wrong}


class MyAdam(d5.UpdateRuleOptimizer):
    """Adam as a user writes it."""

    def __init__(self, beta2: float = 0.999):
        self.beta2 = beta2
        self.count: dict[str, int] = {}
        self.mean: dict[str, Any] = {}
        self.square: dict[str, Any] = {}

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        t = self.count[param_name] = self.count.get(param_name, 0) + 1
        self.mean[param_name] = 0.9 * self.mean.get(param_name, 0.0) + 0.1 * grad
        square = (1 - self.beta2) * grad**2
        self.square[param_name] = self.beta2 * self.square.get(param_name, 0.0) + square
        mean = self.mean[param_name] / (1 - 0.9**t)
        root = np.sqrt(self.square[param_name] / (1 - self.beta2**t))
        return old_param - 1e-3 * mean / (root + 1e-8)


@pytest.mark.parametrize("framework", ["reference", "pytorch"])
def test_a_users_class_is_checked_against_a_rule(framework: str) -> None:
    assert check(MyAdam(), framework, "Adam")
    assert not check(MyAdam(beta2=0.9), framework, "Adam")


class StepwiseAdamW(Optimizer):
    """As a textbook writes it, with powers of the step."""

    learning_rate: float = 0.01

    def init(self, xp: Any, param: Any) -> dict:
        return {"m": xp.zeros_like(param), "v": xp.zeros_like(param)}

    def update(self, xp: Any, param: Any, grad: Any, state: dict, step: Any) -> tuple:
        m = 0.9 * state["m"] + 0.1 * grad
        v = 0.999 * state["v"] + 0.001 * grad * grad
        mean, square = m / (1 - 0.9**step), v / (1 - 0.999**step)
        param = param * (1 - self.learning_rate * 0.01)
        param = param - self.learning_rate * mean / (xp.sqrt(square) + 1e-8)
        return param, {"m": m, "v": v}


@pytest.mark.parametrize("framework", ["reference", "onnxruntime", "pytorch"])
def test_a_formula_may_compute_with_the_step_in_every_dtype(framework: str) -> None:
    reference = "AdamW(0.01, weight_decay=0.01)"
    report = d5.check_optimizer(
        StepwiseAdamW(), framework, reference=reference, steps=20
    )
    assert report.ok, report


def test_a_frameworks_own_optimizer_is_checked_against_ours() -> None:
    assert check(d5torch.AdamOptimizer(0.01), "pytorch")
    assert not check(d5torch.AdamOptimizer(0.01), "pytorch", "Adam(0.011)")


def test_a_deviation_says_where_it_begins() -> None:
    start = {"w": np.zeros(2)}
    truth = [{"w": np.full(2, step)} for step in (1.0, 2.0, 3.0)]
    path = [{"w": np.full(2, step)} for step in (1.0, 2.2, 3.0)]
    value, step = deviation(path, truth, start, "float64")
    assert step == 2 and value == pytest.approx(0.1, rel=1e-3)
    path[0]["w"][0] = np.nan
    assert deviation(path, truth, start, "float64") == (float("inf"), 1)


def test_the_verb_writes_a_bundle(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "bundle"
    words = [
        "check",
        "optimizer",
        "Momentum",
        "--framework",
        "reference",
        "--steps",
        "5",
    ]
    assert main([*words, "--out", str(out), "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["ok"] and numbers["kind"] == "optimizer_check"
    assert main(["verify", str(out)]) == 0
    capsys.readouterr()
    assert main(["show", str(out)]) == 0
    assert "Momentum: reference" in capsys.readouterr().out


def test_the_verb_finds_a_wrong_class_in_a_file(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "my_optimizer.py"
    file.write_text(
        "import deep500 as d5\n\n"
        "class Ascent(d5.UpdateRuleOptimizer):\n"
        "    def update_rule(self, grad, old_param, param_name):\n"
        "        return old_param + 0.01 * grad\n\n\n"
        "class Leaves(d5.UpdateRuleOptimizer):\n"
        "    def update_rule(self, grad, old_param, param_name):\n"
        "        import os\n"
        "        os._exit(3)\n"
    )
    words = ["--framework", "reference", "--reference", "SGD(0.01)", "--steps", "3"]
    for name, said in (
        ("Ascent", "steps"),
        ("Leaves", "the process ended with exit code 3"),
    ):
        out = ["--out", str(tmp_path / name)]
        assert main(["check", "optimizer", f"{file}:{name}", *words, *out]) == 1
        assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Adamm"], "No optimizer is named 'Adamm'|Did you mean 'Adam'"),
        (["nowhere.py:Mine"], "there is no file nowhere.py"),
        (
            ["Adam(1, 2"],
            r"cannot be read at character 5 .*: write a name with settings, such as Adam",
        ),
        (["Adam", "--set", "beta3=1"], "no setting of Adam is named 'beta3'"),
        (["ClipByNorm"], "changes gradients and is no optimizer by itself"),
        (["Adam", "--steps", "1"], "too few"),
        (["Adam", "--reference", "Adammm"], "Did you mean"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: Any
) -> None:
    out = ["--out", str(tmp_path / "bundle"), "--framework", "reference"]
    assert main(["check", "optimizer", *words, *out]) == 2
    error = capsys.readouterr().err
    assert re.search(message, error) and "Traceback" not in error


def test_a_class_that_no_other_process_can_import_says_so() -> None:
    class Typed(d5.UpdateRuleOptimizer):
        def update_rule(self, grad, old_param, param_name):
            return old_param - 0.01 * grad

    def notes(optimizer: object) -> list[str]:
        report = d5.check_optimizer(
            optimizer, "reference", reference="SGD(0.01)", steps=3
        )
        assert report.ok
        return [check.text for check in report.checks if check.name == "new process"]

    [note] = notes(Typed())
    assert "in the same process" in note and "import Typed" in note
    assert "write the class into a file" in note
    assert notes(d5.optimizers.SGD(0.01)) == []


def test_a_lost_state_of_such_a_class_is_found_in_the_same_process() -> None:
    class Forgets(d5.UpdateRuleOptimizer):
        # of the class, not of the object: no checkpoint has it
        velocity: ClassVar[dict[Any, Any]] = {}

        def update_rule(self, grad, old_param, param_name):
            key = (param_name, old_param.dtype.name)
            self.velocity[key] = 0.9 * self.velocity.get(key, 0) + grad
            return old_param - 0.01 * self.velocity[key]

    report = d5.check_optimizer(Forgets(), "reference", steps=3)
    [first, *_] = [c for c in report.wrong if c.name == "resumption"]
    assert "resumed in the same process" in first.text


MOMENTA: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


class SignsWithMomentumLost(d5.UpdateRuleOptimizer):
    """Of every object, but not in its attributes: no checkpoint has it."""

    def update_rule(self, grad, old_param, param_name):
        momenta = MOMENTA.setdefault(self, {})
        momentum = momenta.get(param_name, np.zeros_like(grad))
        momenta[param_name] = 0.99 * momentum + 0.01 * grad
        return old_param - 0.001 * np.sign(0.9 * momentum + 0.1 * grad)


def test_a_lost_momentum_of_signs_is_found() -> None:
    report = d5.check_optimizer(SignsWithMomentumLost(), "reference", steps=3)
    assert {c.name for c in report.wrong} == {"resumption"}
    assert d5.check_optimizer("Lion(0.001)", "reference", steps=3)


def test_the_verb_needs_no_reference(tmp_path: Path) -> None:
    words = ["check", "optimizer", "SGD", "--framework", "reference", "--steps", "3"]
    assert main([*words, "--out", str(tmp_path / "right")]) == 0
    assert main([*words, "--reference", ""]) == 2
