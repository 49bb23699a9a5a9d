"""Operators as one framework runs them, and how they treat memory: what is called, never what is concluded.

A runner works in the process of whoever asks (`OperatorRunner`), or in one of its own (`RemoteRunner` in
processes.py).
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ...contracts.calls import Call, arrays, natives
from ...contracts.framework import Framework
from ...contracts.operator import Operator
from ...custom.cpp import CppOp
from ...custom.sanitizing import sanitized
from ...registry import find
from .examples import XP
from .formats import Array, Values, is_float, map_arrays
from .functions import compiled_once
from .memory import Guard, laid_out

Arrays = list[Array]
Gradients = list[Array | None]
MOST_DIFFERENT = 3


class Runner(Protocol):
    """Runs operators on a framework: every method takes NumPy inputs and returns arrays that are nobody else's."""

    def kernel(self, operator: Operator, inputs: Values) -> str: ...

    def keeps_denormals(self) -> bool: ...

    def run(
        self, operator: Operator, inputs: Values, layout: str = "plain"
    ) -> Arrays: ...

    def gradient(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        layout: str = "plain",
    ) -> Gradients: ...

    def autodiff(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        asked: Sequence[int],
    ) -> Gradients | None: ...

    def touched(
        self, operator: Operator, inputs: Values, seeds: Values
    ) -> list[Any]: ...

    def sequence(
        self, operator: Operator, calls: Sequence[tuple[int, Values]]
    ) -> list[list[Arrays]]: ...

    def repeated(
        self, operator: Operator, inputs: Values, seeds: Values, count: int
    ) -> list[Gradients]: ...

    def interleaved(
        self, operator: Operator, calls: Sequence[tuple[Values, Values]]
    ) -> list[dict[str, list]]: ...

    def guarded(
        self, operator: Operator, inputs: Values, seeds: Values, filling: int
    ) -> dict[str, list]: ...

    def sanitized(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        seconds: float,
    ) -> list[str] | None: ...


class OperatorRunner:
    """A `Runner` in the process of whoever asks."""

    def __init__(self, framework: Framework):
        self.framework = framework
        # kernels of functions, by the identity of their operator, which is held too
        self._compiled_kernels: dict[int, tuple[Operator, Any]] = {}

    def kernel(self, operator: Operator, inputs: Values) -> str:
        """Whose code runs: "native" or "composed"."""
        return self.framework.kernel(operator, inputs=inputs)[1]

    def keeps_denormals(self) -> bool:
        """Whether the framework computes with denormals, and does not take them for 0."""
        multiply = find("operators", "Mul")()
        denormals = np.full(4, 1e-40, "float32")
        ones = np.ones(4, "float32")
        products = self.framework.evaluate(multiply, [denormals, ones])
        return bool(np.all(products[0] != 0))

    def run(self, operator: Operator, inputs: Values, layout: str = "plain") -> Arrays:
        """The outputs; `layout` says how the inputs lie in memory."""
        outputs = self.framework.evaluate(operator, laid_out(inputs, layout))
        return [np.array(y) for y in outputs]

    def gradient(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        layout: str = "plain",
    ) -> Gradients:
        """One gradient for every input."""
        new_inputs = laid_out(inputs, layout)
        new_seeds = laid_out(seeds, layout)
        return _copies(self._derived(operator, new_inputs, new_seeds))

    def _derived(self, operator: Operator, inputs: Values, seeds: Values) -> Gradients:
        """By the operator's own derivative; a function is differentiated by the framework."""
        if not getattr(operator, "is_function", False):
            return self.framework.gradient(operator, inputs, seeds)
        floats = [i for i, x in enumerate(inputs) if is_float(x)]
        gradients = self.autodiff(operator, inputs, seeds, floats)
        if gradients is None:
            return [None] * len(inputs)
        # PyTorch and TensorFlow say None where nothing depends on an input; a detached one must not pass
        for i in floats:
            if gradients[i] is None:
                gradients[i] = np.zeros_like(inputs[i])
        return gradients

    def autodiff(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        asked: Sequence[int],
    ) -> Gradients | None:
        """The gradients that the framework finds by itself through its kernel; None if it cannot differentiate."""
        fw = self.framework
        if not fw.abilities.autodiff:
            return None
        arguments = map_arrays(fw.tensor, inputs)
        kernel = self._differentiable_kernel(operator, inputs)

        def of_asked(*values: Any) -> tuple:
            every = list(arguments)
            for i, value in zip(asked, values, strict=True):
                every[i] = value
            return kernel(*every)

        variables = [arguments[i] for i in asked]
        derivative = fw.derivative(of_asked, variables, natives(fw, seeds))
        gradients: Gradients = [None] * len(arguments)
        for i, gradient in zip(asked, derivative.run(), strict=True):
            gradients[i] = gradient
        return gradients

    def _differentiable_kernel(
        self, operator: Operator, inputs: Values
    ) -> Callable[..., Any]:
        """The kernel, with the floats as tensors; that of a function is compiled once, not in every call."""
        if not getattr(operator, "is_function", False):
            return self.framework.kernel(operator, inputs=inputs)[0]
        if id(operator) not in self._compiled_kernels:
            kernel = self.framework.kernel(operator, inputs=inputs)[0]
            compiled = compiled_once(kernel, self.framework.name)
            self._compiled_kernels[id(operator)] = (operator, compiled)
        return self._compiled_kernels[id(operator)][1]

    def touched(self, operator: Operator, inputs: Values, seeds: Values) -> list[Any]:
        """The inputs as they are after a run; with seeds these too, after a run of the gradient."""
        new_inputs = laid_out(inputs, "plain")
        new_seeds = laid_out(seeds, "plain")
        if new_seeds:
            self._derived(operator, new_inputs, new_seeds)
        else:
            self.framework.evaluate(operator, new_inputs)
        return [*new_inputs, *new_seeds]

    def sequence(
        self, operator: Operator, calls: Sequence[tuple[int, Values]]
    ) -> list[list[Arrays]]:
        """What each call returned; once more at the end, if its inputs are still what they were.

        A call names a slot: inputs of the same slot lie in the same memory, if the framework shares it. A result may
        be a view of its inputs, and then changes with them.
        """
        slots: dict[int, _Slot] = {}
        readings: list[list[Arrays]] = []
        last: dict[int, tuple[list[Arrays], Any]] = {}
        for number, inputs in calls:
            if number in slots:
                slots[number].fill(inputs)
            else:
                slots[number] = _Slot(self.framework, operator, inputs)
            slot = slots[number]
            results = slot.run()
            reading = [slot.outputs(results)]
            readings.append(reading)
            last[number] = reading, results
        for number, (reading, results) in last.items():
            reading.append(slots[number].outputs(results))
        return readings

    def repeated(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        count: int,
    ) -> list[Gradients]:
        """The different results of this many runs, with seeds the different gradients: one, if all are the same."""
        different: dict[bytes, Gradients] = {}
        for _ in range(count):
            arrays_of_run: Gradients = []
            if seeds:
                arrays_of_run += self.gradient(operator, inputs, seeds)
            else:
                arrays_of_run += self.run(operator, inputs)
            if len(different) < MOST_DIFFERENT:
                contents = [y.tobytes() for y in arrays_of_run if y is not None]
                different.setdefault(b"".join(contents), arrays_of_run)
        return list(different.values())

    def interleaved(
        self, operator: Operator, calls: Sequence[tuple[Values, Values]]
    ) -> list[dict[str, list]]:
        """The code itself on NumPy arrays: all forward runs, then all derivatives; everything as it is at the end."""
        laid = []
        for inputs, seeds in calls:
            new_inputs = laid_out(inputs, "plain")
            new_seeds = laid_out(seeds, "plain")
            laid.append((new_inputs, new_seeds))
        all_results = [operator.run(XP, *inputs) for inputs, _ in laid]
        all_gradients = []
        for (inputs, seeds), results in zip(laid, all_results, strict=True):
            every_seed = _full(seeds, operator.published(results))
            gradients = operator.gradients(XP, every_seed, inputs, results)
            all_gradients.append(gradients)
        answers = []
        runs = zip(laid, all_results, all_gradients, strict=True)
        for (inputs, _), results, gradients in runs:
            answer = {
                "inputs": list(inputs),
                "outputs": [np.array(y) for y in operator.published(results)],
                "gradients": _copies(gradients),
            }
            answers.append(answer)
        return answers

    def guarded(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        filling: int,
    ) -> dict[str, list]:
        """The code itself, with inputs and (in C++) results between bytes of this value: its arrays and these bytes."""
        guard = Guard(filling)
        guarded_inputs = map_arrays(guard.copy, inputs)
        with guard.allocating(_compiled(operator)):
            results = operator.run(XP, *guarded_inputs)
            outputs = operator.published(results)
            gradients: list[Any] = []
            if seeds:
                guarded_seeds = map_arrays(guard.copy, seeds)
                every_seed = _full(guarded_seeds, outputs)
                gradients = operator.gradients(XP, every_seed, guarded_inputs, results)
        return {
            "outputs": [np.array(y) for y in outputs],
            "gradients": _copies(gradients),
            "margins": guard.margins(),
        }

    def sanitized(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        seconds: float,
    ) -> list[str] | None:
        """What the compiler's sanitizers report, a line each; None if the operator is not in C++."""
        compiled = _compiled(operator)
        if compiled is None:
            return None
        seeds_or_none = list(seeds) or None
        findings = sanitized(compiled, arrays(inputs), seeds_or_none, seconds)
        return [finding.text for finding in findings]


class _Slot:
    """Inputs that stay where they are, with a call prepared for them."""

    def __init__(self, framework: Framework, operator: Operator, inputs: Values):
        new_inputs = laid_out(inputs, "plain")
        self.arrays = arrays(new_inputs)
        kernel = framework.kernel(operator, inputs=inputs)[1]
        self.call: Call = framework.forward_call(operator, new_inputs, kernel)
        self.shares = _shares_memory(framework)
        self.arguments = self.call.arguments

    def fill(self, inputs: Values) -> None:
        """Overwrite the inputs with others."""
        new_arrays = arrays(laid_out(inputs, "plain"))
        for old, new in zip(self.arrays, new_arrays, strict=True):
            np.copyto(old, new)
        if not self.shares:
            self.arguments = self.call.bind(self.arrays)

    def run(self) -> Any:
        return self.call.function(*self.arguments)

    def outputs(self, results: Any) -> Arrays:
        return [np.array(y) for y in self.call.outputs(results)]


def _shares_memory(framework: Framework) -> bool:
    probe = np.zeros(1, "float32")
    back = framework.array(framework.tensor(probe))
    return np.shares_memory(back, probe)


def _copies(gradients: Values) -> Gradients:
    return [None if g is None else np.array(g) for g in gradients]


def _full(seeds: Values, outputs: Values) -> list[Any]:
    """A gradient for every output: zeros for those that have none."""
    every_seed = []
    missing = [None] * len(outputs)
    for seed, output in zip([*seeds, *missing], outputs, strict=False):
        if seed is None:
            seed = np.zeros_like(output)
        every_seed.append(seed)
    return every_seed


def _compiled(operator: Operator) -> CppOp | None:
    """The C++ operator behind this one."""
    return operator.adapted if isinstance(operator.adapted, CppOp) else None
