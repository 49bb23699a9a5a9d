"""Optimizers of every kind on every framework, with and without a reference: right ones pass, ascent is found."""

import functools
from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500.cli import main

SOURCE = """
import deep500 as d5
from deep500.contracts.optimizer import Optimizer


class Descent(Optimizer):
    learning_rate: float = 0.01
    sign: float = -1.0

    def update(self, xp, param, grad, state, step):
        return param + self.sign * self.learning_rate * grad, {}


class PlainDescent(d5.UpdateRuleOptimizer):
    def __init__(self, learning_rate=0.01, sign=-1.0):
        self.learning_rate, self.sign = learning_rate, sign

    def update_rule(self, grad, old_param, param_name):
        return old_param + self.sign * self.learning_rate * grad


class Lion(d5.optimizers.Lion):
    def update(self, xp, param, grad, state, step):
        new, state = super().update(xp, param, grad, state, step)
        return new - self.learning_rate * self.weight_decay * param, state


class RightLion(d5.optimizers.Lion):
    pass


class MyLion(d5.optimizers.Lion):
    pass


VELOCITIES = {}


class Global(d5.UpdateRuleOptimizer):
    def update_rule(self, grad, old_param, param_name):
        VELOCITIES[param_name] = 0.9 * VELOCITIES.get(param_name, 0) + grad
        return old_param - 0.01 * VELOCITIES[param_name]

    def new_input(self):
        if VELOCITIES and next(iter(VELOCITIES.values())).dtype != "float64":
            VELOCITIES.clear()


SEEN = {}  # keeps the objects alive: an id is used again after its object


class FirstStep(Optimizer):
    learning_rate: float = 0.01

    def update(self, xp, param, grad, state, step):
        new = param - self.learning_rate * grad
        key = (id(self), param.shape)
        if key not in SEEN:
            SEEN[key] = self
            new = xp.where(step > 1, new - 0.1 * param, new)
        return new, {}


class ReturnsNone(Descent):
    def update(self, xp, param, grad, state, step):
        return None
"""
CLASSES = ("Descent", "PlainDescent")
SIGNS = {"honest": -1.0, "ascent": 1.0}
REFERENCES = {
    "no reference": None,
    "built-in": "SGD(0.01)",
    "file": "{file}:Descent(0.01)",
    "file, the other kind": "{file}:PlainDescent(0.01)",
    "torch.optim": "torch.optim.SGD(lr=0.01)",
    "optax": "optax.sgd(0.01)",
    "Keras": "keras.optimizers.SGD(0.01)",
}
QUICK = ("no reference", "built-in", "file", "torch.optim")
FRAMEWORKS = d5.available_frameworks()
LIBRARIES = {
    "pytorch": ("torch.optim.SGD(lr=0.01{0})", ", maximize=True"),
    "jax": ("optax.sgd({0}0.01)", "-"),
    "tensorflow": ("keras.optimizers.SGD({0}0.01)", "-"),
}


def _cells() -> list[Any]:
    cells = []
    for framework in FRAMEWORKS:
        for cls in CLASSES:
            for sign in SIGNS:
                for reference in REFERENCES:
                    is_quick = framework == "reference" and reference in QUICK
                    marks = [] if is_quick else [pytest.mark.slow]
                    cells.append(
                        pytest.param(framework, cls, sign, reference, marks=marks)
                    )
    return cells


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "mine.py"
    path.write_text(SOURCE)
    return path


def check(optimizer: Any, framework: str = "reference", reference: Any = None) -> Any:
    return d5.check_optimizer(
        optimizer, framework, reference=reference, dtypes=["float64"], steps=5
    )


@pytest.mark.parametrize(("framework", "cls", "sign", "reference"), _cells())
def test_ascent_is_found_and_descent_is_not(
    file: Path, framework: str, cls: str, sign: str, reference: str
) -> None:
    text = f"{file}:{cls}(0.01, sign={SIGNS[sign]})"
    given = REFERENCES[reference]
    report = check(text, framework, given and given.format(file=file))
    assert bool(report) is (sign == "honest"), report.wrong
    # the framework's own rule of the reference's name is compared as well
    wrong = {result.name for result in report.wrong} - {"native"}
    expected = {"descends"} if given is None else {"descends", "steps"}
    assert wrong == (set() if sign == "honest" else expected)
    [formula] = [result for result in report.checks if result.name == "formula"]
    if given is None:
        assert formula.ok is None and "anything independent" in formula.text
    else:
        assert formula.ok and formula.text.startswith("compared with")


@pytest.mark.slow
@pytest.mark.parametrize("framework", sorted(LIBRARIES.keys() & set(FRAMEWORKS)))
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("reference", REFERENCES)
def test_the_frameworks_own_are_subjects(
    file: Path, framework: str, sign: str, reference: str
) -> None:
    pattern, ascent = LIBRARIES[framework]
    text = pattern.format(ascent if sign == "ascent" else "")
    given = REFERENCES[reference]
    if framework == "tensorflow" and sign == "ascent" and given is None:
        pytest.skip("the built-in rule of the same settings is ascent, too")
    report = check(text, framework, given and given.format(file=file))
    assert bool(report) is (sign == "honest"), report.wrong


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("name", ["SGD", "Adam", "Lion", "Muon", "LAMB"])
def test_built_in_ones_are_right(framework: str, name: str) -> None:
    assert check(name, framework)


def test_an_instance_is_a_reference(file: Path) -> None:
    wrong = d5.optimizers.Adam(0.01)
    assert not check(wrong, reference=d5.optimizers.Adam(0.02))
    assert check(wrong, reference=d5.optimizers.Adam(0.01))


def test_objects_of_a_framework_are_references_and_subjects() -> None:
    import torch

    theirs = functools.partial(torch.optim.Adam, lr=0.01)
    assert check(d5.optimizers.Adam(0.01), reference=theirs)
    assert not check(d5.optimizers.Adam(0.02), reference=theirs)
    made = torch.optim.Adam([torch.zeros(2)], lr=0.01)
    assert check(d5.optimizers.Adam(0.01), reference=made)
    assert check(theirs, "pytorch", "Adam(0.01)")
    with pytest.raises(d5.Deep500Error, match="is no optimizer: give an instance"):
        check(object())


def test_a_wrong_formula_of_a_known_name_is_found(file: Path) -> None:
    report = check(f"{file}:Lion(0.01, weight_decay=0.1)")
    assert {result.name for result in report.wrong} == {"steps"}
    report = check(f"{file}:MyLion(0.01, weight_decay=0.1)")
    assert report and "textbook formula of Lion" in report.checks[0].text
    report = check(f"{file}:RightLion(0.01)")
    assert report and "not checked against anything" in report.checks[0].text


@pytest.mark.parametrize("name", ["Global", "FirstStep"])
def test_what_is_kept_outside_of_the_state_is_missed_after_resuming(
    file: Path, name: str
) -> None:
    report = check(f"{file}:{name}")
    assert "resumption" in {result.name for result in report.wrong}


def test_resumption_finds_a_file_whose_name_another_file_has(
    file: Path, tmp_path: Path
) -> None:
    namesake = tmp_path / file.name  # the second module of that name
    namesake.write_text(SOURCE)
    check(f"{file}:Descent")
    report = check(f"{namesake}:FirstStep")
    assert "resumption" in {result.name for result in report.wrong}


def test_what_returns_nothing_is_wrong_and_no_defect_of_ours(file: Path) -> None:
    report = check(f"{file}:ReturnsNone")
    assert "update of ReturnsNone returns a NoneType" in report.wrong[0].text
    with pytest.raises(d5.Deep500Error, match="the reference, .* cannot be run"):
        check("SGD(0.01)", reference=f"{file}:ReturnsNone")


def test_the_verb_says_what_the_formula_was_compared_with(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "optimizer", f"{file}:Descent", "--framework", "reference"]
    words += ["--steps", "3", "--dtype", "float64"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    said = capsys.readouterr().out
    assert "reference ok; its formula was not checked against anything" in said
    wrong = [*words, "--reference", f"{file}:Descent(0.02)"]
    assert main([*wrong, "--out", str(tmp_path / "b")]) == 1
    assert "compared with Descent(learning_rate=0.02" in capsys.readouterr().out
