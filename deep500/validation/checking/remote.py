"""Operators that lie in other processes, as operators here: what they are is told, what they compute is asked."""

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...contracts.operator import Case, Operator, Tensor
from .examples import FIRST, Domain
from .processes import Questioned
from .subjects import declared_domain, free_rank, is_compiled
from .wire import PLAIN
from .witness import noise_of


class Remote(Operator):
    """An operator that lies in other processes. Results and gradients are those of its code there."""

    witness: Any  # asked for everything but the truth
    first: Any  # asked for the truth: it runs every question in a copy of itself that has not run the code before
    description: dict[str, Any]

    def forward(self, xp, *xs):  # an annotation would make them static
        raise NotImplementedError

    def run(self, xp: Any, *inputs: Any) -> tuple:
        return self.run_each([(inputs, xp)])[0]

    def run_each(self, calls: Sequence[tuple[Sequence[Any], Any]]) -> list[tuple]:
        questions = [(self, _plain(inputs), noise_of(xp)) for inputs, xp in calls]
        made = self._asked(calls[0][-1]).each("results", questions) if calls else []
        for results in self._answers(made, len(calls)):
            if not isinstance(results, tuple) or not all(map(_is_result, results)):
                raise self.witness.malformed("results")
        return list(made)

    def derived_each(
        self, calls: Sequence[tuple[Sequence[Any], Sequence[Any], Any]]
    ) -> list[list]:
        questions = [
            (self, _plain(xs), _plain(seeds), noise_of(xp)) for xs, seeds, xp in calls
        ]
        made = self._asked(calls[0][-1]).each("derived", questions)
        for (inputs, _, _), found in zip(
            calls, self._answers(made, len(calls)), strict=True
        ):
            if not isinstance(found, list) or len(found) != len(inputs):
                raise self.witness.malformed("gradients")
        return list(made)

    def _answers(self, made: Any, count: int) -> list:
        if not isinstance(made, list) or len(made) != count:
            raise self.witness.malformed("one answer for every question")
        return made

    def infer(self, *inputs: Any) -> tuple[Tensor, ...]:
        known = self._inferred
        if (key := repr(inputs)) not in known:
            known[key] = self.witness.infer(self, inputs)
        made = known[key]
        if not isinstance(made, tuple) or not all(isinstance(t, Tensor) for t in made):
            raise self.witness.malformed("shapes")
        return made

    @cached_property
    def _inferred(self) -> dict[str, Any]:
        return {}

    @property
    def differentiable(self) -> bool:
        return bool(self.description["differentiable"])

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.description["settings"])

    def _asked(self, xp: Any) -> Any:
        return self.first if xp is FIRST else self.witness


class WithCosts(Remote):
    """One that says how many operations it needs."""

    def flops(self, *inputs: Any) -> int:
        return int(self.witness.flops(self, inputs))


def remote_operator(
    description: dict[str, Any], witness: Questioned, first: Questioned
) -> Remote:
    """An operator by what its process says of it."""
    try:
        base = WithCosts if description["flops"] else Remote
        cls = type(
            str(description["name"]), (base,), {"__doc__": "An operator of a user's."}
        )
        inputs = {}
        for input_name, parameter in description["inputs"].items():
            inputs[str(input_name)] = _parameter(str(input_name), parameter)
        cls.inputs = inputs  # type: ignore[attr-defined]
        cls.cases = [Case(c["attributes"], c["inputs"]) for c in description["cases"]]  # type: ignore[attr-defined]
        for name, kind in CLASS_FACTS.items():
            setattr(cls, name, kind(description[name]))
        return cls(witness, first, description)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise witness.malformed("a description of an operator") from None


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(map(str, values))


def _count(value: Any) -> int | None:
    return None if value is None else int(value)


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
    "declared_domain": lambda ends: Domain(float(ends[0]), float(ends[1])),
}


def describe(operator: Operator) -> dict[str, Any]:
    """What a process says of one of its operators."""
    cls = type(operator)
    required = [
        p
        for p in cls.inputs.values()
        if p.default is p.empty and p.name not in cls.static
    ]
    domain = declared_domain(operator)
    return {
        "name": cls.__name__,
        "inputs": {
            name: [p.kind is p.VAR_POSITIONAL, p.default is not p.empty]
            for name, p in cls.inputs.items()
        },
        "cases": [
            {"attributes": dict(c.attributes), "inputs": dict(c.inputs)}
            for c in cls.cases
        ],
        "outputs": cls.outputs,
        "saved": cls.saved,
        "static": tuple(cls.static),
        "wanted": cls.wanted,
        "labels": tuple(getattr(operator, "labels", ())),
        "random": cls.random,
        "data_dependent": cls.data_dependent,
        "native_outputs": cls.native_outputs,
        "arity": getattr(cls, "arity", len(required)),
        "custom": operator.adapted is not None,
        "compiled": is_compiled(operator),
        "free_rank": free_rank(operator),
        "declared_domain": (domain.low, domain.high),
        "differentiable": operator.differentiable,
        "settings": {
            k: v for k, v in operator.settings.items() if isinstance(v, PLAIN)
        },
        "flops": cls.flops is not Operator.flops,
    }


def _parameter(name: str, facts: Any) -> inspect.Parameter:
    variadic, optional = facts
    kind = (
        inspect.Parameter.VAR_POSITIONAL
        if variadic
        else inspect.Parameter.POSITIONAL_OR_KEYWORD
    )
    default = None if optional else inspect.Parameter.empty
    return inspect.Parameter(name, kind, default=default)


def _plain(values: Sequence[Any]) -> tuple:
    """As arrays of NumPy's own kind."""
    return tuple(np.asarray(x) if isinstance(x, np.ndarray) else x for x in values)


def _is_result(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)
