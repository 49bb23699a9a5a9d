"""A user's code, judged from another process than the one it runs in: it never sees the verdict, nor the truth."""

import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...contracts.operator import Operator
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp
from ...custom.python import CustomPythonOp
from ..shapes import inputs_of
from .examples import Domain, Example, Reference, examples_of
from .formats import is_float
from .judging import DTYPES, Progress, check_examples, ended, quiet
from .pictured import Pictured, furthest_off
from .processes import POISON, Lost, Processes, Questioned
from .remote import remote_operator
from .report import OperatorReport
from .subjects import (
    adapted,
    declared_domain,
    examples_for,
    instance_of,
    is_ours,
    named,
    needs_reference,
)
from .treatment import sanitizing
from .wire import PLAIN

Address = Mapping[str, Any]


def address_of(thing: Any) -> Address | None:
    """Where another process finds an operator or a function; None where it cannot, or need not: it is built in."""
    operator = (
        thing.adapted
        if isinstance(thing, Operator) and thing.adapted is not None
        else thing
    )
    if operator is None or (isinstance(operator, Operator) and is_ours(operator)):
        return None
    if isinstance(operator, CppOp):
        return _source(operator)
    if isinstance(operator, Operator | CustomOp):
        return _instance(operator)
    return _by_name(operator, {}) if inspect.isfunction(operator) else None


def named_address(
    text: str, attributes: Mapping[str, Any], function: bool = False
) -> Address:
    """What a command line names: an operator, or a function too."""
    return {"text": text, "attributes": dict(attributes), "function": function}


def _source(operator: CppOp) -> Address | None:
    if operator.described:
        return None
    return named_address(
        f"{operator.source.resolve()}:{operator.name}", operator.definitions
    )


def _instance(operator: Any) -> Address | None:
    """An instance by its class and what that is made with."""
    parameters = inspect.signature(type(operator)).parameters.values()
    known = operator.settings if isinstance(operator, Operator) else vars(operator)
    settings = {p.name: known[p.name] for p in parameters if p.name in known}
    missing = [p for p in parameters if p.default is p.empty and p.name not in settings]
    if missing or not all(isinstance(value, PLAIN) for value in settings.values()):
        return None
    if isinstance(operator, CustomPythonOp) and operator.described_by_caller:
        return None
    return _by_name(type(operator), settings)


def _by_name(thing: Any, settings: Mapping[str, Any]) -> Address | None:
    """By module and name, if what is found there is this."""
    module, name = thing.__module__, thing.__qualname__
    if module == "__main__" or "<" in name or importlib.util.find_spec(module) is None:
        return None
    return {"module": module, "name": name, "settings": dict(settings)}


@dataclass(frozen=True)
class Request:
    """What is checked, and how. Inputs are arrays or shapes, or `shapes` says them as a command line does."""

    subject: Address
    framework: str
    reference: Address | None = None
    inputs: Sequence[Any] | None = None
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
        return str(self.subject.get("text") or self.subject.get("name")).rpartition(
            ":"
        )[2]


def check_elsewhere(
    request: Request,
    progress: Progress | None = None,
    pictured: list[Pictured] | None = None,
) -> OperatorReport:
    """Check what lies at an address, in processes of its own; arrays for pictures are added to that list."""
    say = progress or (lambda text: None)
    with Processes(request.timeout_s) as processes, quiet():
        try:
            say(f"starting {request.framework}")
            dock, operator, truth = _opened(processes, request)
            examples = _examples(request, operator, truth)
        except Lost as error:
            return OperatorReport(
                request.name, request.framework, "user's", [ended(error)], True
            )
        given = bool(request.shapes) or request.inputs is not None
        report = check_examples(
            examples,
            dock,
            request.framework,
            request.dtypes,
            say,
            isolated=True,
            keep_rank=given,
        )
        try:
            if request.sanitize:
                say("the sanitizers")
                report.checks.append(
                    sanitizing(dock, examples[0].cast(request.dtypes[-1]))
                )
            if pictured is not None:
                say("the runs for pictures")
                found = furthest_off(dock, examples, request.dtypes[-1])
                pictured += [found] if found else []
        except Lost as error:
            report.checks.append(ended(error))
    return report


def _opened(
    processes: Processes, request: Request
) -> tuple[Questioned, Any, Reference | None]:
    """The process that the operator runs in, the operator as it is known here, and the reference."""
    dock = processes.start("dock", POISON)
    others = {role: processes.start(role) for role in _roles(request)}
    descriptions = dock.open(request.sent)
    told = {role: process.open(request.sent) for role, process in others.items()}
    reference = others.get("reference")
    truth = Referred(reference) if reference else None
    if is_built_in(request.subject):
        operator = _built_in(request)
        known = _operators_of(operator, request.seed)
    elif descriptions[0]["function"]:
        operator = _function(request, descriptions[0], told, truth)
        known = [operator]
    else:
        witness = others["witness"]
        operator = remote_operator(
            descriptions[0], witness, others.get("first", witness)
        )
        known = [operator]
    for process in (dock, *others.values()):
        process.operators = known
    return dock, operator, truth


def _roles(request: Request) -> list[str]:
    """Who else is asked: with a reference that, without one code that has not run before."""
    roles = [] if is_built_in(request.subject) else ["witness"]
    if request.reference:
        return [*roles, "reference"]
    return [*roles, "first"] if roles else []


def is_built_in(address: Address) -> bool:
    return ":" not in address.get("text", ":")


def _built_in(request: Request) -> Operator | type[Operator]:
    found = named(
        request.subject["text"], request.subject["attributes"], function=False
    )
    return instance_of(found) if request.shapes and isinstance(found, type) else found


def _operators_of(subject: Operator | type[Operator], seed: int) -> list[Operator]:
    if isinstance(subject, type):
        return [example.operator for example in examples_of(subject, seed)]  # type: ignore[arg-type]
    return [subject]


def _function(
    request: Request,
    told: dict[str, Any],
    others: Mapping[str, Any],
    truth: "Referred | None",
) -> Operator:
    name = str(told["name"])
    if truth is None:
        raise needs_reference(name)
    [facts] = others["reference"]
    try:
        labels, required = tuple(map(str, facts["labels"])), int(facts["required"])
        domain = Domain(*map(float, told["declared_domain"]))
        own = tuple(map(str, told["labels"]))
    except (KeyError, TypeError, ValueError):
        raise truth.process.malformed("a description of a function") from None
    labels = own if len(own) == len(labels) else labels
    return adapted(name, truth, truth, request.framework, labels, required, domain)


@dataclass(frozen=True)
class Referred:
    """A reference in another process."""

    process: Questioned

    def __call__(self, *inputs: Any) -> Any:
        return self.each([inputs])[0]

    def each(self, calls: Sequence[Sequence[Any]]) -> list:
        made = self.process.each("reference", [(tuple(inputs),) for inputs in calls])
        if not isinstance(made, list) or len(made) != len(calls):
            raise self.process.malformed("one answer for every question")
        return made


def _examples(
    request: Request, operator: Any, truth: Reference | None
) -> list[Example]:
    """One example for each shape; without any, what the operator's own cases give."""
    seed, where = request.seed, (truth, request.framework)
    if not request.shapes:
        return examples_for(operator, request.inputs, *where, seed, request.domain)
    found = []
    for i, shape in enumerate(request.shapes):
        domain = request.domain or declared_domain(operator)
        drawn = inputs_of(operator, shape, "float32", seed)
        inputs = [domain.moved(x) if is_float(x) else x for x in drawn]
        [example] = examples_for(operator, inputs, *where, seed, domain)
        found.append(replace(example, name=f"{type(operator).__name__}-{i}"))
    return found
