"""Operators as one framework runs them, and how they treat memory: what is called, never what is concluded.

A dock works in the process of whoever asks, or in one of its own (processes.py): results are arrays in both cases.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...contracts.calls import Call, arrays, natives
from ...contracts.framework import Framework
from ...contracts.operator import Operator
from ...custom.cpp import CppOp
from ...custom.sanitizing import sanitized
from ...registry import find
from .examples import XP
from .memory import Guard, laid_out

Arrays = list[np.ndarray]
MOST_DIFFERENT = 3


class Dock:
    """Every method takes NumPy inputs and returns arrays that are nobody else's."""

    def __init__(self, framework: Framework):
        self.framework = framework

    def kernel(self, operator: Operator, inputs: Sequence[Any]) -> str:
        """Whose code runs: "native" or "composed"."""
        return self.framework.kernel(operator, inputs=inputs)[1]

    def keeps_denormals(self) -> bool:
        """Whether the framework computes with the smallest numbers, and does not take them for 0."""
        smallest = np.full(4, 1e-40, "float32")
        made = self.framework.evaluate(
            find("operators", "Mul")(), [smallest, np.ones(4, "float32")]
        )
        return bool(np.all(made[0] != 0))

    def run(
        self, operator: Operator, inputs: Sequence[Any], layout: str = "plain"
    ) -> Arrays:
        """The outputs; `layout` says how the inputs lie in memory."""
        made = self.framework.evaluate(operator, laid_out(inputs, layout))
        return [np.array(y) for y in made]

    def gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        seeds: Sequence[Any],
        layout: str = "plain",
    ) -> list[np.ndarray | None]:
        """One gradient for every input."""
        given = laid_out(inputs, layout), laid_out(seeds, layout)
        made = self.framework.gradient(operator, *given)
        return [None if g is None else np.array(g) for g in made]

    def autodiff(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        seeds: Sequence[Any],
        asked: Sequence[int],
    ) -> list[np.ndarray | None] | None:
        """The gradients that the framework finds by itself through its kernel; None where it cannot differentiate."""
        fw = self.framework
        if not fw.abilities.autodiff:
            return None
        given = [fw.tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]
        kernel = fw.kernel(operator, inputs=inputs)[0]

        def of_asked(*values: Any) -> tuple:
            every = dict(enumerate(given)) | dict(zip(asked, values, strict=True))
            return kernel(*every.values())

        found = fw.derivative(
            of_asked, [given[i] for i in asked], natives(fw, seeds)
        ).run()
        by_place = dict(zip(asked, found, strict=True))
        return [by_place.get(i) for i in range(len(given))]

    def touched(
        self, operator: Operator, inputs: Sequence[Any], seeds: Sequence[Any]
    ) -> list[Any]:
        """The inputs as they are after a run; with seeds these too, after a run of the gradient."""
        own, given = laid_out(inputs, "plain"), laid_out(seeds, "plain")
        if given:
            self.framework.gradient(operator, own, given)
        else:
            self.framework.evaluate(operator, own)
        return [*own, *given]

    def sequence(
        self, operator: Operator, calls: Sequence[tuple[int, Sequence[Any]]]
    ) -> list[list[Arrays]]:
        """What each call returned; once more at the end, where its inputs are still what they were.

        A call names a slot: inputs of the same slot lie in the same memory, where the framework shares it. A result may
        be a view of its inputs, and then changes with them.
        """
        slots: dict[int, _Slot] = {}
        found: list[list[Arrays]] = []
        last: dict[int, tuple[list[Arrays], Any]] = {}
        for number, inputs in calls:
            if number in slots:
                slots[number].fill(inputs)
            else:
                slots[number] = _Slot(self.framework, operator, inputs)
            results = slots[number].run()
            found.append([slots[number].outputs(results)])
            last[number] = found[-1], results
        for number, (readings, results) in last.items():
            readings.append(slots[number].outputs(results))
        return found

    def repeated(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        seeds: Sequence[Any],
        count: int,
    ) -> list[list[np.ndarray | None]]:
        """The different results of so many runs, with seeds the different gradients: one, where all are the same."""
        found: dict[bytes, list[np.ndarray | None]] = {}
        for _ in range(count):
            made: list[np.ndarray | None] = []
            made += (
                self.gradient(operator, inputs, seeds)
                if seeds
                else self.run(operator, inputs)
            )
            if len(found) < MOST_DIFFERENT:
                found.setdefault(
                    b"".join(y.tobytes() for y in made if y is not None), made
                )
        return list(found.values())

    def interleaved(
        self, operator: Operator, calls: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    ) -> list[dict[str, list]]:
        """The code itself on NumPy arrays: all forward runs, then all derivatives; everything as it is at the end."""
        before = [
            (laid_out(inputs, "plain"), laid_out(seeds, "plain"))
            for inputs, seeds in calls
        ]
        results = [operator.run(XP, *inputs) for inputs, _ in before]
        gradients = []
        for (inputs, seeds), made in zip(before, results, strict=True):
            given = _full(seeds, operator.published(made))
            gradients.append(operator.gradients(XP, given, inputs, made))
        return [
            {
                "inputs": list(inputs),
                "outputs": [np.array(y) for y in operator.published(made)],
                "gradients": [None if g is None else np.array(g) for g in found],
            }
            for (inputs, _), made, found in zip(before, results, gradients, strict=True)
        ]

    def guarded(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        seeds: Sequence[Any],
        filling: int,
    ) -> dict[str, list]:
        """The code itself, with inputs and (in C++) results between bytes of this value: what it made, and these."""
        guard = Guard(filling)
        own = tuple(guard.copy(x) if isinstance(x, np.ndarray) else x for x in inputs)
        with guard.allocating(_compiled(operator)):
            results = operator.run(XP, *own)
            made = operator.published(results)
            gradients: list[Any] = []
            if seeds:
                given = [None if s is None else guard.copy(s) for s in seeds]
                gradients = operator.gradients(XP, _full(given, made), own, results)
        return {
            "outputs": [np.array(y) for y in made],
            "gradients": [None if g is None else np.array(g) for g in gradients],
            "margins": guard.margins(),
        }

    def sanitized(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        seeds: Sequence[Any],
        seconds: float,
    ) -> list[str] | None:
        """What the compiler's sanitizers say of it, a line each; None where it is not in C++."""
        compiled = _compiled(operator)
        if compiled is None:
            return None
        found = sanitized(compiled, arrays(inputs), list(seeds) or None, seconds)
        return [finding.text for finding in found]


class _Slot:
    """Inputs that stay where they are, with a call prepared for them."""

    def __init__(self, framework: Framework, operator: Operator, inputs: Sequence[Any]):
        own = laid_out(inputs, "plain")
        self.arrays = arrays(own)
        chosen = framework.kernel(operator, inputs=inputs)[1]
        self.call: Call = framework.forward_call(operator, own, chosen)
        self.shares = _shares_memory(framework)
        self.arguments = self.call.arguments

    def fill(self, inputs: Sequence[Any]) -> None:
        for old, new in zip(
            self.arrays, arrays(laid_out(inputs, "plain")), strict=True
        ):
            np.copyto(old, new)
        if not self.shares:
            self.arguments = self.call.bind(self.arrays)

    def run(self) -> Any:
        return self.call.function(*self.arguments)

    def outputs(self, results: Any) -> Arrays:
        return [np.array(y) for y in self.call.outputs(results)]


def _shares_memory(framework: Framework) -> bool:
    probe = np.zeros(1, "float32")
    return np.shares_memory(framework.array(framework.tensor(probe)), probe)


def _full(seeds: Sequence[Any], made: Sequence[Any]) -> list[Any]:
    """A gradient for every output: zeros where nobody used it."""
    given = [*seeds, *[None] * len(made)]
    return [
        np.zeros_like(y) if g is None else g for g, y in zip(given, made, strict=False)
    ]


def _compiled(operator: Operator) -> CppOp | None:
    """The C++ operator behind this one."""
    return operator.adapted if isinstance(operator.adapted, CppOp) else None
