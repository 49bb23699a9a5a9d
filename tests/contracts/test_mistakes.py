"""What the author of a definition is told about a mistake: one line that names the definition and what it needs."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import deep500 as d5
from deep500 import operators, registry
from deep500.bundle.records.recording import recording
from deep500.check.operators import examples
from deep500.contracts.operator import Operator
from deep500.contracts.result import ResultKind, result_kind
from deep500.contracts.task import Array
from deep500.errors import Deep500Error
from deep500.training.evaluation import evaluate
from deep500.training.metric_summary import metric_value


class Empty(d5.Task):
    input: str = "x"
    target: str = "x"
    prediction: str = "x"
    qualities = (d5.Quality("error", "", "lower"),)


class NoKind(ResultKind):
    pass


class NoLoss(d5.Loss):
    pass


class NoMetric(d5.Metric):
    pass


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda: Empty().arrays(), "arrays"),
        (lambda: Empty().measure({}, {}), "measure"),
        (lambda: NoKind().check_plan({}), "check_plan"),
        (lambda: NoKind().derive({}, []), "derive"),
        (lambda: NoLoss().formula(np, np.ones(2), np.ones(2)), "formula"),
        (lambda: NoMetric().value(d5.History(0)), "value"),
    ],
)
def test_a_missing_method_is_named(call: Callable[[], object], method: str) -> None:
    with pytest.raises(
        Deep500Error, match=rf"^(Empty|No\w+) has no method '{method}', which it"
    ):
        call()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "class Broken\n    pass\n",
            r"broken.py cannot be imported: SyntaxError: .*line 1\)$",
        ),
        (
            "import no_such_package\n",
            "broken.py cannot be imported: ModuleNotFoundError: No module",
        ),
        ("class Other:\n    pass\n", "broken.py holds no class of its own name"),
    ],
)
def test_a_file_that_is_wrong_is_named(text, said, tmp_path, monkeypatch) -> None:
    (tmp_path / "broken.py").write_text(text)
    monkeypatch.setattr(operators, "__path__", [str(tmp_path)])
    monkeypatch.setattr(
        registry, "_files", lambda kind: {"broken": tmp_path / "broken.py"}
    )
    monkeypatch.setattr(registry, "known", registry.known.__wrapped__)
    with pytest.raises(Deep500Error, match=said):
        registry.find("operators", "Broken")
    sys.modules.pop("deep500.operators.broken", None)


def test_a_loss_is_called_a_loss() -> None:
    with pytest.raises(
        Deep500Error, match="no loss is named 'CrosEntropy'. Did you mean"
    ):
        registry.find("losses", "CrosEntropy")


def test_a_derivative_asks_for_what_there_is() -> None:
    with pytest.raises(
        TypeError, match="Typo: backward asks for dz; there are: dy, x, y"
    ):

        class Typo(Operator):
            def forward(self, xp, x):
                return x

            def backward(self, xp, dz, x):
                return dz


def test_a_shape_is_no_case() -> None:
    said = r"Shaped: \(3, 4\) among its cases is none; write case\(x=\(3, 4\)\)"
    with pytest.raises(TypeError, match=said):

        class Shaped(Operator):
            cases: ClassVar[Any] = ((3, 4),)

            def forward(self, xp, x):
                return x


def test_a_derivative_has_no_more_gradients_than_inputs() -> None:
    class Twice(Operator):
        def forward(self, xp, x):
            return x

        def backward(self, xp, dy):
            return dy, dy

    one = np.ones(3, np.float32)
    with pytest.raises(
        Deep500Error, match="backward of Twice gives 2 gradients, and there are 1"
    ):
        d5.gradient(Twice(), [one], grads=[one], framework="reference")


def test_an_operator_without_a_formula_or_without_xp_is_said_so() -> None:
    class Formless(Operator):
        pass

    class Xless(Operator):
        def forward(self, x):
            return x

    with pytest.raises(Deep500Error, match="Formless has no method 'forward'"):
        examples.draw_inputs(Formless, {"x": (2,)}, "")
    with pytest.raises(
        Deep500Error, match="it has none: forward takes self, xp and then"
    ):
        examples.draw_inputs(Xless, {"x": (2,)}, "")


def test_words_that_a_metric_or_a_task_does_not_know_are_refused() -> None:
    with pytest.raises(
        Deep500Error, match="Slip is of kind 'quality' and better 'smaller'"
    ):

        class Slip(d5.Metric):
            better = "smaller"  # type: ignore[assignment]

    with pytest.raises(
        Deep500Error, match="'error' is better 'low': say 'lower' or 'higher'"
    ):
        d5.Quality("error", "", "low")  # type: ignore[arg-type]
    with pytest.raises(Deep500Error, match="no 'float' numbers: say real or integer"):
        Array("float")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            lambda history: [1.0],
            r"gives \[1.0\] for seed 7: `value` returns a number, or None",
        ),
        (
            lambda history: history.series["rate"],
            r"fails on seed 7 \(KeyError: 'rate'\)",
        ),
    ],
)
def test_a_metric_that_fails_is_one_line(value, said) -> None:
    class Failing(d5.Metric):
        def value(self, history):
            return value(history)

    with pytest.raises(Deep500Error, match="the metric Failing " + said):
        metric_value(Failing(), d5.History(7))


class Echo:
    framework = d5.framework("reference")

    def inference(self, inputs):
        return {"x": inputs["x"]}


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        (lambda x: {"error": x.mean()}, "measures one 'error' for a whole batch"),
        (
            lambda x: {"eror": x},
            "has the quality 'error', and its `measure` gives: eror",
        ),
    ],
)
def test_a_task_measures_every_example_and_every_quality(measured, said) -> None:
    class Measuring(Empty):
        def measure(self, outputs, batch):
            return measured(outputs["x"])

    with pytest.raises(Deep500Error, match="the task Measuring " + said):
        evaluate(Echo(), Measuring(), d5.Split({"x": np.ones(5, np.float32)}), 2)


def test_a_loss_makes_the_output_loss() -> None:
    class Lost(d5.Loss):
        def add(self, network, prediction, target):
            return network.add_node("Sub", (prediction, target), ["lost"])

    network = d5.Network()
    network.add_input("x", (0, 3))
    network.add_output(network.add_node("Relu", ["x"], ["y"]))
    with pytest.raises(
        Deep500Error, match="Lost made 'lost': the last node of a loss has"
    ):
        Lost().attach(network)


def test_blocks_that_nobody_could_read_are_refused_while_they_are_recorded(
    tmp_path,
) -> None:
    plan = {"functions": [], "frameworks": [], "dtypes": [], "n": 1, "seed": 0}
    with (
        pytest.raises(Deep500Error, match="block 0"),
        recording("elementary", plan, tmp_path / "b", surroundings={}) as record,
    ):
        record.append({"nonsense": 1})
        record.finish()
    assert not (tmp_path / "b" / "manifest.json").exists()


def test_a_kind_that_is_nearly_known_is_offered() -> None:
    with pytest.raises(
        Deep500Error, match=r"there are: .*recipe.*\. Did you mean 'recipe'\?"
    ):
        result_kind("Recipes")


def test_a_misspelt_public_name_gets_the_nearest_one() -> None:
    with pytest.raises(AttributeError) as caught:
        d5.TestAcuracy  # type: ignore[attr-defined]  # noqa: B018
    said = (
        "module 'deep500' has no attribute 'TestAcuracy'. Did you mean 'TestAccuracy'?"
    )
    assert str(caught.value) == said


def test_importing_does_not_look_for_near_names() -> None:
    """Python asks the package for `registry` before it imports that file: nothing is to be searched then."""
    code = "import sys; from deep500 import registry; print('difflib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_a_misspelt_quality_or_split_is_not_nothing() -> None:
    history = d5.History(
        seed=0, evaluations=[{"validation": {"accuracy": 1.0}, "test": None}]
    )
    assert history.final("validation", "accuracy") == 1.0
    assert history.final("test", "acuracy") is None  # nothing was evaluated there
    with pytest.raises(
        Deep500Error, match="no quality is named 'acuracy'. Did you mean 'accuracy'?"
    ):
        history.final("validation", "acuracy")
    with pytest.raises(Deep500Error, match="Did you mean 'validation'?"):
        history.final("validaton", "accuracy")  # type: ignore[arg-type]
