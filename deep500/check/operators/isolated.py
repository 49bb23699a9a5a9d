"""A user's code, judged from another process than its own: it sees neither the verdict nor the truth."""

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp
from ...custom.python import CustomPythonOp
from ...frameworks import framework as find_framework
from ...import_address import import_address
from ..report import CheckReport, CheckResult
from ..wire import PLAIN
from .examples import XP, Domain, Example, Reference, examples_of
from .formats import Values, map_arrays, map_floats
from .furthest_off import FurthestOutputs, furthest_off
from .judging import DTYPES, Progress, check_examples, ended, quiet
from .oracle import noise_of
from .processes import OperatorProcess, Processes, ProcessLost, RemoteRunner
from .remote_operator import remote_operator
from .robustness import sanitizing
from .runner import Runner
from .shape_text import inputs_of
from .subjects import (
    SHAPE,
    adapted,
    declared_domain,
    examples_for,
    free_rank,
    instance_of,
    is_ours,
    named,
)

Address = Mapping[str, Any]


def address_of(thing: Any) -> Address | None:
    """Where another process finds an operator or a function; None if it cannot, or need not: it is built in."""
    operator = thing
    if isinstance(thing, Operator) and thing.adapted is not None:
        operator = thing.adapted
    if operator is None:
        return None
    if isinstance(operator, Operator) and is_ours(operator):
        return None
    if isinstance(operator, CppOp):
        return _source(operator)
    if isinstance(operator, Operator | CustomOp):
        return _instance(operator)
    if inspect.isfunction(operator):
        return _by_name(operator, {})
    return None


def named_address(text: str, attributes: Mapping[str, Any]) -> Address:
    """The address of what a command line names: an operator, a function, or a reference."""
    return {"text": text, "attributes": dict(attributes)}


def _source(operator: CppOp) -> Address | None:
    """The address of a C++ operator; None if the caller described it, which its file does not tell."""
    if operator.described:
        return None
    source = operator.source.resolve()
    return named_address(f"{source}:{operator.name}", operator.definitions)


def _instance(operator: Any) -> Address | None:
    """The address of an instance: its class and the arguments of the constructor."""
    parameters = inspect.signature(type(operator)).parameters.values()
    values = operator.settings if isinstance(operator, Operator) else vars(operator)
    settings = {}
    for parameter in parameters:
        if parameter.name in values:
            settings[parameter.name] = values[parameter.name]
        elif parameter.default is parameter.empty:
            return None
    if not all(isinstance(value, PLAIN) for value in settings.values()):
        return None
    if isinstance(operator, CustomPythonOp) and operator.described_by_caller:
        return None
    return _by_name(type(operator), settings)


def _by_name(thing: Any, settings: Mapping[str, Any]) -> Address | None:
    """The address of a class or a function; None if another process cannot import it."""
    address = import_address(thing)
    if address is None:
        return None
    name = thing.__qualname__
    return {"import": address, "name": name, "settings": dict(settings)}


@dataclass(frozen=True)
class CheckRequest:
    """What is checked, and how. Inputs are arrays or shapes, or `shapes` gives them as a command line does."""

    subject: Address
    framework: str
    reference: Address | None = None
    inputs: Values | None = None
    shapes: Sequence[str] = ()
    dtypes: Sequence[str] = DTYPES
    seed: int = 0
    domain: Domain | None = None
    timeout_s: float = 120.0
    sanitize: bool = False

    @property
    def sent(self) -> dict[str, Any]:
        """What the processes are told."""
        return {
            "subject": dict(self.subject),
            "reference": self.reference and dict(self.reference),
            "framework": self.framework,
            "single": bool(self.shapes),
            "path": sys.path,
        }

    @property
    def name(self) -> str:
        name = self.subject.get("text") or self.subject.get("name")
        return str(name).rpartition(":")[2]


def check_elsewhere(
    request: CheckRequest,
    progress: Progress | None = None,
    furthest: list[FurthestOutputs] | None = None,
) -> CheckReport:
    """Check what lies at an address, in processes of its own; the list, if given, receives arrays for pictures."""
    say = progress or (lambda text: None)
    framework = request.framework
    with Processes(request.timeout_s) as processes, quiet():
        try:
            say(f"starting {framework}")
            runner, operator, truth = _opened(processes, request)
            examples = _examples(request, operator, truth)
        except ProcessLost as error:
            return CheckReport(
                "operator",
                request.name,
                framework,
                "user's",
                [ended(error)],
                isolated=True,
            )
        report = check_examples(
            examples,
            runner,
            framework,
            request.dtypes,
            say,
            isolated=True,
            keep_rank=bool(request.shapes) or request.inputs is not None,
        )
        if _are_guessed(request, examples[0]):
            report = replace(report, checks=with_guess(report.checks))
        last_dtype = request.dtypes[-1]
        try:
            if request.sanitize:
                say("the sanitizers")
                example = examples[0].cast(last_dtype)
                report.checks.append(sanitizing(runner, example))
            if furthest is not None:
                say("the runs for pictures")
                arrays = furthest_off(runner, examples, last_dtype)
                if arrays:
                    furthest.append(arrays)
        except ProcessLost as error:
            report.checks.append(ended(error))
    return report


def _are_guessed(request: CheckRequest, example: Example) -> bool:
    """Whether nobody said how large the inputs are."""
    is_given = bool(request.shapes) or request.inputs is not None
    is_users = not is_built_in(request.subject)
    return is_users and not is_given and free_rank(example.operator)


def with_guess(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """The checks; that of the shapes, and the first that is wrong, say that the inputs were guessed."""
    guess = "x".join(map(str, SHAPE))
    text = f"the inputs are guessed as {guess} each: give --shape (inputs= in Python) for others"
    told = list(checks)
    for i, check in enumerate(checks):
        if check.name == "shape" and not check.regime and check.ok:
            told[i] = replace(check, text=text)
    for i, check in enumerate(checks):
        if check.ok is False:
            told[i] = replace(check, text=f"{check.text}; {text}")
            break
    return told


def _opened(
    processes: Processes, request: CheckRequest
) -> tuple[Runner, Any, Reference | None]:
    """What runs the operator, the operator as it is known here, and the reference."""
    runner = processes.start("runner")
    others = {role: processes.start(role) for role in _roles(request)}
    [description, *_] = runner.open(request.sent)
    descriptions = {}
    for role, process in others.items():
        descriptions[role] = process.open(request.sent)
    reference = others.get("reference")
    truth = RemoteReference(reference) if reference else None
    operator: Any
    if is_built_in(request.subject):
        operator = _built_in(request)
        operators = _operators_of(operator, request.seed)
    elif description["function"]:
        operator = _function(request, description, descriptions, others, truth)
        operators = [operator]
    else:
        operator = remote_operator(description, others["oracle"], others["fresh"])
        operators = [operator]
    for process in (runner, *others.values()):
        process.operators = operators
    return RemoteRunner(runner), operator, truth


def _roles(request: CheckRequest) -> list[str]:
    """The processes besides the runner: of a user's code also one that has not run before, and the reference."""
    roles = []
    if not is_built_in(request.subject):
        roles += ["oracle", "fresh"]
    if request.reference:
        roles.append("reference")
    return roles


def is_built_in(address: Address) -> bool:
    return ":" not in address.get("text", ":")


def _built_in(request: CheckRequest) -> Operator | type[Operator]:
    """A class, which is checked with all its cases, or an instance, which is checked with the request's shapes."""
    subject = request.subject
    operator = named(subject["text"], subject["attributes"], function=False)
    if request.shapes and isinstance(operator, type):
        return instance_of(operator)
    return operator


def _operators_of(subject: Operator | type[Operator], seed: int) -> list[Operator]:
    if isinstance(subject, type):
        return [example.operator for example in examples_of(subject, seed)]  # type: ignore[arg-type]
    return [subject]


def _function(
    request: CheckRequest,
    description: dict[str, Any],
    descriptions: Mapping[str, Any],
    processes: Mapping[str, OperatorProcess],
    truth: "RemoteReference | None",
) -> Operator:
    """A function of another process as an operator, whose formula is the reference, or itself in float64."""
    name = str(description["name"])
    role = "oracle" if truth is None else "reference"
    [facts] = descriptions[role]
    oracle = processes["oracle"]
    truth = truth or RemoteReference(oracle)
    try:
        labels = tuple(map(str, facts["labels"]))
        required = int(facts["required"])
        domain = Domain(*map(float, description["declared_domain"]))
        labels_of_function = tuple(map(str, description["labels"]))
        if labels_of_function:
            required = min(required, int(description["required"]))
    except (KeyError, TypeError, ValueError):
        raise truth.process.malformed("a description of a function") from None
    if len(labels_of_function) == len(labels):
        labels = labels_of_function
    derived = None
    if find_framework(request.framework).abilities.autodiff:
        derived = RemoteDerivative(oracle)
    return adapted(
        name, truth, truth, request.framework, labels, required, domain, derived
    )


@dataclass(frozen=True)
class RemoteReference:
    """A reference in another process."""

    process: OperatorProcess

    def __call__(self, *inputs: Any) -> Any:
        return self.each([(inputs, XP)])[0]

    def each(self, calls: Sequence[tuple[Values, Any]]) -> list:
        questions = []
        for inputs, xp in calls:
            questions.append((map_arrays(np.asarray, inputs), noise_of(xp)))
        return self.process.ask_each("reference", questions)


@dataclass(frozen=True)
class RemoteDerivative:
    """The derivative of a function in another process, as its framework differentiates it."""

    process: OperatorProcess

    def __call__(
        self,
        operator: Operator,
        calls: Sequence[tuple[Values, Values, Any]],
    ) -> list[list]:
        questions = []
        for inputs, seeds, xp in calls:
            arrays = (
                map_arrays(np.asarray, inputs),
                map_arrays(np.asarray, seeds),
            )
            questions.append((operator, *arrays, noise_of(xp)))
        return self.process.ask_each("differentiated", questions)


def _examples(
    request: CheckRequest, operator: Any, truth: Reference | None
) -> list[Example]:
    """One example for each shape; without shapes, those of the inputs or of the operator's own cases."""
    seed = request.seed
    framework = request.framework
    if not request.shapes:
        return examples_for(
            operator, request.inputs, truth, framework, seed, request.domain
        )
    examples = []
    name = type(operator).__name__
    for i, shape in enumerate(request.shapes):
        domain = request.domain or declared_domain(operator)
        drawn = inputs_of(operator, shape, "float32", seed)
        inputs = map_floats(domain.moved, drawn)
        [example] = examples_for(operator, inputs, truth, framework, seed, domain)
        renamed = replace(example, name=f"{name}-{i}")
        examples.append(renamed)
    return examples
