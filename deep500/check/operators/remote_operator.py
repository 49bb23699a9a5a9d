"""Operators of other processes as operators of this one: described by their process, which also computes."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...contracts.operator import Case, Operator, TensorSpec
from ..wire import PLAIN
from .examples import FRESH, Domain, tensors
from .formats import Values, map_arrays
from .oracle import noise_of
from .processes import OperatorProcess
from .subjects import arity, declared_domain, free_rank, is_compiled


@dataclass
class AnswerHistory:
    """How code answers: a question of each form with its truth, and whether another answer has come since."""

    truths: dict[str, tuple[tuple, Any]] = field(default_factory=dict)
    remembers: bool = False


class Remote(Operator):
    """An operator of other processes. Results and gradients are those of its code there."""

    oracle: OperatorProcess  # asked for everything but the truth
    fresh: OperatorProcess  # asked for the truth: it answers in a copy of itself that has not run the code before
    description: dict[str, Any]

    def forward(self, xp, *xs):  # an annotation would make them static
        raise NotImplementedError

    def run(self, xp: Any, *inputs: Any) -> tuple:
        return self.run_each([(inputs, xp)])[0]

    def run_each(self, calls: Sequence[tuple[Values, Any]]) -> list[tuple]:
        """The results of several calls, asked in one question."""
        if not calls:
            return []
        questions = []
        for inputs, xp in calls:
            questions.append((self, _plain(inputs), noise_of(xp)))
        _, xp = calls[0]
        answers = self._answers(xp, "results", questions)
        for results in answers:
            is_tuple = isinstance(results, tuple)
            if not is_tuple or not all(map(_is_result, results)):
                raise self.oracle.malformed("results")
        return answers

    def derived_each(self, calls: Sequence[tuple[Values, Values, Any]]) -> list[list]:
        """The gradients of several calls, asked in one question."""
        questions = []
        for inputs, seeds, xp in calls:
            arrays = _plain(inputs), _plain(seeds)
            questions.append((self, *arrays, noise_of(xp)))
        _, _, xp = calls[0]
        answers = self._answers(xp, "derived", questions)
        for (inputs, _, _), gradients in zip(calls, answers, strict=True):
            if not isinstance(gradients, list) or len(gradients) != len(inputs):
                raise self.oracle.malformed("gradients")
        return answers

    def _answers(self, xp: Any, method: str, questions: Sequence[tuple]) -> list:
        """One answer for every question: from `fresh` if it is the truth that is asked for.

        Otherwise a truth is asked for again, at the end: code that gives another one remembers what it was called
        with, and answers no two questions in the same process.
        """
        if xp is not FRESH and not self._history.remembers:
            known = self._history.truths.get(_form(method, questions[-1]))
            again = [known[0]] if known else []
            answers = self.oracle.ask_each(method, [*questions, *again])
            if not known or _same_bits(answers.pop(), known[1]):
                return answers
            self._history.remembers = True
        answers = []
        for question in questions:
            answers += self.fresh.ask_each(method, [question])
        if xp is FRESH:
            form = _form(method, questions[-1])
            self._history.truths[form] = questions[-1], answers[-1]
        return answers

    def infer(self, *inputs: Any) -> tuple[TensorSpec, ...]:
        key = repr(inputs)
        if key not in self._inferred:
            self._inferred[key] = self.oracle.ask("infer", self, inputs)
        outputs = self._inferred[key]
        if not isinstance(outputs, tuple):
            raise self.oracle.malformed("shapes")
        if not all(isinstance(output, TensorSpec) for output in outputs):
            raise self.oracle.malformed("shapes")
        return outputs

    @cached_property
    def _history(self) -> "AnswerHistory":
        return AnswerHistory()

    @cached_property
    def _inferred(self) -> dict[str, Any]:
        return {}

    @property
    def differentiable(self) -> bool:
        return bool(self.description["differentiable"])

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.description["settings"])


class WithCosts(Remote):
    """One that says how many operations it needs."""

    def flops(self, *inputs: Any) -> int:
        return int(self.oracle.ask("flops", self, inputs))


def remote_operator(
    description: dict[str, Any], oracle: OperatorProcess, fresh: OperatorProcess
) -> Remote:
    """An operator by the description that its process gave."""
    try:
        base = WithCosts if description["flops"] else Remote
        body: dict[str, Any] = {"__doc__": "An operator of a user's."}
        class_name = str(description["name"])
        cls: Any = type(class_name, (base,), body)
        inputs = {}
        for input_name, facts in description["inputs"].items():
            parameter = _parameter(str(input_name), facts)
            inputs[parameter.name] = parameter
        cls.inputs = inputs
        cls.cases = []
        for case in description["cases"]:
            cls.cases.append(Case(case["attributes"], case["inputs"]))
        for name, kind in CLASS_FACTS.items():
            setattr(cls, name, kind(description[name]))
        operator: Remote = cls(oracle, fresh, description)
        return operator
    except (KeyError, TypeError, ValueError, AttributeError):
        raise oracle.malformed("a description of an operator") from None


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(map(str, values))


def _count(value: Any) -> int | None:
    return None if value is None else int(value)


def _domain(ends: Any) -> Domain:
    return Domain(float(ends[0]), float(ends[1]))


CLASS_FACTS: dict[str, Callable[[Any], Any]] = {
    "outputs": _texts,
    "saved": _texts,
    "static": lambda names: frozenset(_texts(names)),
    "wanted": _texts,
    "labels": _texts,
    "random": bool,
    "data_dependent": bool,
    "native_outputs": _count,
    "arity": int,
    "custom": bool,
    "compiled": bool,
    "free_rank": bool,
    "declared_domain": _domain,
}


def describe(operator: Operator) -> dict[str, Any]:
    """The description of an operator, which its process gives to the judge."""
    cls = type(operator)
    inputs = {}
    for name, parameter in cls.inputs.items():
        is_variadic = parameter.kind is parameter.VAR_POSITIONAL
        has_default = parameter.default is not parameter.empty
        inputs[name] = [is_variadic, has_default]
    cases = []
    for case in cls.cases:
        attributes, case_inputs = dict(case.attributes), dict(case.inputs)
        cases.append({"attributes": attributes, "inputs": case_inputs})
    settings = {}
    for name, value in operator.settings.items():
        if isinstance(value, PLAIN):
            settings[name] = value
    domain = declared_domain(operator)
    return {
        "name": cls.__name__,
        "inputs": inputs,
        "cases": cases,
        "outputs": cls.outputs,
        "saved": cls.saved,
        "static": tuple(cls.static),
        "wanted": cls.wanted,
        "labels": tuple(getattr(operator, "labels", ())),
        "random": cls.random,
        "data_dependent": cls.data_dependent,
        "native_outputs": cls.native_outputs,
        "arity": arity(cls),
        "custom": operator.adapted is not None,
        "compiled": is_compiled(operator),
        "free_rank": free_rank(operator),
        "declared_domain": (domain.low, domain.high),
        "differentiable": operator.differentiable,
        "settings": settings,
        "flops": cls.flops is not Operator.flops,
    }


def _parameter(name: str, facts: Any) -> inspect.Parameter:
    is_variadic, has_default = facts
    default = None if has_default else inspect.Parameter.empty
    if is_variadic:
        kind: Any = inspect.Parameter.VAR_POSITIONAL
    else:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default)


def _form(method: str, question: tuple) -> str:
    """The method with the shapes and dtypes of the inputs: what careless code keeps its results by."""
    _, inputs, *_ = question
    return repr((method, tensors(inputs)))


def _same_bits(answers: Sequence[Any], truths: Sequence[Any]) -> bool:
    if len(answers) != len(truths):
        return False
    for answer, truth in zip(answers, truths, strict=True):
        same_kind = np.shape(answer) == np.shape(truth)
        if not same_kind or np.asarray(answer).tobytes() != np.asarray(truth).tobytes():
            return False
    return True


def _plain(values: Values) -> tuple:
    """The values with arrays of NumPy's own class."""
    return map_arrays(np.asarray, values)


def _is_result(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)
