"""How an operator treats a device: streams, results that come later, memory of earlier calls, waits, copies."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...contracts.calls import Call
from ...contracts.calls import results as as_tuple
from ...contracts.device_probe import Transfers
from ...contracts.framework import Framework
from .formats import Array

CALLS = 16  # more than any that are skipped or put together
SLOW_S = 0.0002  # for each kernel: what is read too early, or out of order, shows
BLOCKS = 16  # of freed memory of the size of each result
# What freed memory holds, before each of two calls: a result that differs was never written.
FLOAT_FILLINGS = (float("nan"), 0.5)
OTHER_FILLINGS = (1, 0)
CLOSE = 1e-2  # relative: a device may add in another order, and other inputs are much farther away


class DeviceTrial:
    """A call on a device with the contents that its inputs take in turn, lists of arrays.

    Without `in_place`, or where tensors cannot be changed, every call gets new tensors.
    """

    def __init__(
        self,
        framework: Framework,
        call: Call,
        contents: Sequence[Sequence[Array | None]],
        in_place: bool = True,
    ):
        self.framework = framework
        self.probe = framework.probe()
        self.call = call
        self.contents = contents
        self.in_place = in_place
        # all that were made, so that no address is used twice
        self._made: list[tuple] = []

    def faults(self, random: bool = False) -> Iterator[str]:
        """What is wrong, in words; a random operator is not asked for the same numbers again."""
        yield from self._late_values()
        yield from self._transfers()
        if not random:
            yield from self._unwritten()
            yield from self._in_turn()

    def _late_values(self) -> Iterator[str]:
        for result in self._run(self._arguments(0)):
            if not self.probe.is_plain(result):
                kind = type(result).__name__
                yield (
                    f"it returns a {kind}, whose values may be computed when they are read: "
                    "return a plain tensor"
                )

    def _transfers(self) -> Iterator[str]:
        arguments = self._arguments(0)
        self._run(arguments)  # what is set up once may wait
        with self.probe.transfers() as seen:
            self._run(arguments)
        if seen is not None and (seen.copies_to_host or seen.waits):
            yield _transfers_text(seen)

    def _unwritten(self) -> Iterator[str]:
        """Whether a result depends on what its memory held before."""
        runs = []
        for number in range(2):
            arguments = self._arguments(0)
            templates = self._arrays(self._run(arguments))  # the results are freed
            self._fill_freed(templates, number)
            runs.append(self._arrays(self._run(arguments)))
        for place, (first, second) in enumerate(zip(*runs, strict=True)):
            if not _same_where_written(first, second):
                yield (
                    f"output {place} has elements that were never written: it shows what its memory held before"
                )

    def _fill_freed(self, templates: Sequence[Array], number: int) -> None:
        """Let freed memory of the size of every result hold other numbers."""
        for template in templates:
            is_float = template.dtype.kind in "fcV"
            fillings = FLOAT_FILLINGS if is_float else OTHER_FILLINGS
            filling = np.full(template.shape, fillings[number], template.dtype)
            blocks = [self.framework.tensor(filling) for _ in range(BLOCKS)]
            self.framework.sync(blocks)

    def _in_turn(self) -> Iterator[str]:
        """Whether calls in a row, without a wait and on inputs with other values, all give their own results."""
        separate = [self._arguments(i) for i in range(len(self.contents))]
        right = [self._arrays(self._run(arguments)) for arguments in separate]
        arguments = self._arguments(0)
        results = []
        numbers = [i % len(self.contents) for i in range(CALLS)]
        with self.probe.slowed(SLOW_S):
            for number in numbers:
                arguments = self._overwritten(arguments, number)
                returned = self._run(arguments)
                if self._is_view(returned, arguments):
                    returned = self._arrays(returned)
                results.append(returned)
            readings = [self._arrays(result) for result in results]
        for call, (number, reading) in enumerate(
            zip(numbers, readings, strict=True), 1
        ):
            if not _close(reading, right[number]):
                yield (
                    f"of {CALLS} calls in turn, number {call} has a wrong result: it is not ready in the order of "
                    "the current stream, or that of another call"
                )
                return
        if self.in_place and not self._holds(arguments, numbers[-1]):
            yield "it changes its inputs"

    def _overwritten(self, arguments: tuple, number: int) -> tuple:
        """The arguments with other values in the same memory; new ones where that cannot be done."""
        if not self.in_place:
            return self._arguments(number)
        for tensor, array in zip(arguments, self.contents[number], strict=True):
            if array is None:
                continue
            if not self.framework.overwrite(tensor, array):
                return self._arguments(number)
        return arguments

    def _holds(self, arguments: tuple, number: int) -> bool:
        for tensor, array in zip(arguments, self.contents[number], strict=True):
            if array is None:
                continue
            now = self.framework.array(tensor)
            if now.tobytes() != np.ascontiguousarray(array).tobytes():
                return False
        return True

    def _is_view(self, results: Sequence[Any], arguments: tuple) -> bool:
        for result in results:
            for argument in arguments:
                if self.probe.same_memory(result, argument):
                    return True
        return False

    def _arguments(self, number: int) -> tuple:
        arguments = self.call.bind(self.contents[number])
        self._made.append(arguments)
        return arguments

    def _run(self, arguments: tuple) -> Sequence[Any]:
        return as_tuple(self.call.function(*arguments))

    def _arrays(self, results: Sequence[Any]) -> list[Array]:
        if all(isinstance(y, np.ndarray) for y in results):
            return list(results)
        return [np.array(self.framework.array(y)) for y in results if y is not None]


def _transfers_text(seen: Transfers) -> str:
    if seen.copies_to_host:
        times = f"{seen.copies_to_host} times" if seen.copies_to_host > 1 else "once"
        return f"it copies to the host {times} in a call: compute on the device"
    waits = ", ".join(f"{name} ({count})" for name, count in seen.waits.items())
    return f"it makes the host wait in a call, for {waits}: leave that to the caller"


def _same_where_written(first: Array, second: Array) -> bool:
    """Whether two results have the same numbers, up to the order of additions."""
    if first.shape != second.shape:
        return False
    return _close([first], [second])


def _close(actual: Sequence[Array], expected: Sequence[Array]) -> bool:
    for y, want in zip(actual, expected, strict=True):
        if y.shape != want.shape:
            return False
        if y.dtype.kind not in "fcV":
            if not np.array_equal(y, want):
                return False
            continue
        kind = "complex128" if y.dtype.kind == "c" else "float64"
        wide, right = y.astype(kind), want.astype(kind)
        finite = np.abs(right[np.isfinite(right)])
        size = float(finite.max(initial=0.0))
        if not np.allclose(wide, right, rtol=CLOSE, atol=CLOSE * size, equal_nan=True):
            return False
    return True
